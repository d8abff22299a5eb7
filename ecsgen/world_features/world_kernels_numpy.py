"""Kernels of the world with `backend: numpy`: a method each, ufuncs over kept blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecsgen.features import Mutant
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
    mutants=(
        Mutant("blocks are kept whatever changes", r" or _blocks\.stamp != \w+:$", ":"),
        Mutant(
            "what is written is not put back",
            r"(found\.members\[\d\],\s+True,\s+)True",
            r"\1False",
        ),
        Mutant("what was there is not read", r"(found\.members\[\d\],\s+)True", r"\1False"),
        Mutant("rows of another component", r"found\.members\[1\]", "found.members[0]"),
    ),
)
