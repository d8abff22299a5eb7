"""hierarchy: {orphans: root}: the children of rows that go become roots (Crown's scene graph)."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="orphans_root",
    applies=lambda c: c.hierarchy == "root",
    order=26,
)
