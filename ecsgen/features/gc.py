"""destroy: gc: rows of dead entities go lazily, found by random picks (Bitsquid's garbage collection)."""

from ecsgen.features._base import Feature

FEATURE = Feature(name="gc", applies=lambda c: c.owner == "entity" and c.destroy == "gc")
