"""Kernels of the world, entity by entity: tests alone, the same whatever the backend."""

from ecsgen.world_features.feature import WorldFeature
from ecsgen.world_features.members import checkable_kernels

FEATURE = WorldFeature(
    name="world_kernel_steps",
    applies=lambda project: bool(checkable_kernels(project, chunked=False)),
    order=7,
    test_support=("kernels",),
)
