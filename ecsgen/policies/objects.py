"""Fields of type object: columns of Python objects beside the buffer."""

from collections.abc import Callable

from ecsgen.model import Base, Component
from ecsgen.policies.policy import Policy


def _names(component: Component) -> list[str]:
    """Return the object columns that rows have: those of cold rows are emptied with them."""
    is_indirect = component.cold == "indirect"
    return [
        field.name
        for field in component.fields
        if field.type.base is Base.OBJECT and not (is_indirect and "cold" in field.tags)
    ]


def _emptied(packed: str, with_holes: str) -> Callable[[Component], str]:
    def text(component: Component) -> str:
        cells = with_holes if component.lookup == "direct" else packed
        names = _names(component)
        return "\n".join(f"data._{name}_column[{cells}] = None" for name in names)

    return text


POLICY = Policy(
    name="objects",
    applies=lambda c: any(field.type.base is Base.OBJECT for field in c.fields),
    calls={
        "vacated_one": _emptied("data._n", "row"),
        "vacated_many": _emptied("data._n : n", "gone"),
        "swapped": _emptied("spare", "spare"),
    },
)
