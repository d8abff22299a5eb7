"""The world's kernels, and the passes of its schedules, as its template lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ecsgen.config import Backend
from ecsgen.model import Component, Project, World
from ecsgen.render.kernels.sources import Source, source_of
from ecsgen.render.printers import Texts, method_of, pass_of


@dataclass(frozen=True, slots=True)
class KernelSubject:
    """What they are made from."""

    world: World
    components: tuple[Component, ...]
    """Those that they may see."""
    backend: Backend

    @classmethod
    def of(cls, project: Project) -> Self:
        """Return the kernels of a project's world."""
        groups, queries = dict(project.world.groups), project.world.queries
        required = {query.name: query.all for query in queries}
        seen = {name for members in (groups | required).values() for name in members}
        kernels = project.world.kernels
        seen |= {name for kernel in kernels for name in (kernel.over, kernel.among)}
        seen |= {name for kernel in kernels for name in kernel.program.effects.leads}
        components = tuple(one for one in project.components if one.name in seen)
        return cls(project.world, components, project.backend)

    @property
    def texts(self) -> Texts:
        """All of them, made anew."""
        world, known = self.world, {component.name: component for component in self.components}
        methods = []
        for kernel in world.kernels:
            source = source_of(world, kernel.over, known)
            methods.append(method_of(kernel, source, self.backend, world))
        for fused in world.fused:
            source = source_of(world, fused.kernels[0].over, known)
            assert isinstance(source, Source)  # chunks are in no pass
            methods.append(pass_of(fused, source, self.backend))
        return Texts.of(methods)
