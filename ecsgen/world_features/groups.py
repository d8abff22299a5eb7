"""Groups: the rows of entities that have all of several components, aligned at the front."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.model import Project
from ecsgen.render.calls import call, collection
from ecsgen.render.quoting import literal
from ecsgen.schema.names import group_class
from ecsgen.world_features._base import WorldFeature


@dataclass(frozen=True, slots=True)
class Member:
    """A component of a group, as the world's template names it."""

    name: str
    module: str


@dataclass(frozen=True, slots=True)
class Group:
    """A group, as the world's template lays it out."""

    name: str
    members: tuple[Member, ...]

    @property
    def class_name(self) -> str:
        return group_class(self.name)

    @property
    def doc(self) -> str:
        """Its docstring."""
        *most, last = (member.name for member in self.members)
        return f"The entities that have {', '.join(most)} and {last}, in the first rows of each."

    @property
    def slots(self) -> str:
        """The statement that names its attributes."""
        names = [literal(module) for module in sorted(m.module for m in self.members)]
        return collection("__slots__ = ", names, 4)

    @property
    def construction(self) -> str:
        """The statement that makes the world's own."""
        managers = [f"self.{member.module}" for member in self.members]
        return call(f"self.{self.name} = {self.class_name}", managers, 8).lstrip()


def _groups(project: Project) -> tuple[Group, ...]:
    modules = {component.name: component.module for component in project.components}
    return tuple(
        Group(name, tuple(Member(m, modules[m]) for m in members))
        for name, members in project.world.groups
    )


FEATURE = WorldFeature(
    name="groups",
    applies=lambda project: bool(project.world.groups),
    subject=_groups,
    exports=lambda project: tuple(group_class(name) for name, _ in project.world.groups),
)
