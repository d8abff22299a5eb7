"""The world's kernels as their templates lay them out, with either backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from ecsgen.config import Backend
from ecsgen.model import Component, Fused, Kernel, Project, World
from ecsgen.render.kernels.fused import kernel_of
from ecsgen.render.kernels.method import Method, number_constants
from ecsgen.render.kernels.printed import Printed, constants_of, functions_of
from ecsgen.render.kernels.sources import ChunkSource, Source, source_of
from ecsgen.render.printers import method_of, pass_of


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


@dataclass(frozen=True, slots=True)
class WorldKernels(KernelSubject):
    """The kernels, as the backend has them."""

    backend: Backend

    @classmethod
    def of(cls, project: Project) -> Self:
        subject = KernelSubject.of(project)
        return cls(subject.world, subject.components, project.backend)

    @property
    def texts(self) -> WorldTexts:
        """All of them, made anew."""
        methods = [
            *(method_of(kernel, one, self.backend, self.world) for kernel, one in self.sources),
            *(pass_of(fused, source, self.backend) for fused, source in self.passes),
        ]
        number_constants(methods)
        return WorldTexts.of([method.printed for method in methods])
