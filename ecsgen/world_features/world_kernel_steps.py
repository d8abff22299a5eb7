"""Kernels of the world, row by row: tests alone, the same whatever the backend."""

from ecsgen.world_features.feature import WorldFeature
from ecsgen.world_features.members import steps_kernels

FEATURE = WorldFeature(
    name="world_kernel_steps",
    applies=lambda project: bool(steps_kernels(project)),
    order=7,
    test_support=("kernels",),
)
