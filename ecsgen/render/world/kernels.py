"""The world's kernels as their templates lay them out, with either backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, TypeVar

from ecsgen.model import Component, Fused, Kernel, Project, World
from ecsgen.render.kernels.asked import Asked, asked_of
from ecsgen.render.kernels.fused import kernel_of
from ecsgen.render.kernels.method import Method, number_constants
from ecsgen.render.kernels.printed import Printed, constants_of, functions_of
from ecsgen.render.kernels.sources import ChunkSource, Source, source_of
from ecsgen.render.loops.loop_method import LoopKernel
from ecsgen.render.loops.parts import ChunkLoop, LoopPass
from ecsgen.render.numpy.chunked import ChunkMethod
from ecsgen.render.numpy.fused import FusedJoined as FusedMethods
from ecsgen.render.numpy.joined import JoinedMethod, WorldMethod
from ecsgen.render.numpy.joined_near import JoinedNearMethod

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
        seen |= {name for kernel in kernels for name in (kernel.over, kernel.among)}
        seen |= {name for kernel in kernels for name in kernel.program.effects.leads}
        return cls(project.world, tuple(c for c in project.components if c.name in seen))

    @property
    def sources(self) -> list[tuple[Kernel, Source | ChunkSource]]:
        """The kernels, with what each runs over."""
        known = {component.name: component for component in self.components}
        kernels = self.world.kernels
        return [(kernel, source_of(self.world, kernel.over, known)) for kernel in kernels]

    def among(self, kernel: Kernel, source: Source, prefix: str = "") -> Asked:
        """Return whose rows a kernel asks."""
        asked = asked_of(kernel, source, self.world)
        assert asked is not None
        return replace(asked, prefix=prefix)

    def made(
        self,
        joined: Callable[[World, Kernel, Source], JoinedT],
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

    @property
    def passes(self) -> list[tuple[Fused, Source]]:
        """The passes of schedules, with what each goes through."""
        known = {component.name: component for component in self.components}
        found = []
        for fused in self.world.fused:
            source = source_of(self.world, fused.kernels[0].over, known)
            assert isinstance(source, Source)
            found.append((fused, source))
        return found


class KernelArguments(KernelSubject):
    """The arguments of all kernels, whatever these are compiled to."""

    @property
    def converters(self) -> list[str]:
        """The constants that check arguments."""
        methods = [Method(source.whole, kernel) for kernel, source in self.sources]
        methods += [Method(source.whole, kernel_of(fused)) for fused, source in self.passes]
        number_constants(methods)
        return [argument.converter for method in methods for argument in method.arguments]


class WorldTexts(NamedTuple):
    """The kernels as texts of the world's module."""

    constants: list[str]
    functions: list[str]
    methods: list[str]

    @classmethod
    def of(cls, printed: Sequence[Printed]) -> Self:
        """Return those of some kernels."""
        methods = [one.method for one in printed]
        return cls(constants_of(printed), functions_of(printed), methods)


class WorldMethods(KernelSubject):
    """The kernels with `backend: numpy`."""

    @property
    def texts(self) -> WorldTexts:
        """All of them, made anew."""
        passes = [FusedMethods(self.world, fused, source) for fused, source in self.passes]
        methods = [*self.made(self._joined, ChunkMethod), *passes]
        number_constants(methods)
        return WorldTexts.of([method.printed for method in methods])

    def _joined(self, world: World, kernel: Kernel, source: Source) -> WorldMethod | LoopKernel:
        """Return a kernel over rows of managers as its template lays it out."""
        program = kernel.program
        if program.takes_turns:
            return LoopKernel(kernel, source, asked_of(kernel, source, world), is_plain=True)
        if program.near is not None:
            return JoinedNearMethod(world, kernel, source, self.among(kernel, source))
        return JoinedMethod(world, kernel, source)


class CompiledWorldKernels(KernelSubject):
    """The kernels with `backend: numba`."""

    @property
    def texts(self) -> WorldTexts:
        """All of them, made anew: those over rows of managers, then those over chunks."""
        methods: list[LoopKernel | ChunkLoop | LoopPass] = [
            self._loop(kernel, source) for kernel, source in self.sources
        ]
        methods += [LoopPass(fused, source) for fused, source in self.passes]
        number_constants(methods)
        methods.sort(key=lambda method: isinstance(method, ChunkLoop))
        return WorldTexts.of([method.printed for method in methods])

    def _loop(self, kernel: Kernel, source: Source | ChunkSource) -> LoopKernel | ChunkLoop:
        if isinstance(source, ChunkSource):
            return ChunkLoop(kernel, source)
        return LoopKernel(kernel, source, asked_of(kernel, source, self.world))
