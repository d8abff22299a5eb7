"""Ways to break what `queried` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "queried",
        Mutant("a column is another one's", r'= (QueryColumn\[.*\])\("\w+"', r'= \1("entity"'),
        in_world=True,
    ),
)
