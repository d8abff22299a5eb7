"""Fields of type object: columns of Python objects beside the buffer."""

from ecsgen.features._base import Feature, Mutant
from ecsgen.model import Base, Component


def _applies(component: Component) -> bool:
    return any(field.type.base is Base.OBJECT for field in component.fields)


FEATURE = Feature(
    name="objects",
    applies=_applies,
    mutants=(
        Mutant("objects are kept", r"^( +)data\._\w+_column\[.*\] = None", r"\1pass"),
        Mutant(
            "objects do not count as memory",
            r"^( +)total \+= self\.data\._\w+_column\.nbytes",
            r"\1pass",
        ),
    ),
)
