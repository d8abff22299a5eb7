"""Ways to break what `orphans_destroy` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "orphans_destroy",
        Mutant(
            "a row goes without its descendants",
            r"( +)return self\._destroy_rows\(np\.array\(\[row\]\)\)",
            r"\1pass",
        ),
        Mutant(
            "rows go without their descendants",
            r"( +)gone = with_descendants\(.*\)",
            r"\1pass",
        ),
    ),
)
