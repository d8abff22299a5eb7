"""instances: many: the rows of an entity form a list through next and previous columns.

Bitsquid leaves the list "as an exercise". It is circular backwards: the first row's `previous`
cell holds the last row, so that appending is O(1) and a row is the first exactly if
next[previous[row]] is NIL.
"""

from ecsgen.columns import Column
from ecsgen.features._base import Feature
from ecsgen.model import Component


def _columns(component: Component) -> tuple[Column, ...]:
    return (
        Column("next", "u32", doc="The entity's next row, or NIL.", holds_rows=True),
        Column(
            "previous",
            "u32",
            doc="The entity's previous row; the first row's is the last.",
            holds_rows=True,
        ),
    )


FEATURE = Feature(
    name="many",
    applies=lambda c: c.instances == "many",
    order=20,
    roles=("instances",),
    columns=_columns,
)
