"""Kernels of the world: a method each, with the loop or the blocks that it runs over."""

from ecsgen.world_features.feature import WorldFeature

FEATURE = WorldFeature(
    name="kernel_methods",
    applies=lambda project: bool(project.world.kernels),
    order=6,
)
