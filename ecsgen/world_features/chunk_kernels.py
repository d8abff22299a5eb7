"""Kernels of the world over queries of chunks: the tests of them, for every backend."""

from __future__ import annotations

from dataclasses import replace

from ecsgen.render.quoting import literal
from ecsgen.schema.names import module_name
from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._kernels import KernelCase, KernelSubject, runs_over_chunks


class ChunkKernels(KernelSubject):
    """What the tests are made from."""

    @property
    def cases(self) -> list[KernelCase]:
        """The kernels over chunks, with the components that let their query find an entity."""
        queries = {query.name: query for query in self.world.queries}
        return [
            replace(case, modules=tuple(map(module_name, (*query.all, *query.any))))
            for case in self.cases_over(chunks=True)
            for query in [queries[case.over]]
        ]

    @property
    def written(self) -> list[tuple[str, list[str]]]:
        """By kernel, the fields that it writes, each with its component."""
        programs = {kernel.name: kernel.program for kernel in self.world.kernels}
        return [
            (case.name, [literal(tuple(text.split("."))) for text in programs[case.name].writes])
            for case in self.cases
        ]


FEATURE = WorldFeature(
    name="chunk_kernels",
    applies=lambda project: any(map(runs_over_chunks(project), project.world.kernels)),
    order=31,
    subject=ChunkKernels.of,
    test_modules=("test_archetypes",),
)
