"""What the features of the world's kernels have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ecsgen.model import Component, Kernel, Project, World

if TYPE_CHECKING:
    from ecsgen.render.kernels.sources import Source


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
    def sources(self) -> list[tuple[Kernel, Source]]:
        """The kernels, with what each runs over."""
        from ecsgen.render.kernels.sources import source_of  # not needed for schemas

        known = {component.name: component for component in self.components}
        kernels = self.world.kernels
        return [(kernel, source_of(self.world, kernel.over, known)) for kernel in kernels]
