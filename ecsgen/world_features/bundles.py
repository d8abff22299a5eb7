"""Bundles: sets of components to spawn from, which may build on each other."""

from ecsgen.world_features.feature import WorldFeature

FEATURE = WorldFeature(
    name="bundles",
    applies=lambda project: bool(project.world.bundles),
    order=20,
)
