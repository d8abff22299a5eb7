"""Ways to break what `release` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "release",
        Mutant("rows go unannounced", r"^( +)self\._release\(.*\)", r"\1pass"),
        Mutant(
            "it is not locked meanwhile",
            r"self\._locks \+= 1(?=\n        try:\n            self\._released)",
            "pass",
        ),
        Mutant(
            "failures stop a removal",
            r"with self\._entities\.dispatch:(?=\n +self\._release\()",
            "if True:",
        ),
        # Where entities tell of their death, only their own dispatch drives rows out.
        Mutant(
            "failures stop a creation or a sweep",
            r"with self\._entities\.dispatch:(?!\n +self\._release\()"
            r"(?![\s\S]*def _entities_destroyed)",
            "if True:",
        ),
        Mutant(
            "callbacks are not kept",
            r"return self\._released\.add\(callback\)",
            "return Callbacks[RowArray]().add(callback)",
        ),
    ),
)
