"""Kernels of the world: a method each, over the aligned rows of a group or the rows of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecsgen.features import Mutant
from ecsgen.model import Component, Project, World
from ecsgen.world_features._base import WorldFeature

if TYPE_CHECKING:
    from ecsgen.render.kernels.joined import JoinedMethod


@dataclass(frozen=True, slots=True)
class WorldKernels:
    """What the methods are made from."""

    world: World
    components: tuple[Component, ...]

    @property
    def methods(self) -> list[JoinedMethod]:
        """The kernels as their template lays them out."""
        from ecsgen.render.kernel_method import number_constants  # not needed for schemas
        from ecsgen.render.kernels.joined import JoinedMethod

        placed = {query.name: query.all for query in self.world.queries}
        members = dict(self.world.groups) | placed
        methods = []
        for kernel in self.world.kernels:
            concerned = {c.name: c for c in self.components if c.name in members[kernel.over]}
            names = placed.get(kernel.over)
            places = None if names is None else {name: names.index(name) for name in names}
            methods.append(JoinedMethod(self.world, kernel, concerned, places))
        number_constants(methods)
        return methods


def _subject(project: Project) -> object:
    """Return the kernels, and the components that they may see."""
    seen = {name for _, names in project.world.groups for name in names}
    seen |= {name for query in project.world.queries for name in query.all}
    components = tuple(c for c in project.components if c.name in seen)
    return WorldKernels(project.world, components)


FEATURE = WorldFeature(
    name="world_kernels",
    applies=lambda project: bool(project.world.kernels),
    order=5,
    subject=_subject,
    mutants=(
        Mutant("what is written is not put back", r"^( +)True,$", r"\1False,"),
        Mutant("rows of another component", r"_join\.rows\(1\)", "_join.rows(0)"),
    ),
)
