"""Kernels of the world with `backend: numba`: a method each, and the loops that it runs."""

from ecsgen.world_features.feature import WorldFeature

FEATURE = WorldFeature(
    name="world_kernels_numba",
    applies=lambda project: bool(project.world.kernels) and project.backend == "numba",
    order=6,
)
