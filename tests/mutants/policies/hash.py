"""Ways to break what `hash` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "hash",
        Mutant("the map is not told", r"^( +)self\._rows\[.*\] = .*", r"\1pass"),
        Mutant("the map does not forget", r"^( +)del self\._rows\[.*\]", r"\1pass"),
        Mutant("the map is not told of many", r"^( +)remember\(.*\)", r"\1pass"),
    ),
    module(
        "_runtime/policies/maps.py",
        ("test_sound_source.py", "test_point_mass.py"),
        Mutant("the map is not told", r"^( +)self\._rows\[.*\] = .*", r"\1pass"),
        Mutant("the map does not forget", r"^( +)del self\._rows\[.*\]", r"\1pass"),
        Mutant("the map is not told of many", r"^( +)remember\(.*\)", r"\1pass"),
        Mutant("the map does not forget many", r"^( +)forget\(.*\)", r"\1pass"),
        Mutant("the map takes no memory", r" \+ dict_bytes\(self\._rows\)", ""),
        Mutant(
            "saving loses the map", r"(self\._rows = \{\}\n +)self\._enter_firsts\(\)", r"\1pass"
        ),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant(
            "who has none loses one",
            r"return 0 if row == NIL else self\._destroy",
            "return self._destroy",
        ),
        Mutant(
            "what is no handle has no row",
            r"if type\(entity\) is not int:(?=\n.*\n.*self\._rows)",
            "if False:",
        ),
    ),
)
