"""A query of the world tells where instances are: a class of their columns there."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="queried",
    applies=lambda c: c.queried,
    order=90,
)
