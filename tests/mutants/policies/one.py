"""Ways to break what `one` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "one",
        Mutant("a second instance is accepted", r"raise self\._duplicate\(.*\)", "pass"),
    ),
    module(
        "_runtime/policies/instances.py",
        ("test_point_mass.py", "test_particle.py"),
        Mutant("repeated entities are accepted", r"first_repeated\(.*\)", "pass"),
        Mutant("second instances of many are accepted", r"first_present\(.*\)", "pass"),
        Mutant(
            "a repeated entity is removed twice",
            r"return np\.unique\(rows\) if .* else rows",
            "return rows",
        ),
        Mutant(
            "who is new is looked for, who is not is let in",
            r"and not self\._are_new\(",
            "and self._are_new(",
        ),
    ),
)
