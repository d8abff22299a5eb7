"""ids: every instance has a stable id, a slot and its generation (Molecule's external references).

The table of slots lies in the buffer beside the rows. The free slots are the `id_slot` cells
behind the last row, so that taking or giving back k of them is a slice. Slots are numbered when
first needed.
"""

from ecsgen.columns import Column
from ecsgen.features._base import Feature, Mutant
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
    mutants=(
        Mutant("a slot is not told its row", r"data\._id_row_cells\[_taken\] = row", "pass"),
        Mutant("slots are not told their rows", r"data\._id_row_column\[taken\] = rows", "pass"),
        Mutant(
            "a slot does not follow its row",
            r"data\._id_row_cells\[data\._id_slot_cells\[dst\]\] = dst",
            "pass",
        ),
        Mutant(
            "slots do not follow their rows",
            r"data\._id_row_column\[data\._id_slot_column\[dst\]\] = dst",
            "pass",
        ),
        Mutant("a freed slot keeps its generation", r"cells\[slot\] \+= 1", "cells[slot] += 0"),
        Mutant(
            "freed slots keep their generations", r"column\[fresh\] \+= 1", "column[fresh] += 0"
        ),
        Mutant(
            "a worn out slot is used again",
            r"if self\._id_generation_cells\[slot\] == WORN_OUT:",
            "if False:",
        ),
        Mutant("worn out slots are used again", r"        if worn:", "        if False:"),
        Mutant(
            "shrinking forgets generations",
            r"self\._first_generation = max\(.*\)$",
            "pass",
        ),
        Mutant(
            "retired slots come again",
            r"if peak == self\._peak or self\._slots < self\._peak:",
            "if peak == self._peak:",
        ),
        Mutant(
            "other generations are found", r" and data\._id_generation_cells\[slot\] == .*:", ":"
        ),
        Mutant("saving loses the slots", r'data\._slots = state\["slots"\]', "pass"),
        Mutant("the free slot of a swap is lost", r"data\._id_slot_cells\[spare\] = free", "pass"),
    ),
)
