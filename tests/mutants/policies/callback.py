"""Ways to break what `callback` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "callback",
        Mutant("nobody tells who died", r"self\._entities\._attach\(.*\)", "pass"),
        Mutant(
            "only the first of the dead goes",
            r"self\.remove_many\(entities\)",
            "self.remove_many(entities[:1])",
        ),
    ),
)
