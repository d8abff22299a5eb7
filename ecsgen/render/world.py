"""Makes `world.py`: the world's template, filled with the blocks of what its schemas ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ecsgen import world_features
from ecsgen.model import Component, Project, World
from ecsgen.render.blocks import Step, without_nothing
from ecsgen.render.environment import environment
from ecsgen.render.imports import import_lines
from ecsgen.render.runtime import COMPILED, origins
from ecsgen.schema.names import DERIVED_CLASSES

MARKER = "<<imports>>"
DERIVED = ("", *DERIVED_CLASSES)


@dataclass(frozen=True, slots=True)
class Member:
    """What the world must know of a component: no more, so that few changes concern it."""

    name: str
    module: str
    owner: str
    destroy: str
    has_manager: bool
    can_grow: bool
    is_unique: bool  # whether fields of it are

    @classmethod
    def of(cls, component: Component, world: World) -> Self:
        """Return what the world must know of a component."""
        return cls(
            component.name,
            component.module,
            component.owner,
            component.destroy,
            component.name not in world.archetypes,
            not component.reserve,
            any(field.unique for field in component.fields),
        )


@dataclass(frozen=True, slots=True)
class Parts:
    """All that `world.py` and its tests are made from. Pickles; its `repr` says everything."""

    world: World
    members: tuple[Member, ...]
    features: tuple[tuple[str, object], ...]  # names and subjects of the active features
    backend: str
    exports: tuple[str, ...]
    """What the package has of `world.py` besides the world."""

    @classmethod
    def of(cls, project: Project) -> Self:
        """Return the parts of a project's world."""
        members = tuple(Member.of(component, project.world) for component in project.components)
        active = world_features.active(project)
        exports = tuple(name for feature in active for name in feature.exports(project))
        subjects = tuple((feature.name, feature.subject(project)) for feature in active)
        return cls(project.world, members, subjects, project.backend, exports)

    @property
    def components(self) -> list[Member]:
        """Those whose managers give instances to entities."""
        return [m for m in self.members if m.owner == "entity" and m.has_manager]

    @property
    def unowned(self) -> list[Member]:
        """Those whose managers stand on their own."""
        return [m for m in self.members if m.owner == "none"]


class Steps(Step):
    """The blocks of a world's features; in their templates, `it` is the feature's subject."""

    def __init__(self, parts: Parts, **variables: object) -> None:
        super().__init__()
        self.context = {
            "world": parts.world,
            "components": parts.components,
            "unowned": parts.unowned,
            "step": self,
            "imports_marker": MARKER,
            **variables,
        }
        for name, subject in parts.features:
            template = environment().get_template(f"world/{name}.py.j2")
            self.modules[name] = template.make_module({**self.context, "it": subject})


def world_module(parts: Parts) -> str:
    """Return the unformatted world: all entities, and the manager of every component."""
    text = environment().get_template("world.py.j2").render(Steps(parts).context)
    text = without_nothing(text)
    own = {f"{m.name}{end}": f".{m.module}" for m in parts.members for end in DERIVED}
    if parts.backend == "numba":
        own |= origins(COMPILED)
    return text.replace(MARKER, import_lines(text, own))
