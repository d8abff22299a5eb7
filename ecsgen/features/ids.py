"""ids: every instance has a stable id, a slot and its generation (Molecule's external references).

The table of slots lies in the buffer beside the rows. The free slots are the `id_slot` cells
behind the last row, so that taking or giving back k of them is a slice. Slots are numbered when
first needed.
"""

from ecsgen.columns import Column
from ecsgen.features._base import Feature
from ecsgen.model import Component


def _columns(component: Component) -> tuple[Column, ...]:
    return (
        Column("id_slot", "u32", doc="The slot of each row; behind the rows, the free slots."),
        Column("id_row", "u32", doc="The row of each slot, or NIL.", by_row=False),
        Column("id_generation", "u32", doc="The generation of each slot.", by_row=False),
    )


FEATURE = Feature(
    name="ids",
    applies=lambda c: c.ids and c.lookup != "direct",
    order=30,
    roles=("ids",),
    columns=_columns,
)
