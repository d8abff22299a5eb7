"""Kernels of the world with `backend: numba`: a method each, and the loops that it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._kernels import KernelSubject

if TYPE_CHECKING:
    from ecsgen.render.numba.chunked import ChunkKernel
    from ecsgen.render.numba.joined import JoinedKernel


class CompiledKernels(KernelSubject):
    """The kernels as their template lays them out."""

    @property
    def joined(self) -> list[JoinedKernel]:
        """Those over rows of managers."""
        from ecsgen.render.numba.joined import JoinedKernel

        return [method for method in self._methods() if isinstance(method, JoinedKernel)]

    @property
    def chunked(self) -> list[ChunkKernel]:
        """Those over chunks."""
        from ecsgen.render.numba.chunked import ChunkKernel

        return [method for method in self._methods() if isinstance(method, ChunkKernel)]

    def _methods(self) -> list[JoinedKernel | ChunkKernel]:
        from ecsgen.render.numba.chunked import ChunkKernel  # not needed for schemas
        from ecsgen.render.numba.joined import JoinedKernel

        return self.made(JoinedKernel, ChunkKernel)


FEATURE = WorldFeature(
    name="world_kernels_numba",
    applies=lambda project: bool(project.world.kernels) and project.backend == "numba",
    order=6,
    subject=CompiledKernels.of,
)
