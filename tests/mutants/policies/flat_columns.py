"""Ways to break what `flat_columns` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "flat_columns",
        Mutant(
            "elements are copies",
            r"_flat\b.* = self\._\w+_column\.reshape\(-1\)",
            r"\g<0>.copy()",
        ),
    ),
)
