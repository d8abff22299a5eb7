"""Ways to break what `owned` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "owned",
        Mutant("the dead get an instance", r"if not _is_alive:", "if False:"),
        Mutant(
            "bad values count for more than death",
            r"self\._entities\.require(_many)?\(\w+\)  # death.*",
            "pass",
        ),
    ),
)
