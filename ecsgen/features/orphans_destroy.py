"""hierarchy: {orphans: destroy}: the descendants of rows that go, go with them."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="orphans_destroy",
    applies=lambda c: c.hierarchy == "destroy",
    order=26,
    mutants=(
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
