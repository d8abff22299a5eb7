"""Ways to break how an entity's row is found: `sparse`, `hash`, `direct` and `one`."""

from tests.mutants._base import CHECKED_AGAIN, Mutant, managers, module

GROUPS = (
    managers(
        "sparse",
        Mutant("the map is not told", r"self\._sparse(?:_cells)?\[.*\] = .*"),
        Mutant("the dead stay", r"_found != NIL and data\._entity_cells\[.*\] != entity", "False"),
        Mutant("the map does not grow", r"if _map is not None:", "if False:"),
    ),
    module(
        "_runtime/managers/policies/lookup_maps.py",
        ("test_particle.py", "test_status_effect.py"),
        Mutant("the map is not told", r"self\._sparse(?:_cells)?\[.*\] = .*"),
        Mutant("the owner is not checked", r" or self\.data\._entity_cells\[row\] != entity:", ":"),
        Mutant("the dead among many stay", r"if len\(dead\) else NO_ROWS", "if False else NO_ROWS"),
        Mutant("the dead stay", r"self\.destroy_rows\(self\._rows_with\(row\)\)"),
        Mutant("the map is too short for many", r">= len\(self\._sparse\)", "> len(self._sparse)"),
        Mutant(
            "the highest index is cut off",
            r"(size = round_up_rows\(max\(self\._span\(\))",
            r"\1 - 64",
        ),
        Mutant("shrinking spares the map", r"if size < len\(self\._sparse\):", "if False:"),
        Mutant("the map takes no memory", r" \+ self\._sparse\.nbytes", ""),
        Mutant("saving loses the map", r"self\._set_map\(saved\)", "self._set_map(sparse_map(64))"),
        Mutant("rows are lost when the map grows", r"new\[: len\(old\)\] = old"),
        Mutant("a map grows too little", r"index \+ 1\)\)", "index))"),
        Mutant("the living have to go", r"owning\[owning != entities\[used\]\]", "owning"),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant(
            "an index behind the map is an error",
            r"(except IndexError:\n +)return (?:0|NIL)",
            r"\1raise",
        ),
        Mutant("one new index makes all new", r"\(heads == NIL\)\.all\(\)", "(heads == NIL).any()"),
        Mutant("all entities are new", r"return bool\(\(heads == NIL\)\.all\(\)\)", "return True"),
        Mutant("indices behind the map are an error", r', mode="clip"\)(?=\n +return bool)', ")"),
        Mutant(
            "nobody looks for the dead",
            r"if not self\._surely_have_no_rows\(entities\):",
            "if False:",
        ),
    ),
    module(
        "_runtime/managers/policies/lookup_maps.py",
        ("test_footprint.py",),
        Mutant(
            "many find no room in a ring",
            r"self\._add_overflow_rows\(len\(entities\), removed\)",
            "removed",
        ),
    ),
    managers(
        "hash",
        Mutant("the map is not told", r"self\._rows\[.*\] = .*"),
        Mutant("the map does not forget", r"del self\._rows\[.*\]"),
        Mutant("the map is not told of many", r"(?<!def )\bremember\(.*\)"),
    ),
    module(
        "_runtime/managers/policies/lookup_maps.py",
        ("test_sound_source.py", "test_point_mass.py"),
        Mutant("the map is not told", r"self\._rows\[.*\] = .*"),
        Mutant("the map does not forget", r"del self\._rows\[.*\]"),
        Mutant("the map is not told of many", r"(?<!def )\bremember\(.*\)"),
        Mutant(
            "the map takes no memory",
            r" \+ sys\.getsizeof\(self\._rows\) \+ len\(self\._rows\) \* entry_size",
            "",
        ),
        Mutant(
            "saving loses the map", r"(self\._rows = \{\}\n +)self\._enter_firsts\(\)", r"\1pass"
        ),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant("who has none loses one", r"0 if row == NIL else self\._destroy", "self._destroy"),
        Mutant(
            "what is no handle has no row",
            r"if type\(entity\) is not int:(?=\n.*\n.*self\._rows)",
            "if False:",
        ),
    ),
    managers(
        "direct",
        Mutant("an instance is not counted", r"data\._count \+= ", "data._count += 0 * "),
        Mutant("one that goes is still counted", r"data\._count -= ", "data._count -= 0 * "),
        Mutant("the end is not found again", r"data\._n = end$"),
        Mutant("the end is searched one row too late", r"if row == end - 1:", "if row == end:"),
        Mutant("a hole keeps its owner", r"(?<=\])( = NULL_ENTITY)$", " = 1"),
        Mutant("the dead stay in place", r"if _owner != NULL_ENTITY:", "if False:"),
        Mutant("the end does not grow", r"data\._n = row \+ 1$", "data._n = row"),
        Mutant("the end moves back", r"if row >= data\._n:", "if True:"),
        Mutant("a full buffer does not count as full", r">= data\._allocated", "> data._allocated"),
        Mutant(
            "holes are taken for rows", rf" and data\._entity_cells\[row\]\):{CHECKED_AGAIN}", "):"
        ),
    ),
    module(
        "_runtime/managers/policies/direct.py",
        ("test_transform.py", "test_tile.py"),
        Mutant("the dead stay in place of many", r"return np\.sort\(dead\)", "return NO_ROWS"),
        Mutant("the highest index has no room", r"> data\.allocated", "> data.allocated + 1"),
        Mutant("other owners are found", r"data\._entity_cells\[row\] == entity and ", ""),
        Mutant("no entity is found in holes", r" and entity:", ":"),
        Mutant("holes are taken for rows", r" and data\._entity_cells\[row\]\):", "):"),
        Mutant("holes among many are taken for rows", r"np\.logical_or\.reduce\(holes\)", "False"),
        Mutant(
            "rows are taken as given",
            r"super\(\)\._require_rows\(rows\)",
            "np.asarray(rows, np.intp)",
        ),
        Mutant("the last owner is missed", r"int\((\w+)\[-1\]\) \+ 1", r"int(\1[-1])"),
        Mutant("clearing spares the last row", r"(def _used_rows.*\n +return .*)$", r"\1[:-1]"),
        Mutant("holes have owners", r"owners\[owners != NULL_ENTITY\]", "owners"),
        Mutant("the alive are collected", r"~alive", "alive"),
        Mutant("holes are collected", r" & \(owners != NULL_ENTITY\)", ""),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant("the end is one row too low", r"^( +)return end$", r"\1return end - 1"),
        Mutant("near rows are looked at one too high", r"if cells\[end - 1\]:", "if cells[end]:"),
        Mutant(
            "the search begins one row too far down",
            r"\[: max\(row - NEAR, 0\)\]",
            "[: max(row - NEAR - 1, 0)]",
        ),
        Mutant("steps of the search leave rows out", r"start \+ 1 - SCAN", "start + 2 - SCAN"),
        Mutant("the only one left is forgotten", r"== data\._count:", ">= data._count - 1:"),
        Mutant(
            "the last row is taken for one that goes",
            r"if removed\.item\(-1\) < data\._n - 1:",
            "if removed.item(-1) < data._n - 2:",
        ),
        Mutant(
            "owners between rows that go are passed over",
            r"pending\[-1\] == end - 1",
            "pending[-1] <= end - 1",
        ),
        Mutant(
            "rows that go are found as the last owner", r"owners\[removed\[.*\]\] = NULL_ENTITY"
        ),
        Mutant(
            "a new index among many makes all new", r"entities\)\.min\(\) >=", "entities).max() >="
        ),
        Mutant("the last row counts as new", r"\.min\(\) >= self\.data\._n\b", r"\g<0> - 1"),
        Mutant("holes go once more", r"\(owners != NULL_ENTITY\) & (?=\()", ""),
    ),
    module(
        "_runtime/managers/policies/instances.py",
        ("test_transform.py", "test_tile.py"),
        Mutant("repeated entities are accepted", r"placement\.first_repeated\(.*\)"),
        Mutant("second instances of many are accepted", r"placement\.first_present\(.*\)"),
        Mutant("a repeated entity is removed twice", r"np\.unique\(rows\) if .* else rows", "rows"),
    ),
    managers("one", Mutant("a second instance is accepted", r"raise self\._duplicate\(.*\)")),
    module(
        "_runtime/managers/policies/instances.py",
        ("test_point_mass.py", "test_particle.py"),
        Mutant("repeated entities are accepted", r"placement\.first_repeated\(.*\)"),
        Mutant("second instances of many are accepted", r"placement\.first_present\(.*\)"),
        Mutant("a repeated entity is removed twice", r"np\.unique\(rows\) if .* else rows", "rows"),
        Mutant(
            "who is new is looked for, who is not is let in",
            r"not self\._surely_have_no_rows",
            "self._surely_have_no_rows",
        ),
    ),
)
