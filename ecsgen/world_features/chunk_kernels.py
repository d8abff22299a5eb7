"""Kernels of the world over queries of chunks: the tests of them, for every backend."""

from __future__ import annotations

from ecsgen.features import Mutant
from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._kernels import KernelCase, KernelSubject, runs_over_chunks


class ChunkKernels(KernelSubject):
    """What the tests are made from."""

    @property
    def cases(self) -> list[KernelCase]:
        """The kernels over chunks."""
        return self.cases_over(chunks=True)


FEATURE = WorldFeature(
    name="chunk_kernels",
    applies=lambda project: any(map(runs_over_chunks(project), project.world.kernels)),
    order=31,
    subject=ChunkKernels.of,
    test_modules=("test_archetypes",),
    mutants=(Mutant("the field beside", r"ChunkField\((\d+), 0\)", r"ChunkField(\1, 1)"),),
)
