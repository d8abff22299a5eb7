"""lookup: hash: a dict from whole handle to row, for rare components (Bitsquid's choice)."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="hash",
    applies=lambda c: c.owner == "entity" and c.lookup == "hash",
    order=10,
    roles=("map",),
)
