"""lookup: sparse: an array from entity index to row."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="sparse",
    applies=lambda c: c.owner == "entity" and c.lookup == "sparse",
    order=10,
    roles=("map",),
)
