"""Groups, bundles and signatures as their templates lay them out."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.model import Project
from ecsgen.model.members import bundle_members, having_owners
from ecsgen.render.calls import call, collection
from ecsgen.render.giving_way import Named, marked, named
from ecsgen.render.quoting import literal
from ecsgen.schema.names import group_class


@dataclass(frozen=True, slots=True)
class Group:
    """A group: its components' rows are aligned."""

    name: str
    members: tuple[Named, ...]

    @property
    def class_name(self) -> str:
        return marked(group_class(self.name))

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


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle: components to spawn from."""

    name: str
    members: tuple[Named, ...]

    @property
    def flag(self) -> str:
        """Its flag in signatures."""
        return self.name.upper()


@dataclass(frozen=True, slots=True)
class Flags:
    """What signatures are made of."""

    components: tuple[str, ...]
    """The names of flags, in the order of bits."""
    bundles: tuple[Bundle, ...]


def groups(project: Project) -> tuple[Group, ...]:
    """Return all groups."""
    return tuple(
        Group(name, tuple(named(project.by_name[member]) for member in members))
        for name, members in project.world.groups
    )


def bundles(project: Project) -> tuple[Bundle, ...]:
    """Return all bundles, each with the components of those that it builds on."""
    return tuple(
        Bundle(name, tuple(map(named, members)))
        for name, members in bundle_members(project).items()
    )


def flags(project: Project) -> Flags:
    """Return the flags of components and bundles."""
    components = tuple(component.module.upper() for component in having_owners(project))
    return Flags(components, bundles(project))
