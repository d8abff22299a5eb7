"""hierarchy: parent, first child and siblings of every row (Bitsquid's transform component).

A parent's children are a chain like an entity's instances (see `many`), in order of attachment,
which begins at its `first_child` cell.
"""

from ecsgen.columns import Column
from ecsgen.features._base import Feature
from ecsgen.model import Component


def _columns(component: Component) -> tuple[Column, ...]:
    docs = {
        "parent": "The parent of each row, or NIL.",
        "first_child": "The child attached first, or NIL.",
        "next_sibling": "The sibling attached next, or NIL.",
        "previous_sibling": "The sibling attached before; the first one's is the last.",
    }
    return tuple(Column(name, "u32", doc=doc, holds_rows=True) for name, doc in docs.items())


FEATURE = Feature(
    name="hierarchy",
    applies=lambda c: bool(c.hierarchy),
    order=25,
    columns=_columns,
)
