"""The world's kernels as their templates lay them out, with either backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeVar

from ecsgen.model import Component, Kernel, Project, World
from ecsgen.render.kernels.method import Method, number_constants
from ecsgen.render.kernels.sources import ChunkSource, JoinedSource, all_fields, source_of
from ecsgen.render.numba.chunked import ChunkKernel
from ecsgen.render.numba.joined import JoinedKernel
from ecsgen.render.numpy.chunked import ChunkMethod
from ecsgen.render.numpy.joined import JoinedMethod
from ecsgen.render.numpy.turns import JoinedTurnMethod

JoinedT = TypeVar("JoinedT", bound=Method)
ChunkedT = TypeVar("ChunkedT", bound=Method)


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
        kernels = project.world.kernels
        seen |= {name for kernel in kernels for name in (kernel.over, *kernel.program.leads)}
        return cls(project.world, tuple(c for c in project.components if c.name in seen))

    @property
    def sources(self) -> list[tuple[Kernel, JoinedSource | ChunkSource]]:
        """The kernels, with what each runs over."""
        known = {component.name: component for component in self.components}
        kernels = self.world.kernels
        return [(kernel, source_of(self.world, kernel.over, known)) for kernel in kernels]

    def made(
        self,
        joined: Callable[[World, Kernel, JoinedSource], JoinedT],
        chunked: Callable[[World, Kernel, ChunkSource], ChunkedT],
    ) -> list[JoinedT | ChunkedT]:
        """Return the kernels as a backend spells those over rows of managers and over chunks."""
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


class KernelArguments(KernelSubject):
    """The arguments of all kernels, whatever these are compiled to."""

    @property
    def converters(self) -> list[str]:
        """The constants that check arguments."""
        methods = [
            Method(all_fields(self.world, source.components.values()), kernel)
            for kernel, source in self.sources
        ]
        number_constants(methods)
        return [argument.converter for method in methods for argument in method.arguments]


class WorldMethods(KernelSubject):
    """The kernels with `backend: numpy`."""

    @property
    def methods(self) -> list[JoinedMethod | ChunkMethod]:
        """All of them, made anew."""
        return self.made(_joined, ChunkMethod)


def _joined(world: World, kernel: Kernel, source: JoinedSource) -> JoinedMethod:
    """Return a kernel over rows of managers as its template lays it out."""
    takes_turns = kernel.program.takes_turns
    return (JoinedTurnMethod if takes_turns else JoinedMethod)(world, kernel, source)


class Kernels(NamedTuple):
    """Compiled kernels."""

    joined: list[JoinedKernel]
    """Those over rows of managers."""
    chunked: list[ChunkKernel]
    """Those over chunks."""


class CompiledWorldKernels(KernelSubject):
    """The kernels with `backend: numba`."""

    @property
    def kernels(self) -> Kernels:
        """All of them, made anew."""
        made = self.made(JoinedKernel, ChunkKernel)
        return Kernels(
            [method for method in made if isinstance(method, JoinedKernel)],
            [method for method in made if isinstance(method, ChunkKernel)],
        )
