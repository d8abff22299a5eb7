"""cold: indirect: cold fields live in a second, packed buffer; rows pay four bytes for them.

An instance takes a cold row at the first value that is not the default, and keeps it until it goes.
The last cold row moves into a hole, as rows do.
"""

from ecsgen.columns import Column
from ecsgen.features._base import Feature
from ecsgen.model import Component


def _columns(component: Component) -> tuple[Column, ...]:
    return (Column("cold_row", "u32", doc="The cold row of each row, or NIL for all defaults."),)


FEATURE = Feature(
    name="indirect",
    applies=lambda c: c.cold == "indirect",
    columns=_columns,
)
