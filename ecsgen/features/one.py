"""instances: one: the map holds the entity's only row."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="one",
    applies=lambda c: c.owner == "entity" and c.instances == "one" and c.lookup != "direct",
    order=20,
    roles=("instances",),
)
