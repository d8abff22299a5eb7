"""Ways to break what `requires` does."""

from tests.mutants._base import Mutant, module

GROUPS = (
    module(
        "_runtime/world/requirements.py",
        ("test_world.py",),
        Mutant("nothing is missing", r"if kind not in kinds\]", "if False]"),
        Mutant("what is there comes again", r" if kind not in kinds\]", "]"),
        Mutant(
            "one created has what it is given alone",
            r"\(\*rows, \*\(kind\(\) for kind in missing\)\)",
            "rows",
        ),
        Mutant(
            "spawns have what they are given alone",
            r"\*\*components, \*\*missing\}",
            "**components}",
        ),
        Mutant(
            "additions bring nothing along",
            r"super\(\)\.add\(\*rows, \*added\)",
            "super().add(*rows)",
        ),
        Mutant("who has it gets another", r" if not world\._holder\(kind\)\.has\(entity\)", ""),
        Mutant("a component that is left out requires others", r" if fields is not None\]", "]"),
    ),
)
