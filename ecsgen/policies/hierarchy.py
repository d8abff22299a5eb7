"""hierarchy: parent, first child and siblings of every row (Bitsquid's transform component)."""

from ecsgen.model import Component
from ecsgen.model.columns import Column
from ecsgen.policies.policy import Policy


def _columns(component: Component) -> tuple[Column, ...]:
    docs = {
        "parent": "The parent of each row, or NIL.",
        "first_child": "The child attached first, or NIL.",
        "next_sibling": "The sibling attached next, or NIL.",
        "previous_sibling": "The sibling attached before; the first one's is the last.",
    }
    return tuple(Column(name, "u32", doc=doc, holds_rows=True) for name, doc in docs.items())


def _while_following(component: Component) -> str:
    """A ring makes room row by row, and only moves in bulk tell where parents go."""
    if not component.ring:
        return ""
    return """
        if self._followed.rows is not None:
            return self._destroy_rows(np.array([row]))
    """


POLICY = Policy(
    name="hierarchy",
    applies=lambda c: bool(c.hierarchy),
    order=25,
    base="Hierarchy",
    rows="FamilyRows",
    state=("_levels",),
    columns=_columns,
    calls={
        "expand_one": _while_following,
        "appended_one": """
            data._parent_cells[row] = NIL
            data._first_child_cells[row] = NIL
            data._next_sibling_cells[row] = NIL
            data._previous_sibling_cells[row] = row
        """,
        "appended_many": """
            data._parent_column[span] = NIL
            data._first_child_column[span] = NIL
            data._next_sibling_column[span] = NIL
            data._previous_sibling_column[span] = rows
        """,
        "removing_one": """
            if data._parent_cells[row] != NIL:
                self._leave_parent(row)
        """,
        "moved_one": "self._relink_family(src, dst)",
    },
)
