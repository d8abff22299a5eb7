"""Ways to break what `orphans_root` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "orphans_root",
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
