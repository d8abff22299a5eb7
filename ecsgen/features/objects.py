"""Fields of type object: columns of Python objects beside the buffer."""

from ecsgen.features._base import Feature
from ecsgen.model import Base, Component


def _applies(component: Component) -> bool:
    return any(field.type.base is Base.OBJECT for field in component.fields)


FEATURE = Feature(
    name="objects",
    applies=_applies,
)
