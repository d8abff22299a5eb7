"""Ways to break what `ids` does, also of direct rows and without owners."""

from tests.mutants._base import Mutant, managers, module

WITH_IDS = ("test_texture.py", "test_spark.py", "test_status_effect.py")

GROUPS = (
    managers(
        "ids",
        Mutant("a slot is not told its row", r"data\._id_row_cells\[_new_slot\] = row"),
        Mutant("slots are not told their rows", r"data\._id_row_column\[taken\] = rows"),
        Mutant("a slot does not follow its row", r"data\._id_row_cells\[.*\]\] = dst"),
        Mutant("a slot is not given back", r"data\._free_slot\(slot\)"),
        Mutant("the free slot of a swap is lost", r"data\._id_slot_cells\[spare\] = free"),
        Mutant(
            "a row moves over the free slots",
            r"( +_new_slot = data\._take_slot\(\)\n)( +if row != data\._n:.*\n.*\n)",
            r"\2\1",
        ),
    ),
    module(
        "_runtime/managers/policies/ids.py",
        WITH_IDS,
        Mutant("slots do not follow their rows", r"data\._id_row_column\[.*\]\] = dst"),
        Mutant("slots are not given back", r"fresh = self\._renewed.*\n +worn[\s\S]*?\] = fresh"),
        Mutant("dropped slots are not given back", r"self\._slots \+= len\(fresh\)"),
        Mutant("a freed slot keeps its generation", r"cells\[slot\] \+= 1", "cells[slot] += 0"),
        Mutant("freed slots keep their generations", r"column\[.*\] \+= 1", "column[fresh] += 0"),
        Mutant(
            "a worn out slot is used again",
            r"if self\._id_generation_cells\[slot\] == EXHAUSTED_GENERATION:",
            "if False:",
        ),
        Mutant("worn out slots are used again", r"        if worn:", "        if False:"),
        Mutant("shrinking forgets generations", r"self\._first_generation = first_generation"),
        Mutant("retired slots come again", r"peak == self\._peak or self\._slots <", "peak =="),
        Mutant("other generations are found", r" and data\._id_generation_cells\[.*\] == .*:", ":"),
        Mutant("saving loses the slots", r'"_slots", ', ""),
        Mutant("saving loses the highest slot", r'\("_peak", ', "("),
        Mutant("saving loses the first generation", r', "_first_generation"\)', ",)"),
        Mutant("free slots are lost", r"return self\._peak", "return self._n"),
        Mutant("a free slot is not used", r"if self\._n == self\._slots:", "if True:"),
        Mutant("new slots begin anew", r"\] = self\._first_generation", "] = 1"),
        Mutant(
            "a stale id is none", r"raise stale_id_error\(type\(self\)\.__name__, id\)", "return"
        ),
        Mutant("other generations among many are found", r"alive &= slots < len\(rows\)"),
        Mutant("stale ids are none", r"if stale\.any\(\):", "if False:"),
        Mutant("repeated ids are accepted", r"if len\(repeated\):", "if False:"),
    ),
    managers(
        "direct_ids",
        Mutant(
            "a row's generation stays",
            r"data\._id_generation_cells\[row\] \+= 1",
            "data._id_generation_cells[row] = 1",
        ),
        Mutant(
            "generations of many stay",
            r"data\._id_generation_column\[rows\] \+= 1",
            "data._id_generation_column[rows] = 1",
        ),
        Mutant("a worn out row is used again", r"raise slot_exhausted_error\(data\.MANAGER, row\)"),
        Mutant("the highest row ever used is forgotten", r"data\._peak = .*"),
    ),
    module(
        "_runtime/managers/policies/direct.py",
        ("test_tile.py", "test_mooring.py"),
        Mutant(
            "holes are found",
            r"return Instance\(row\) if data\._entity_cells\[row\] else NIL",
            "return Instance(row)",
        ),
        Mutant(
            "holes among many are found",
            r"np\.where\(data\.present, np\.arange\(n\), NIL\)",
            "np.arange(n)",
        ),
        Mutant(
            "other generations are found", r" and data\._id_generation_cells\[row\] == id.*:", ":"
        ),
        Mutant("worn out rows are used again", r"if exhausted\.any\(\):", "if False:"),
        Mutant("saving loses the highest row", r'= \("_peak",\)', "= ()"),
        Mutant("generations of holes are lost", r"return self\._peak", "return self._n"),
    ),
    managers(
        "unowned",
        Mutant(
            "the slot is returned as the id",
            r"return Id\(data\._id_generation_cells\[_new_slot\] << SLOT_BITS \| _new_slot\)",
            "return Id(_new_slot)",
        ),
        Mutant(
            "ids of many are those of the first slots",
            r"(return|ids =) ids_of\(taken, ",
            r"\1 ids_of(np.arange(count), ",
        ),
    ),
    module(
        "_runtime/managers/policies/owners.py",
        ("test_texture.py", "test_spark.py"),
        Mutant("counts are not checked", r"= parse_count\(count, .*\)", "= index(count)"),
        Mutant(
            "whatever is a number is contained",
            r"is_integer\(id\) and .* != NIL$",
            "is_integer(id)",
        ),
        Mutant("ids come in another order", r"self\.ids_by_row\(\)$", "self.ids_by_row()[::-1]"),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
    ),
    module(
        "_runtime/managers/manager.py",
        ("test_rumour.py",),
        Mutant("many have no room", r"self\._ensure_capacity\(entities, columns, borrowed\)"),
    ),
)
