"""The end of rows: removal with their entities, callbacks, and Python objects in them."""

from collections.abc import Callable, Iterable
from typing import Any

from ecsgen.model import BaseType, Component
from ecsgen.policies.policy import Document, Loss, Methods, Policy, has_objects, is_owned


def _keeps_dead_rows(document: Document) -> bool:
    in_manager = document["in"] == "managers" and is_owned(document)
    return in_manager and document["destroy"] != "callback"


def _drops_dead_rows(old: Document, new: Document) -> bool:
    return _keeps_dead_rows(old) and is_owned(new) and not _keeps_dead_rows(new)


GC = Policy(
    name="gc",
    applies=lambda c: c.owner == "entity" and c.destroy == "gc",
    manager_base="Gc",
    manager_slots=("_rng",),
    methods=(Methods("destroy", lambda c: is_owned(c) and c["destroy"] == "gc", "gc collect"),),
)
"""destroy: gc: dead entities' rows go lazily, found by random picks (Bitsquid's gc)."""


def _conflicts(spec: Any) -> Iterable[tuple[str, str]]:
    """`destroy: callback` always releases."""
    if spec.destroy == "callback" and not spec.release and "release" in spec.model_fields_set:
        yield "destroy", "release"


CALLBACK = Policy(
    name="callback",
    find_conflicts=_conflicts,
    applies=lambda c: c.owner == "entity" and c.destroy == "callback",
    manager_base="Callback",
    losses=(Loss("destroy", "E904", "saved rows of dead entities go", _drops_dead_rows),),
)
"""destroy: callback: a callback of the entity manager destroys rows as soon as entities die."""


RELEASE = Policy(
    name="release",
    applies=lambda c: c.release,
    order=90,
    manager_base="Release",
    manager_slots=("_released",),
    step_code={"release_one": """
            if not notified and self._released.entries:
                return self._destroy_notified(row)
        """},
)
"""release: callbacks get the rows about to go, still readable, whatever removes them."""


ADD = Policy(
    name="add",
    applies=lambda c: c.add,
    order=-15,  # before whatever creates rows: notifies when that is done
    manager_base="Add",
    manager_slots=("_added",),
    step_code={"notify_one": """
            if self._added.entries:
                self._notify_created(row)
        """},
)
"""add: callbacks get the rows that have just come, whatever creates them."""


def _names(component: Component) -> list[str]:
    """Return the object columns of rows; those of cold rows are emptied with the cold rows."""
    objects = (field for field in component.fields if field.type.base is BaseType.OBJECT)
    return [field.name for field in objects if field not in component.indirect_fields]


def _emptied(packed: str, with_holes: str) -> Callable[[Component], str]:
    def text(component: Component) -> str:
        cells = with_holes if component.lookup == "direct" else packed
        return "\n".join(f"data._{name}_column[{cells}] = None" for name in _names(component))

    return text


def _left(cells: str, *, is_new: bool = False) -> Callable[[Component], str]:
    """Return a statement that keeps the objects in cells alive until the method is done.

    For new rows only holes have objects, those that were assigned to the whole column.
    """

    def text(component: Component) -> str:
        left = ", ".join(f"data._{name}_column[{cells}]" for name in _names(component))
        return f"_left = {left}" if left and (component.lookup == "direct" or not is_new) else ""

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

The end of an object may run any code, which may change the manager: an object that leaves a cell in
the middle of a change is kept in `_left` until the method is done.
"""

POLICIES = (GC, CALLBACK, RELEASE, ADD, OBJECTS)
