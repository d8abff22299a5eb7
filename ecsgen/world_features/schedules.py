"""Schedules: methods of the world that call kernels one after the other."""

from ecsgen.world_features.feature import WorldFeature

FEATURE = WorldFeature(
    name="schedules",
    applies=lambda project: bool(project.world.schedules),
    order=5,
)
