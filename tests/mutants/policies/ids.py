"""Ways to break what `ids` does."""

from tests.mutants._base import Mutant, managers, module

WITH_IDS = ("test_texture.py", "test_spark.py", "test_status_effect.py")

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
        Mutant("a slot is not given back", r"data\._give_slot\(slot\)", "pass"),
        Mutant("the free slot of a swap is lost", r"data\._id_slot_cells\[spare\] = free", "pass"),
        Mutant(
            "a row moves over the free slots",
            r"( +_taken = data\._take_slot\(\)\n)( +if row != data\._n:.*\n.*\n)",
            r"\2\1",
        ),
    ),
    module(
        "_runtime/policies/ids.py",
        WITH_IDS,
        Mutant(
            "slots do not follow their rows",
            r"data\._id_row_column\[data\._id_slot_column\[dst\]\] = dst",
            "pass",
        ),
        Mutant("slots are not given back", r"self\._give_slots\(slots\)", "pass"),
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
            r"self\._first_generation = first_generation",
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
        Mutant("saving loses the slots", r'"_slots", ', ""),
        Mutant("saving loses the highest slot", r'\("_peak", ', "("),
        Mutant("saving loses the first generation", r', "_first_generation"\)', ",)"),
        Mutant("free slots are lost", r"return self\._peak", "return self._n"),
        Mutant("a free slot is not used", r"if self\._n == self\._slots:", "if True:"),
        Mutant("new slots begin anew", r"\] = self\._first_generation", "] = 1"),
        Mutant("a stale id is none", r"raise stale_id\(type\(self\)\.__name__, id\)", "return"),
    ),
    module(
        "_runtime/policies/ids.py",
        WITH_IDS,
        Mutant("other generations among many are found", r"alive &= slots < len\(rows\)", "pass"),
        Mutant("stale ids are none", r"if stale\.any\(\):", "if False:"),
        Mutant("repeated ids are accepted", r"if len\(again\):", "if False:"),
    ),
)
