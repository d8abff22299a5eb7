"""What the features of the world's kernels have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

from ecsgen.model import Component, Default, Kernel, Project, World
from ecsgen.model.programs import Argument
from ecsgen.render.calls import collection
from ecsgen.render.quoting import literal

if TYPE_CHECKING:
    from ecsgen.render.kernels.method import Method
    from ecsgen.render.kernels.sources import ChunkSource, JoinedSource

JoinedT = TypeVar("JoinedT", bound="Method")
ChunkedT = TypeVar("ChunkedT", bound="Method")


@dataclass(frozen=True, slots=True)
class KernelCase:
    """A kernel as its tests need it."""

    name: str
    over: str
    modules: tuple[str, ...]
    samples: tuple[str, ...]

    @property
    def entry(self) -> str:
        """What it runs over, the components there, and some arguments."""
        return "\n".join(
            [
                f'        "{self.name}": (',
                f'            "{self.over}",',
                collection("", [literal(module) for module in self.modules], 12, ","),
                collection("", list(self.samples), 12, ","),
                "        ),",
            ]
        )


@dataclass(frozen=True, slots=True)
class KernelSubject:
    """What the methods of the world's kernels are made from."""

    world: World
    components: tuple[Component, ...]

    @classmethod
    def of(cls, project: Project) -> Self:
        """Return the kernels, and the components that they may see."""
        groups, queries = dict(project.world.groups), project.world.queries
        required = {query.name: query.all for query in queries}
        seen = {name for members in (groups | required).values() for name in members}
        return cls(project.world, tuple(c for c in project.components if c.name in seen))

    @property
    def sources(self) -> list[tuple[Kernel, JoinedSource | ChunkSource]]:
        """The kernels, with what each runs over."""
        from ecsgen.render.kernels.sources import source_of  # not needed for schemas

        known = {component.name: component for component in self.components}
        kernels = self.world.kernels
        return [(kernel, source_of(self.world, kernel.over, known)) for kernel in kernels]

    def made(
        self,
        joined: Callable[[World, Kernel, JoinedSource], JoinedT],
        chunked: Callable[[World, Kernel, ChunkSource], ChunkedT],
    ) -> list[JoinedT | ChunkedT]:
        """Return the kernels as a backend spells those over rows of managers and over chunks."""
        from ecsgen.render.kernels.method import number_constants  # not needed for schemas
        from ecsgen.render.kernels.sources import ChunkSource

        methods = [
            (
                chunked(self.world, kernel, source)
                if isinstance(source, ChunkSource)
                else joined(self.world, kernel, source)
            )
            for kernel, source in self.sources
        ]
        number_constants(methods)
        return methods

    def cases_over(self, chunks: bool) -> list[KernelCase]:
        """Return those over chunks, or the others, whose arguments tests can make up: no enums."""
        from ecsgen.render.kernels.sources import ChunkSource  # not needed for schemas

        return [
            KernelCase(
                kernel.name,
                source.name,
                tuple(component.module for component in source.components.values()),
                tuple(map(_sample, kernel.program.arguments)),
            )
            for kernel, source in self.sources
            if isinstance(source, ChunkSource) == chunks
            and not any(argument.type.kind for argument in kernel.program.arguments)
        ]


def runs_over_chunks(project: Project) -> Callable[[Kernel], bool]:
    """Return what tells the kernels over chunks from the others."""
    chunked = {query.name for query in project.world.queries if query.chunked}
    return lambda kernel: kernel.over in chunked


def _sample(argument: Argument) -> str:
    """Some value of an argument's type, as a literal."""
    value: Default = {"bool": True, "f32": 0.5, "f64": 0.25}.get(argument.type.scalar, 1)
    for length in reversed(argument.type.shape):
        value = (value,) * length
    return literal(value)
