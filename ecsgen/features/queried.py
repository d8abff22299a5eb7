"""A query of the world tells where instances are: a class of their columns there."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="queried",
    applies=lambda c: c.queried,
    order=90,
    mutants=(
        Mutant("a column is another one's", r'= (QueryColumn\[.*\])\("\w+"', r'= \1("entity"'),
    ),
)
