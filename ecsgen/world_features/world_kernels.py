"""Kernels of the world over groups and queries: the tests of them, for every backend."""

from ecsgen.world_features.feature import WorldFeature
from ecsgen.world_features.members import runs_over_chunks

FEATURE = WorldFeature(
    name="world_kernels",
    applies=lambda project: not all(map(runs_over_chunks(project), project.world.kernels)),
    order=7,
)
