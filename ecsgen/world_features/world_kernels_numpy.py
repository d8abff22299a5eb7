"""Kernels of the world with `backend: numpy`: a method each, ufuncs over kept blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._kernels import KernelSubject

if TYPE_CHECKING:
    from ecsgen.render.numpy.chunked import ChunkMethod
    from ecsgen.render.numpy.joined import JoinedMethod


class WorldMethods(KernelSubject):
    """The kernels as their template lays them out."""

    @property
    def methods(self) -> list[JoinedMethod | ChunkMethod]:
        from ecsgen.render.numpy.chunked import ChunkMethod  # not needed for schemas
        from ecsgen.render.numpy.joined import JoinedMethod

        return self.made(JoinedMethod, ChunkMethod)


FEATURE = WorldFeature(
    name="world_kernels_numpy",
    applies=lambda project: bool(project.world.kernels) and project.backend == "numpy",
    order=6,
    subject=WorldMethods.of,
)
