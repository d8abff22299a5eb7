"""How rows end: which go with their entities, who is told, what becomes of Python objects."""

from collections.abc import Callable, Iterable
from typing import Any

from ecsgen.model import BaseType, Component
from ecsgen.policies.policy import Document, Loss, Methods, Policy, has_objects, is_owned


def _keeps_the_dead(document: Document) -> bool:
    in_manager = document["in"] == "managers" and is_owned(document)
    return in_manager and document["destroy"] != "callback"


def _buries_the_dead(old: Document, new: Document) -> bool:
    return _keeps_the_dead(old) and is_owned(new) and not _keeps_the_dead(new)


GC = Policy(
    name="gc",
    applies=lambda c: c.owner == "entity" and c.destroy == "gc",
    manager_base="Gc",
    manager_slots=("_rng",),
    methods=(Methods("destroy", lambda c: is_owned(c) and c["destroy"] == "gc", "gc collect"),),
)
"""destroy: gc: dead entities' rows go lazily, found by random picks (Bitsquid's gc)."""


def _clashes(spec: Any) -> Iterable[tuple[str, str]]:
    """`destroy: callback` always releases."""
    if spec.destroy == "callback" and not spec.release and "release" in spec.model_fields_set:
        yield "destroy", "release"


CALLBACK = Policy(
    name="callback",
    find_conflicts=_clashes,
    applies=lambda c: c.owner == "entity" and c.destroy == "callback",
    manager_base="Callback",
    losses=(Loss("destroy", "E904", "saved rows of dead entities go", _buries_the_dead),),
)
"""destroy: callback: the entity manager says at once which entities died."""


RELEASE = Policy(
    name="release",
    applies=lambda c: c.release,
    order=90,
    manager_base="Release",
    manager_slots=("_released",),
    step_code={"release_one": """
            if not told and self._released.entries:
                return self._destroy_notified(row)
        """},
)
"""release: callbacks see the rows about to go, still readable, on every way out."""


def _names(component: Component) -> list[str]:
    """Return the object columns that rows have: those of cold rows are emptied with them."""
    objects = (field for field in component.fields if field.type.base is BaseType.OBJECT)
    return [field.name for field in objects if field not in component.indirect_fields]


def _emptied(packed: str, with_holes: str) -> Callable[[Component], str]:
    def text(component: Component) -> str:
        cells = with_holes if component.lookup == "direct" else packed
        return "\n".join(f"data._{name}_column[{cells}] = None" for name in _names(component))

    return text


def _left(cells: str, *, is_new: bool = False) -> Callable[[Component], str]:
    """Return a statement that keeps what is in cells until the method is done.

    Of new rows only holes have something: what was assigned to the whole column.
    """

    def text(component: Component) -> str:
        has_some = component.lookup == "direct" or not is_new
        left = ", ".join(f"data._{name}_column[{cells}]" for name in _names(component))
        return f"_left = {left}" if left and has_some else ""

    return text


OBJECTS = Policy(
    name="objects",
    applies=has_objects,
    step_code={
        "settings": "_HOLDS_OBJECTS: ClassVar = True",
        "place_one": _left("row", is_new=True),
        "plan_append": _left("rows", is_new=True),
        "plan_removal_one": _left("row"),
        "clear_vacated_one": _emptied("data._n", "row"),
        "restore_spare_row": _emptied("spare", "spare"),
    },
)
"""Fields of type object: columns of Python objects beside the buffer.

The end of an object may run any code, and that may change the manager: what leaves a cell in the
middle of a change lives, as `_left`, until the method is done.
"""

POLICIES = (GC, CALLBACK, RELEASE, OBJECTS)
