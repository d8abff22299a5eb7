"""hierarchy: {orphans: destroy}: the descendants of rows that go, go with them."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="orphans_destroy",
    applies=lambda c: c.hierarchy == "destroy",
    order=26,
)
