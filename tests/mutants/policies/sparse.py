"""Ways to break what `sparse` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "sparse",
        Mutant("the map is not told", r"^( +)self\._sparse(?:_cells)?\[.*\] = .*", r"\1pass"),
        Mutant(
            "the dead stay",
            r"if _found != NIL and data\._entity_cells\[_found\] != entity:",
            "if False:",
        ),
        Mutant("the map does not grow", r"if _map is not None:", "if False:"),
    ),
    module(
        "_runtime/policies/maps.py",
        ("test_particle.py", "test_status_effect.py"),
        Mutant("the map is not told", r"^( +)self\._sparse(?:_cells)?\[.*\] = .*", r"\1pass"),
        Mutant("the owner is not checked", r" or self\.data\._entity_cells\[row\] != entity:", ":"),
        Mutant("the dead among many stay", r"if len\(dead\) else NO_ROWS", "if False else NO_ROWS"),
        Mutant("the dead stay", r"self\._destroy_rows\(self\._rows_with\(row\)\)", "pass"),
        Mutant(
            "the map is too short for many",
            r"highest >= len\(self\._sparse\)",
            "highest > len(self._sparse)",
        ),
        Mutant(
            "the highest index is cut off", r"(size = whole_rows\(max\(self\._span\(\))", r"\1 - 64"
        ),
        Mutant("shrinking spares the map", r"if size < len\(self\._sparse\):", "if False:"),
        Mutant("the map takes no memory", r" \+ self\._sparse\.nbytes", ""),
        Mutant("saving loses the map", r"self\._set_map\(saved\)", "self._set_map(sparse_map(64))"),
        Mutant("rows are lost when the map grows", r"new\[: len\(old\)\] = old", "pass"),
        Mutant("a map grows too little", r"index \+ 1\)\)", "index))"),
        Mutant(
            "the living have to go",
            r"np\.unique\(found\[found != entities\[used\]\]\)",
            "np.unique(found)",
        ),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant(
            "an index behind the map is an error",
            r"(except IndexError:\n +)return (?:0|NIL)",
            r"\1raise",
        ),
        Mutant("one new index makes all new", r"\(heads == NIL\)\.all\(\)", "(heads == NIL).any()"),
        Mutant("all entities are new", r"return bool\(\(heads == NIL\)\.all\(\)\)", "return True"),
        Mutant("indices behind the map are an error", r', mode="clip"\)(?=\n +return bool)', ")"),
        Mutant("nobody looks for the dead", r"if not self\._are_new\(entities\):", "if False:"),
    ),
    module(
        "_runtime/policies/maps.py",
        ("test_footprint.py",),
        Mutant(
            "many find no room in a ring",
            r"return self\._too_many\(len\(entities\), gone\)",
            "return gone",
        ),
    ),
)
