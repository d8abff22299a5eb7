"""Archetypes: components that live in chunks of one signature instead of managers."""

from ecsgen.world_features.feature import WorldFeature

FEATURE = WorldFeature(
    name="archetypes",
    applies=lambda project: bool(project.world.archetypes),
    order=20,
    base=lambda project: "ArchetypeWorld",
    attributes=lambda project: ("archetypes",),
)
