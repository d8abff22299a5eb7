"""Kernels of the world with `backend: numba`: a method each, and the loops that it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._kernels import KernelSubject

if TYPE_CHECKING:
    from ecsgen.render.numba.joined import JoinedKernel


class CompiledKernels(KernelSubject):
    """The kernels as their template lays them out."""

    @property
    def methods(self) -> list[JoinedKernel]:
        from ecsgen.render.kernel_method import number_constants  # not needed for schemas
        from ecsgen.render.numba.joined import JoinedKernel

        methods = [JoinedKernel(self.world, kernel, source) for kernel, source in self.sources]
        number_constants(methods)
        return methods


FEATURE = WorldFeature(
    name="world_kernels_numba",
    applies=lambda project: bool(project.world.kernels) and project.backend == "numba",
    order=6,
    subject=CompiledKernels.of,
)
