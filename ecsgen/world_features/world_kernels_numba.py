"""Kernels of the world with `backend: numba`: a method each, and the loops that it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._kernels import KernelSubject

if TYPE_CHECKING:
    from ecsgen.render.numba.chunked import ChunkKernel
    from ecsgen.render.numba.joined import JoinedKernel


class Kernels(NamedTuple):
    """Compiled kernels."""

    joined: list[JoinedKernel]
    """Those over rows of managers."""
    chunked: list[ChunkKernel]
    """Those over chunks."""


class CompiledKernels(KernelSubject):
    """The kernels as their template lays them out."""

    @property
    def kernels(self) -> Kernels:
        """All of them, made anew."""
        from ecsgen.render.numba.chunked import ChunkKernel  # not needed for schemas
        from ecsgen.render.numba.joined import JoinedKernel

        made = self.made(JoinedKernel, ChunkKernel)
        return Kernels(
            [method for method in made if isinstance(method, JoinedKernel)],
            [method for method in made if isinstance(method, ChunkKernel)],
        )


FEATURE = WorldFeature(
    name="world_kernels_numba",
    applies=lambda project: bool(project.world.kernels) and project.backend == "numba",
    order=6,
    subject=CompiledKernels.of,
)
