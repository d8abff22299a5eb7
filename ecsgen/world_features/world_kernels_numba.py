"""Kernels of the world with `backend: numba`: a method each, and the loops that it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ecsgen.features import Mutant
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
    mutants=(
        Mutant("all rows of a member", r"_n = self\.(\w+)\.n$", r"_n = self.\1._first.data.n"),
        Mutant("the first row is left out", r"for i in range\(n\):", "for i in range(1, n):"),
        Mutant("all rows match", r"^( +)if \w+\[\w+\] .*:$", r"\1if True:"),
        Mutant("rows of another component", r"_found\.numbers\(1\)", "_found.numbers(0)"),
        Mutant("strewn rows are the first", r"row_at\((\w+), i\)", r"row_at(\1, 0)"),
        Mutant("the first chunk is left out", r"range\(len\(rows\)\)", "range(1, len(rows))"),
        Mutant("columns of the first chunk", r"addresses\[k, (\d)\]", r"addresses[0, \1]"),
        Mutant("rows in step are the first", r"(\w+_rows)\[0\] :\]", r"0 * \1[0] :]"),
    ),
)
