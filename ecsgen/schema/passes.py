"""All documents of a project to one checked model: what must hold across files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.model import Component, Enum, Mark, Project, World
from ecsgen.model.columns import MANAGER_FIELDS
from ecsgen.model.schedules import fused_passes
from ecsgen.schema.components import build_component, check_chunk, collect_invalid_names
from ecsgen.schema.declarations import Declaration, Declarations, NameRegistry
from ecsgen.schema.document_specs import ComponentSpec
from ecsgen.schema.enums import build_enum
from ecsgen.schema.former_names import build_history
from ecsgen.schema.kernel_typing import WorldScopes, type_component_kernels, type_world_kernels
from ecsgen.schema.names import (
    CLASS_NAMES,
    DERIVED_CLASSES,
    MODULE_NAMES,
    check_class,
    check_module,
    group_class,
    query_classes,
)
from ecsgen.schema.record_tables import TableBuilder, check_table_names
from ecsgen.schema.schedules import check_schedules
from ecsgen.schema.shards import check_ghost_fields, check_shard_names
from ecsgen.schema.type_parser import TypeScope
from ecsgen.schema.world import build_world, find_valid_sources


def assemble(drafts: Declarations, diagnostics: Diagnostics) -> Project | None:
    """The project, or None when anything is wrong with it."""
    _check_class_names(drafts, diagnostics)
    enums = _enums(drafts, diagnostics)
    components: dict[str, Declaration[ComponentSpec]] = {}
    for component in drafts.components:
        components.setdefault(component.name, component)
    known = TypeScope(enums, {name: draft.spec.has_ids for name, draft in components.items()})
    built = [build_component(draft, components, known) for draft in drafts.components]
    read = {one.name: one for one in built}
    built = [
        type_component_kernels(one, read, collect_invalid_names(draft, one), known, diagnostics)
        for draft, one in zip(drafts.components, built, strict=True)
    ]
    for second in drafts.worlds[1:]:
        first = drafts.worlds[0].value_mark("world")
        diagnostics.add(
            "E503", f"the world is defined already: {first.place}", second.key_mark("world")
        )
    members = {one.name: one for one in built}
    faults = {
        name: collect_invalid_names(draft, members[name]) for name, draft in components.items()
    }
    whole = {name for name, draft in components.items() if _is_read(draft)}
    world = World()
    for draft in reversed(drafts.worlds):  # what follows is about the first
        world = build_world(draft, components, known)
        check_shard_names(draft, components, drafts.enums)
        check_table_names(draft)
        names = WorldScopes(
            world, find_valid_sources(draft, components), members, faults, known, diagnostics
        )
        tables = TableBuilder(draft, names).tables
        world = replace(type_world_kernels(names), records=tables)
        check_schedules(world, members, whole | ({""} if _is_read(draft) else set()), diagnostics)
        check_ghost_fields(draft, world, members)
    history = build_history(drafts, diagnostics)
    if not diagnostics and drafts.worlds:
        check_chunk(drafts.worlds[0], built)
    if diagnostics:
        return None
    fused = tuple(fused_passes(members, world).values())
    world = replace(world, fused=tuple(one for holder, one in fused if not holder))
    by_name = [
        replace(one, fused=tuple(each for holder, each in fused if holder == one.name))
        for one in sorted(built, key=lambda component: component.name)
    ]
    return Project(
        components=tuple(_in_world(component, world, members) for component in by_name),
        enums=tuple(enums[name] for name in sorted(enums)),  # type: ignore[misc]  # no errors
        world=world,
        history=history,
    )


def _is_read(draft: Declaration[Any]) -> bool:
    """Whether all kernels, and tables, could be read, so that none is missed that is in error
    already."""
    return not any(draft.is_incomplete(*path) for path in ((), ("kernels",), ("records",)))


def _in_world(component: Component, world: World, components: Mapping[str, Component]) -> Component:
    groups = (group for group, names in world.groups if component.name in names)
    joined = (query for query in world.queries if not query.chunked)
    placed = (name for query in joined for name in (*query.all, *query.optional))
    return replace(
        component,
        grid_component=None if component.on is None else components[component.on.grid],
        group=next(groups, ""),
        is_sharded=world.shards is not None,
        ghosts=dict(world.shards.ghosts).get(component.name) if world.shards else None,
        queried=component.name in placed,
        world_columns=_joined(component, world),
        chunk=world.chunk if component.name in world.archetypes else 0,
    )


def _joined(component: Component, world: World) -> tuple[str, ...]:
    """The columns that kernels of the world use: fields, and what the manager keeps."""
    programs = [kernel.program for kernel in world.kernels]
    used = {name for program in programs for name in program.effects.fields}
    used |= {program.identity.text for program in programs if program.identity is not None}
    used |= {near.position.text for program in programs for near in program.neighbourhoods}
    used |= {program.stream_field.text for program in programs if program.stream_field is not None}
    used |= {text for table in world.records for text in table.reads}
    names = (*MANAGER_FIELDS, *(field.name for field in component.fields))
    return tuple(name for name in names if f"{component.name}.{name}" in used)


def _enums(drafts: Declarations, diagnostics: Diagnostics) -> dict[str, Enum | None]:
    """Enums by name; None for one in error, so that nobody misses its members as well."""
    found: dict[str, Enum | None] = {}
    for draft in drafts.enums:
        before = len(diagnostics)
        enum = build_enum(draft)
        whole = len(diagnostics) == before and not draft.is_incomplete("values")
        found.setdefault(draft.name, enum if whole else None)
    return found


def _check_class_names(drafts: Declarations, diagnostics: Diagnostics) -> None:
    """Names of classes and modules that the package would make twice, or has itself."""
    claims = NameRegistry(diagnostics)
    derived: list[tuple[str, str, Mark]] = []
    for component in drafts.components:
        mark = component.value_mark("component")
        if not check_class(component.name, "a component", mark, diagnostics):
            continue
        check_module(component.name, mark, diagnostics, MODULE_NAMES)
        if claims.register(component.name, "a component", mark):
            maker = f"a class made for the component {quote(component.name)}"
            derived.extend((component.name + suffix, maker, mark) for suffix in DERIVED_CLASSES)
    for enum in drafts.enums:
        mark = enum.value_mark("enum")
        if check_class(enum.name, "an enum", mark, diagnostics):
            claims.register(enum.name, "an enum", mark)
    for world in drafts.worlds[:1]:
        mark = world.value_mark("world")
        if world.name == "World" or check_class(world.name, "a world", mark, diagnostics):
            claims.register(world.name, "the world", mark)
        for query in world.spec.queries:
            maker, mark = f"a class made for the query {quote(query)}", world.key_mark(
                "queries", query
            )
            derived.extend((name, maker, mark) for name in query_classes(query))
        for group in world.spec.groups:
            maker = f"a class made for the group {quote(group)}"
            derived.append((group_class(group), maker, world.key_mark("groups", group)))
    for name, maker, mark in derived:
        for holder, names in CLASS_NAMES.items():
            if name in names:
                message = f"{quote(name)} cannot be the name of {maker}: {holder} {quote(name)}"
                diagnostics.add("E102", message, mark)
        claims.register(name, maker, mark)
