"""Module `world.py`: its template, with the features that schemas need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final, Self

from ecsgen.config import Backend
from ecsgen.model import BaseType, Component, Project, World
from ecsgen.model.reference_schema import world_schema
from ecsgen.model.schedules import resolve_calls
from ecsgen.model.snapshot_schema import make_snapshot_schema, schema_fingerprint, schema_text
from ecsgen.render.components.chunk_code import required_line
from ecsgen.render.components.step_code import indented
from ecsgen.render.kernel_methods.row_sources import RowSource, make_world_source
from ecsgen.render.kernel_printers import (
    KernelTexts,
    drawing_lines,
    make_kernel_method,
    make_pass_method,
)
from ecsgen.render.text.formatting import call, collection, mapping
from ecsgen.render.text.jinja_environment import environment, rendered_module
from ecsgen.render.text.library_imports import COMPILED, SHARDS, locate_public_names
from ecsgen.render.text.name_shadowing import ComponentName, add_class_placeholder, add_placeholder
from ecsgen.render.text.quoting import literal
from ecsgen.render.world import world_features
from ecsgen.render.world.query_code import bundles, flags, groups, queries
from ecsgen.render.world.schedule_code import ScheduleMethod
from ecsgen.render.world.table_code import TableCode
from ecsgen.schema.names import DERIVED_CLASSES, module_name, settings_class


@dataclass(frozen=True, slots=True)
class WorldKernelContext:
    """Inputs of the world's kernels, tables and schedules."""

    world: World
    components: tuple[Component, ...]
    """Components that they may use."""
    backend: Backend

    @classmethod
    def of(cls, project: Project) -> Self:
        """Return the inputs of a project's world."""
        return cls(project.world, project.components, project.backend)

    @property
    def _known(self) -> dict[str, Component]:
        return {component.name: component for component in self.components}

    @property
    def tables(self) -> list[TableCode]:
        """Code of all tables, built anew."""
        world, known = self.world, self._known
        return [TableCode(table, world, known, self.backend) for table in world.records]

    @property
    def schedules(self) -> list[ScheduleMethod]:
        """Code of all schedules, built anew."""
        world, known = self.world, self._known
        return [
            ScheduleMethod(world, name, resolve_calls(entries, known, world), known)
            for name, entries in world.schedules
        ]

    @property
    def texts(self) -> KernelTexts:
        """Texts of all kernels and passes, built anew."""
        world, known = self.world, self._known
        methods = []
        for kernel in (*world.kernels, *world.assignments):
            source = make_world_source(world, kernel.over, known)
            methods.append(make_kernel_method(kernel, source, self.backend, world))
        for fused in world.fused:
            source = make_world_source(world, fused.kernels[0].over, known)
            assert isinstance(source, RowSource)  # chunks are in no pass
            methods.append(make_pass_method(fused, source, self.backend))
        return KernelTexts.of(methods)


def shard_lines(project: Project) -> list[str]:
    """Return statements of the world's class: components that stay, and fields of ghosts."""
    world = project.world
    assert world.shards is not None
    chunked = world.archetypes
    stays = [name if name in chunked else module_name(name) for name in world.shards.stay]
    ghosts = {module_name(name): literal(fields) for name, fields in world.shards.ghosts}
    return [
        collection("STAYS: ClassVar[tuple[str, ...]] = ", [literal(name) for name in stays], 0),
        mapping("_GHOSTS: ClassVar[Mapping[str, tuple[str, ...]]] = ", ghosts, 0),
    ]


# objects that templates of the world's features have as `it`: plain frozen data, or None, as the
# world is rendered again when their `repr` changes
_BY_FEATURE: Final[dict[str, Callable[[Project], object]]] = {
    "bundles": bundles,
    "chunk_queries": lambda project: queries(project, chunked=True),
    "entity_view": lambda project: (
        "RequiringView" if any(c.requires for c in project.components) else "EntityViewBase"
    ),
    "groups": groups,
    "kernel_methods": WorldKernelContext.of,
    "queries": lambda project: queries(project, chunked=False),
    "records": WorldKernelContext.of,
    "requirements": lambda project: required_line(project.components, project, 0),
    "saving": lambda project: schema_fingerprint(schema_text(make_snapshot_schema(project))),
    "schedules": WorldKernelContext.of,
    "seeded": lambda project: drawing_lines(project.world.kernels, ""),
    "shards": shard_lines,
    "settings": lambda project: settings_name(project.world),
    "signature": flags,
    "world_kernel_tests": world_schema,
}


DERIVED = ("", *DERIVED_CLASSES)
VIEW_METHODS = ("add", "remove")
"""Methods of entities' views that worlds do not have."""


@dataclass(frozen=True, slots=True)
class WorldComponent(ComponentName):
    """Facts on a component that the world needs; it is rendered again when these change."""

    owner: str
    destroy: str
    has_manager: bool
    can_grow: bool
    is_grid: bool  # its rows are cells
    on: str  # the module of the grid that its rows are on
    takes_entities: bool  # its manager is made with the manager of entities
    has_settings: bool  # its kernels or reductions read settings

    @classmethod
    def of(cls, component: Component, world: World) -> Self:
        """Return the facts on a component."""
        return cls(
            add_class_placeholder(component.name),
            component.module,
            component.owner,
            component.destroy,
            component.name not in world.archetypes,
            not component.reserve,
            component.grid is not None,
            "" if component.on is None else module_name(component.on.grid),
            component.owner == "entity" or component.knows_entities,
            bool(component.settings),
        )


@dataclass(frozen=True, slots=True)
class WorldContext:
    """All inputs of `world.py` and its tests. It can be pickled, and its `repr` has everything."""

    world: World
    members: tuple[WorldComponent, ...]
    features: tuple[tuple[str, object], ...]  # names and subjects of the active features
    backend: str
    bases: tuple[str, ...]
    """Base classes of the world."""
    attributes: tuple[str, ...]
    """Attributes of the world besides the managers."""
    parameters: tuple[str, ...]
    """Parameters of its `__init__`."""
    exports: tuple[str, ...]
    """Names that the package exports of `world.py` besides the world."""
    enums: tuple[str, ...]
    """Enums of arguments of methods, of columns of tables and of values of bundles."""

    @classmethod
    def of(cls, project: Project) -> Self:
        """Return the inputs of a project's world."""
        members = tuple(
            WorldComponent.of(component, project.world) for component in project.components
        )
        active = world_features.select_features(project)
        return cls(
            project.world,
            members,
            tuple(
                (f.name, make(project) if (make := _BY_FEATURE.get(f.name)) else None)
                for f in active
            ),
            project.backend,
            tuple(feature.base for feature in active if feature.base),
            tuple(name for feature in active for name in feature.attributes),
            (*(p for feature in active for p in feature.parameters), *_shapes(members)),
            tuple(name for feature in active for name in feature.exports),
            _argument_enums(project),
        )

    @property
    def components(self) -> list[WorldComponent]:
        """Components with managers of entities' instances."""
        return [m for m in self.members if m.owner == "entity" and m.has_manager]

    @property
    def unowned(self) -> list[WorldComponent]:
        """Components without entities."""
        return [m for m in self.members if m.owner == "none"]

    @property
    def owned(self) -> list[WorldComponent]:
        """Components that entities can have; those with managers come first."""
        return [*self.components, *(m for m in self.members if not m.has_manager)]

    @property
    def viewed(self) -> list[WorldComponent]:
        """Components that are attributes of an entity's view: none has the name of a method."""
        return [m for m in self.owned if m.module not in VIEW_METHODS]

    @property
    def spawned(self) -> list[WorldComponent]:
        """Components of entities in the order in which a spawn reserves rows.

        First those that cannot grow: if one of these is full, no other has grown."""
        growing = sorted(self.components, key=attrgetter("can_grow"))
        return [*growing, *self.owned[len(growing) :]]

    @property
    def collecting(self) -> list[str]:
        """Expressions for the managers that collect rows of dead entities."""
        return [f"self.{m.module}" for m in self.components if m.destroy == "gc"]

    @property
    def fixed(self) -> list[str]:
        """Attributes that users cannot assign to."""
        managers = [member.module for member in (*self.components, *self.unowned)]
        return ["entities", *managers, *self.attributes]

    @property
    def names_lines(self) -> str:
        """Statements with the names of managers, queries, groups and bundles."""
        world = self.world
        kinds = {
            "MANAGERS": [member.module for member in (*self.components, *self.unowned)],
            "QUERIES": [query.name for query in world.queries],
            "GROUPS": [name for name, _ in world.groups],
            "BUNDLES": [f"spawn_{bundle.name}" for bundle in world.bundles],
        }
        return "\n".join(
            collection(f"_{kind}: ClassVar = ", [literal(name) for name in names], 4)
            for kind, names in kinds.items()
            if names
        )

    @property
    def kinds_lines(self) -> str:
        """Statement with the class of each manager, in the order of a spawn."""
        members = [*(m for m in self.spawned if m.has_manager), *self.unowned]
        return mapping(
            "MANAGER_CLASSES: ClassVar = ", {m.module: f"{m.name}Manager" for m in members}, 4
        )

    @property
    def made_lines(self) -> list[str]:
        """Statements that make settings and managers: grids first, which other managers need."""
        managers = [*self.components, *self.unowned]
        settings = [f"        self.settings = {settings_name(self.world)}()"]
        return [
            *(settings if self.world.settings else []),
            *(self._manager_line(m) for m in sorted(managers, key=lambda m: not m.is_grid)),
        ]

    def _manager_line(self, member: WorldComponent) -> str:
        arguments = ["self.entities"] if member.takes_entities else []
        arguments += [member.bare_name] if member.is_grid else []
        arguments += [f"self.{member.on}"] if member.on else []
        arguments += ["settings=self.settings"] if member.has_settings else []
        return call(
            f"self.{member.module} = self._manager_class({member.name}Manager)", arguments, 8
        )


def settings_name(world: World) -> str:
    """Return the class of a world's settings in generated code."""
    return add_class_placeholder(settings_class(world.name))


def _shapes(members: Iterable[WorldComponent]) -> tuple[str, ...]:
    """Return the parameters for the shapes of grids."""
    grids = [f"{m.bare_name}: Sequence[SupportsIndex] | None = None" for m in members if m.is_grid]
    return ("*", *grids) if grids else ()


def _argument_enums(project: Project) -> tuple[str, ...]:
    """Return the enums of arguments of the world's and scheduled kernels, of tables and bundles."""
    world = project.world
    entries = tuple(entry for _, entries in world.schedules for entry in entries)
    kernels = [
        *world.kernels,
        *(call_.kernel for call_ in resolve_calls(entries, project.by_name, world)),
    ]
    arguments = (argument for kernel in kernels for argument in kernel.program.arguments)
    enums = {argument.type.enum for argument in arguments}
    fields = (field for table in world.records for field in table.fields)
    enums |= {field.type.enum for field in fields}
    for bundle in world.bundles:
        for component, values in bundle.values.items():
            types = (f.type for f in project.by_name[component].fields if f.name in values)
            enums |= {type_.target for type_ in types if type_.base is BaseType.ENUM}
    return tuple(sorted(map(add_placeholder, enums - {""})))


_BLOCK_END = re.compile(r"^ .*\n\n\Z", re.MULTILINE)


class BlockRenderer:
    """Renderer of blocks: `step("methods", 4)` is the text of all active features there, indented.

    In a feature's template, `it` is its subject."""

    def __init__(self, parts: WorldContext) -> None:
        world = replace(parts.world, name=add_placeholder(parts.world.name))
        self.context: dict[str, Any] = {"parts": parts, "world": world, "step": self}
        self._templates = [
            template.make_module({**self.context, "it": subject})
            for name, subject in parts.features
            for template in [environment().get_template(f"world_features/{name}.py.j2")]
        ]

    def __call__(self, block: str, indent: int) -> str:
        blocks_text = ""
        for template in self._templates:
            if macro := getattr(template, block, None):
                text = indented(macro(), indent)
                is_apart = not indent and text[:1].strip() and _BLOCK_END.search(blocks_text)
                blocks_text += f"\n{text}" if is_apart else text  # a constant after a class
        return blocks_text


def render_world_module(parts: WorldContext) -> str:
    """Return the unformatted module of the world."""
    modules = {f"{m.name}{end}": f".{m.module}" for m in parts.members for end in DERIVED}
    modules |= dict.fromkeys(parts.enums, ".enums")
    modules[settings_name(parts.world)] = ".settings"
    if parts.world.shards is not None:
        modules = {**locate_public_names(SHARDS), **modules}
    if parts.backend == "numba":
        modules |= locate_public_names(COMPILED)
    return rendered_module("world.py.j2", BlockRenderer(parts).context, modules)
