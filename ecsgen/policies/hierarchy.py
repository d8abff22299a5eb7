"""hierarchy: parent, first child and siblings of every row (Bitsquid's transform component)."""

from collections.abc import Iterable
from typing import Any, Final

from ecsgen.model.columns import Column
from ecsgen.policies.policy import Fault, Loss, Methods, Policy, is_off

_LINKS: Final = {
    "parent": "The parent of each row, or NIL.",
    "first_child": "The child attached first, or NIL.",
    "next_sibling": "The sibling attached next, or NIL.",
    "previous_sibling": "The sibling attached before; the first one's is the last.",
}


HIERARCHY = Policy(
    name="hierarchy",
    applies=lambda c: bool(c.hierarchy),
    order=25,
    manager_base="Hierarchy",
    rows_base="HierarchyRows",
    manager_slots=("_levels",),
    columns=tuple(Column(name, "u32", doc=doc, holds_rows=True) for name, doc in _LINKS.items()),
    step_code={
        "append_one": """
            data._parent_cells[row] = NIL
            data._first_child_cells[row] = NIL
            data._next_sibling_cells[row] = NIL
            data._previous_sibling_cells[row] = row
        """,
        "append_many": """
            data._parent_column[span] = NIL
            data._first_child_column[span] = NIL
            data._next_sibling_column[span] = NIL
            data._previous_sibling_column[span] = rows
        """,
        "unlink_one": """
            if data._parent_cells[row] != NIL:
                self._detach_from_parent(row)
        """,
        "update_moved_one": "self._relink_hierarchy(src, dst)",
    },
    losses=(Loss("hierarchy", "E904", "saved parents are forgotten", is_off("hierarchy")),),
    methods=(
        Methods(
            "hierarchy",
            lambda c: bool(c["hierarchy"]),
            "parent first_child next_sibling previous_sibling children roots levels set_parent "
            "set_parent_many data.parent",
        ),
    ),
)


ORPHANS_ROOT = Policy(
    name="orphans_root",
    applies=lambda c: c.hierarchy == "root",
    order=26,
    manager_base="OrphansRoot",
    step_code={"unlink_one": """
            if data._first_child_cells[row] != NIL:
                self._release_children(row)
        """},
)
"""hierarchy: {orphans: root}: the children of rows that go become roots (Crown's scene graph)."""


_WITH_ITS_DESCENDANTS = """
    if data._first_child_cells[row] != NIL:
        return self.destroy_rows(np.array([row]))
"""

ORPHANS_DESTROY = Policy(
    name="orphans_destroy",
    applies=lambda c: c.hierarchy == "destroy",
    order=26,
    manager_base="OrphansDestroy",
    step_code={"expand_one": _WITH_ITS_DESCENDANTS},
)
"""hierarchy: {orphans: destroy}: the descendants of rows that go are destroyed with them."""


def _faults(spec: Any) -> Iterable[Fault]:
    """Yield E401 for rows without entities that could die."""
    if spec.orphans == "die" and spec.owner == "none":
        message = "'orphans: die' does not go with 'owner: none'"
        hint = "use 'orphans: destroy', for these rows have no entities"
        yield Fault("E401", ("hierarchy", "orphans"), message, hint, beside="owner")


ORPHANS_DIE = Policy(
    name="orphans_die",
    find_faults=_faults,
    applies=lambda c: c.hierarchy == "die",
    order=26,
    manager_base="OrphansDie",
    step_code={"expand_one": _WITH_ITS_DESCENDANTS},
)
"""hierarchy: {orphans: die}: as `destroy`, and the entities of the descendants die.

Callbacks of these entities run only after the change is done.
"""


_BELOW: Final = {
    "delegate_one": """
        if parent is not NIL:
            <below>
    """,
    "delegate_many": """
        if parents is not NIL:
            <created_below>
    """,
}


def _children(owner: str, name: str, base: str, rows: str = "") -> Policy:
    return Policy(
        name=name,
        applies=lambda c: bool(c.hierarchy) and c.owner == owner,
        order=25,
        manager_base=base,
        rows_base=rows,
        manager_slots=("_tracked_parents",),
        keyword="parent: Instance = NIL",
        keyword_many="parents: Instance | ArrayLike = NIL",
        raises=("StaleInstanceError: the parent is not in use.",),
        step_code=_BELOW,
    )


OWNED_CHILDREN = _children("entity", "owned_children", "OwnedHierarchy", "OwnedHierarchyRows")
UNOWNED_CHILDREN = _children("none", "unowned_children", "UnownedHierarchy")

POLICIES = (HIERARCHY, ORPHANS_ROOT, ORPHANS_DESTROY, ORPHANS_DIE, OWNED_CHILDREN, UNOWNED_CHILDREN)
