"""packed: rows are dense; the last row moves into a hole (Bitsquid's swap-remove)."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="packed",
    applies=lambda c: c.lookup != "direct" and not c.partition and not c.group,
    order=0,
    roles=("placement",),
)
