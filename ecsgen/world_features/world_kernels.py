"""Kernels of the world over groups and queries: the tests of them, for every backend."""

from __future__ import annotations

from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._kernels import KernelCase, KernelSubject, runs_over_chunks


class WorldKernels(KernelSubject):
    """What the tests are made from."""

    @property
    def cases(self) -> list[KernelCase]:
        """The kernels over rows of managers."""
        return self.cases_over(chunks=False)


FEATURE = WorldFeature(
    name="world_kernels",
    applies=lambda project: not all(map(runs_over_chunks(project), project.world.kernels)),
    order=7,
    subject=WorldKernels.of,
)
