"""Kernels of the world over queries of chunks: the tests of them, for every backend."""

from ecsgen.world_features.feature import WorldFeature
from ecsgen.world_features.members import runs_over_chunks

FEATURE = WorldFeature(
    name="chunk_kernels",
    applies=lambda project: any(map(runs_over_chunks(project), project.world.kernels)),
    order=31,
    test_modules=("test_archetypes",),
)
