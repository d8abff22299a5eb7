"""release: callbacks see the rows about to go, still readable, on every way out."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="release",
    applies=lambda c: c.release,
    order=90,
)
