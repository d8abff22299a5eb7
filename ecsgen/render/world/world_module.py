"""Makes `world.py`: its template, filled with what its schemas ask for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final, Self

from ecsgen.config import Backend
from ecsgen.model import BaseType, Component, Enum, Project, World
from ecsgen.model.schedules import resolve_calls
from ecsgen.model.snapshot_schema import make_snapshot_schema, schema_fingerprint, schema_text
from ecsgen.policies.unique import UNIQUE
from ecsgen.render.components.step_code import indented
from ecsgen.render.kernel_methods.row_sources import RowSource, make_world_source
from ecsgen.render.kernel_printers import (
    KernelTexts,
    drawing_lines,
    make_kernel_method,
    make_pass_method,
)
from ecsgen.render.text.formatting import call, collection, mapping
from ecsgen.render.text.jinja_environment import environment
from ecsgen.render.text.library_imports import (
    COMPILED,
    IMPORTS_MARKER,
    SHARDS,
    insert_imports,
    locate_public_names,
)
from ecsgen.render.text.name_shadowing import ComponentName, add_class_placeholder, add_placeholder
from ecsgen.render.text.quoting import literal
from ecsgen.render.world import world_features, world_kernel_tests
from ecsgen.render.world.query_code import bundles, flags, groups, queries
from ecsgen.render.world.schedule_code import ScheduleMethod
from ecsgen.render.world.table_code import TableCode
from ecsgen.schema.names import DERIVED_CLASSES, module_name


@dataclass(frozen=True, slots=True)
class WorldKernelContext:
    """What the world's kernels, tables and schedules are made from."""

    world: World
    components: tuple[Component, ...]
    """Those that they may see."""
    enums: tuple[Enum, ...]
    backend: Backend

    @classmethod
    def of(cls, project: Project) -> Self:
        """Return those of a project's world."""
        return cls(project.world, project.components, project.enums, project.backend)

    @property
    def _known(self) -> dict[str, Component]:
        return {component.name: component for component in self.components}

    @property
    def tables(self) -> list[TableCode]:
        """All tables, made anew."""
        world, known = self.world, self._known
        return [TableCode(table, world, known, self.backend) for table in world.records]

    @property
    def schedules(self) -> list[ScheduleMethod]:
        """All schedules, made anew."""
        world, known = self.world, self._known
        return [
            ScheduleMethod(world, name, resolve_calls(entries, known, world), known, self.enums)
            for name, entries in world.schedules
        ]

    @property
    def texts(self) -> KernelTexts:
        """All kernels and passes, made anew."""
        world, known = self.world, self._known
        methods = []
        for kernel in world.kernels:
            source = make_world_source(world, kernel.over, known)
            methods.append(make_kernel_method(kernel, source, self.backend, world))
        for fused in world.fused:
            source = make_world_source(world, fused.kernels[0].over, known)
            assert isinstance(source, RowSource)  # chunks are in no pass
            methods.append(make_pass_method(fused, source, self.backend))
        return KernelTexts.of(methods)


def shard_lines(project: Project) -> list[str]:
    """Return statements of the world's class: what stays, and which fields ghosts have."""
    world = project.world
    assert world.shards is not None
    chunked = world.archetypes
    stays = [name if name in chunked else module_name(name) for name in world.shards.stay]
    ghosts = {module_name(name): literal(fields) for name, fields in world.shards.ghosts}
    return [
        collection("_STAYS: ClassVar[tuple[str, ...]] = ", [literal(name) for name in stays], 0),
        mapping("_GHOSTS: ClassVar[Mapping[str, tuple[str, ...]]] = ", ghosts, 0),
    ]


# --- What the templates of the world's features lay out, there called `it` ------------------------
#
# Made here and not by the features: they know nothing of rendering. Plain frozen data, or None: the
# world is made again when its `repr` changes.


_BY_FEATURE: Final[dict[str, Callable[[Project], object]]] = {
    "bundles": bundles,
    "chunk_kernel_tests": world_kernel_tests.chunked_cases,
    "chunk_queries": lambda project: queries(project, chunked=True),
    "groups": groups,
    "kernel_methods": WorldKernelContext.of,
    "queries": lambda project: queries(project, chunked=False),
    "records": WorldKernelContext.of,
    "saving": lambda project: schema_fingerprint(schema_text(make_snapshot_schema(project))),
    "schedules": WorldKernelContext.of,
    "seeded": lambda project: drawing_lines(project.world.kernels, ""),
    "shards": shard_lines,
    "signature": flags,
    "world_kernel_tests": world_kernel_tests.steps_cases,
}


DERIVED = ("", *DERIVED_CLASSES)
VIEW_METHODS = ("add", "remove")
"""What views of entities have that worlds have not."""


@dataclass(frozen=True, slots=True)
class WorldComponent(ComponentName):
    """What the world must know of a component: no more, so that few changes concern it."""

    owner: str
    destroy: str
    has_manager: bool
    can_grow: bool
    has_unique: bool  # whether fields are
    is_grid: bool  # whether its rows are cells
    on: str  # the module of the grid on which its rows stand

    @classmethod
    def of(cls, component: Component, world: World) -> Self:
        """Return what the world must know of a component."""
        return cls(
            add_class_placeholder(component.name),
            component.module,
            component.owner,
            component.destroy,
            component.name not in world.archetypes,
            not component.reserve,
            UNIQUE.applies(component),
            component.grid is not None,
            "" if component.on is None else module_name(component.on.grid),
        )


@dataclass(frozen=True, slots=True)
class WorldContext:
    """All that `world.py` and its tests are made from. Pickles; its `repr` says everything."""

    world: World
    members: tuple[WorldComponent, ...]
    features: tuple[tuple[str, object], ...]  # names and subjects of the active features
    backend: str
    bases: tuple[str, ...]
    """The classes of the runtime that the world inherits from."""
    attributes: tuple[str, ...]
    """What is part of the world besides the managers."""
    parameters: tuple[str, ...]
    """Those of its `__init__`."""
    exports: tuple[str, ...]
    """What the package has of `world.py` besides the world."""
    enums: tuple[str, ...]
    """Those that arguments of methods, and columns of tables, are of."""

    @classmethod
    def of(cls, project: Project) -> Self:
        """Return the parts of a project's world."""
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
            tuple(base for feature in active if (base := feature.base(project))),
            tuple(name for feature in active for name in feature.attributes(project)),
            (*(p for feature in active for p in feature.parameters(project)), *_shapes(members)),
            tuple(name for feature in active for name in feature.exports(project)),
            _argument_enums(project),
        )

    @property
    def components(self) -> list[WorldComponent]:
        """Those whose managers give instances to entities."""
        return [m for m in self.members if m.owner == "entity" and m.has_manager]

    @property
    def unowned(self) -> list[WorldComponent]:
        """Those whose managers stand on their own."""
        return [m for m in self.members if m.owner == "none"]

    @property
    def owned(self) -> list[WorldComponent]:
        """All that entities can have; those with managers come first."""
        return [*self.components, *(m for m in self.members if not m.has_manager)]

    @property
    def viewed(self) -> list[WorldComponent]:
        """Those that are attributes of an entity's view: all but who has the name of a method."""
        return [m for m in self.owned if m.module not in VIEW_METHODS]

    @property
    def spawned(self) -> list[WorldComponent]:
        """The same in the order in which a spawn asks for room: first who can't grow, for if one
        is full, no other must have grown."""
        growing = sorted(self.components, key=attrgetter("can_grow"))
        return [*growing, *self.owned[len(growing) :]]

    @property
    def collecting(self) -> list[str]:
        """The expressions for the managers that collect."""
        return [f"self.{m.module}" for m in self.components if m.destroy == "gc"]

    @property
    def fixed(self) -> list[str]:
        """What users cannot assign to."""
        managers = [member.module for member in (*self.components, *self.unowned)]
        return ["entities", *managers, *self.attributes]

    @property
    def names_lines(self) -> str:
        """The statements that name what the world has, by kind, where there is any of it."""
        world = self.world
        kinds = {
            "MANAGERS": [member.module for member in (*self.components, *self.unowned)],
            "QUERIES": [query.name for query in world.queries],
            "GROUPS": [name for name, _ in world.groups],
            "BUNDLES": [f"spawn_{name}" for name, _ in world.bundles],
        }
        return "\n".join(
            collection(f"_{kind}: ClassVar = ", [literal(name) for name in names], 4)
            for kind, names in kinds.items()
            if names
        )

    @property
    def kinds_lines(self) -> str:
        """The statement that names the class of each manager, in the order of a spawn."""
        members = [*(m for m in self.spawned if m.has_manager), *self.unowned]
        return mapping(
            "_MANAGER_CLASSES: ClassVar = ", {m.module: f"{m.name}Manager" for m in members}, 4
        )

    @property
    def made_lines(self) -> list[str]:
        """The statements that make the managers: those of grids first, which others take."""
        managers = [*self.components, *self.unowned]
        return [self._made(m) for m in sorted(managers, key=lambda m: not m.is_grid)]

    def _made(self, member: WorldComponent) -> str:
        given = ["self.entities"] if member.owner == "entity" else []
        given += [member.bare_name] if member.is_grid else []
        given += [f"self.{member.on}"] if member.on else []
        return call(f"self.{member.module} = self._manager_class({member.name}Manager)", given, 8)


def _shapes(members: Iterable[WorldComponent]) -> tuple[str, ...]:
    """Return the parameters that say how many cells grids have."""
    grids = [f"{m.bare_name}: Sequence[SupportsIndex] | None = None" for m in members if m.is_grid]
    return ("*", *grids) if grids else ()


def _argument_enums(project: Project) -> tuple[str, ...]:
    """Return the enums in arguments of the world's kernels, and of those that schedules call; and
    of columns of tables."""
    world = project.world
    entries = tuple(entry for _, entries in world.schedules for entry in entries)
    kernels = [
        *world.kernels,
        *(one.kernel for one in resolve_calls(entries, project.by_name, world)),
    ]
    given = (argument for kernel in kernels for argument in kernel.program.arguments)
    found = {argument.type.enum for argument in given}
    fields = (field for table in world.records for field in table.fields)
    found |= {field.type.target for field in fields if field.type.base is BaseType.ENUM}
    return tuple(sorted(map(add_placeholder, found - {""})))


_BLOCK_END = re.compile(r"^ .*\n\n\Z", re.MULTILINE)


class BlockRenderer:
    """`step("methods", 4)` is the text of a block of all active features, one after another, or
    nothing. In a feature's template, `it` is its subject."""

    def __init__(self, parts: WorldContext, **variables: object) -> None:
        world = replace(parts.world, name=add_placeholder(parts.world.name))
        self.context: dict[str, Any] = {"parts": parts, "world": world, "step": self}
        self.context |= {"imports_marker": IMPORTS_MARKER, **variables}
        self._templates = [
            template.make_module({**self.context, "it": subject})
            for name, subject in parts.features
            for template in [environment().get_template(f"world_features/{name}.py.j2")]
        ]

    def __call__(self, block: str, indent: int) -> str:
        found = ""
        for template in self._templates:
            if macro := getattr(template, block, None):
                text = indented(macro(), indent)
                is_apart = not indent and text[:1].strip() and _BLOCK_END.search(found)
                found += f"\n{text}" if is_apart else text  # a constant behind a class
        return found


def render_world_module(parts: WorldContext) -> str:
    """Return the unformatted world: all entities, and the manager of every component."""
    text = environment().get_template("world.py.j2").render(BlockRenderer(parts).context)
    own = {f"{m.name}{end}": f".{m.module}" for m in parts.members for end in DERIVED}
    own |= dict.fromkeys(parts.enums, ".enums")
    if parts.world.shards is not None:
        own = {**locate_public_names(SHARDS), **own}
    if parts.backend == "numba":
        own |= locate_public_names(COMPILED)
    return insert_imports(text, own)
