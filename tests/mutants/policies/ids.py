"""Ways to break what `ids` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "ids",
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
