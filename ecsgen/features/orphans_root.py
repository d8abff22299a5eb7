"""hierarchy: {orphans: root}: the children of rows that go become roots (Crown's scene graph)."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="orphans_root",
    applies=lambda c: c.hierarchy == "root",
    order=26,
    mutants=(
        Mutant(
            "the children of a row that goes keep it as their parent",
            r"( +)self\._release_children\(row\)",
            r"\1pass",
        ),
        Mutant(
            "the children of rows that go keep them as their parents",
            r"( +)make_roots\(.*\)",
            r"\1pass",
        ),
    ),
)
