"""Kernels of the world with `backend: numpy`: a method each, ufuncs over kept blocks of rows."""

from ecsgen.world_features.feature import WorldFeature

FEATURE = WorldFeature(
    name="world_kernels_numpy",
    applies=lambda project: bool(project.world.kernels) and project.backend == "numpy",
    order=6,
)
