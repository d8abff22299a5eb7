"""destroy: gc: dead entities' rows go lazily, found by random picks (Bitsquid's gc)."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="gc",
    applies=lambda c: c.owner == "entity" and c.destroy == "gc",
)
