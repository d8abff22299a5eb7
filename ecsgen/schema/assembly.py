"""All documents of a project to one checked model, in a fixed order of passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.model import Component, Enum, FusedKernels, Mark, Project, World
from ecsgen.model.columns import MANAGER_FIELDS
from ecsgen.model.schedules import fused_passes, used_reductions
from ecsgen.schema import names as naming
from ecsgen.schema.bundles import BundleBuilder
from ecsgen.schema.components import build_component, check_chunk, collect_invalid_names
from ecsgen.schema.declarations import Declaration, Declarations, NameRegistry
from ecsgen.schema.document_specs import ComponentSpec
from ecsgen.schema.enums import build_enum
from ecsgen.schema.former_names import build_history
from ecsgen.schema.kernel_typing import WorldScopes, type_component_kernels, type_world_kernels
from ecsgen.schema.record_tables import TableBuilder, check_table_names
from ecsgen.schema.requires_key import check_requirements
from ecsgen.schema.schedule_checks import check_schedules
from ecsgen.schema.settings_keys import build_settings, with_settings
from ecsgen.schema.shards_key import check_ghost_fields, check_references, check_shard_names
from ecsgen.schema.type_parser import TypeScope
from ecsgen.schema.world import build_world, find_valid_sources


def assemble(drafts: Declarations, diagnostics: Diagnostics) -> Project | None:
    """Return the project, or None after errors.

    Each pass needs the results of those before it: defaults name members of enums, kernels refer to
    fields of all components, schedules to typed kernels. Comments say which errors a pass reports.
    """
    _check_class_names(drafts, diagnostics)  # E101 to E103
    for second in drafts.worlds[1:]:
        message = f"the world is defined already: {drafts.worlds[0].value_mark('world').place}"
        second.report("E503", message, second.key_mark("world"))
    enums = _build_enums(drafts, diagnostics)  # E101 to E103, E111
    declared: dict[str, Declaration[ComponentSpec]] = {}
    for draft in drafts.components:
        declared.setdefault(draft.name, draft)
    may_have_ids = {n: draft.spec.has_ids or draft.is_incomplete() for n, draft in declared.items()}
    types = TypeScope(enums, may_have_ids)
    settings = build_settings(drafts.worlds[0], types) if drafts.worlds else ()  # E10x, E524
    if drafts.worlds:
        types = with_settings(types, drafts.worlds[0], settings)
    built = [build_component(draft, declared, types) for draft in drafts.components]  # E1xx, E4xx
    untyped = {component.name: component for component in built}
    typed = [  # E80x, E112
        type_component_kernels(c, untyped, collect_invalid_names(draft, c), types, diagnostics)
        for draft, c in zip(drafts.components, built, strict=True)
    ]
    components = {component.name: component for component in typed}
    invalid = {n: collect_invalid_names(draft, components[n]) for n, draft in declared.items()}
    complete = {name for name, draft in declared.items() if _is_complete(draft)}
    world = World()
    for world_draft in reversed(drafts.worlds):  # the first one is the project's
        bundles = BundleBuilder(world_draft, declared, components, types).bundles()  # E50x, E523
        world = build_world(world_draft, declared, types, settings, bundles)  # E403, E50x, E51x
        check_shard_names(world_draft, declared, drafts.enums)  # E102
        check_table_names(world_draft)  # E101 to E103
        sources = find_valid_sources(world_draft, declared)
        names = WorldScopes(world, sources, components, invalid, types, diagnostics)
        tables = TableBuilder(world_draft, names).tables  # E520
        world = replace(type_world_kernels(names), records=tables)  # E80x, E112
        of_world = {""} if _is_complete(world_draft) else set()
        check_schedules(world, components, complete | of_world, diagnostics)  # E514
        check_ghost_fields(world_draft, world, components)  # E517
        check_references(world_draft, declared, components)  # E526
    check_requirements(declared, drafts.worlds)  # E501, E509, E522
    history = build_history(drafts, diagnostics)  # E101, E509, E513, E514
    if not diagnostics and drafts.worlds:
        check_chunk(drafts.worlds[0], typed)  # E511
    if diagnostics:
        return None
    fused = [*fused_passes(components, world).values()]
    world = replace(world, fused=tuple(kernels for holder, kernels in fused if not holder))
    return Project(
        components=tuple(
            _attach_world(components[name], world, components, fused) for name in sorted(components)
        ),
        enums=tuple(enums[name] for name in sorted(enums)),  # type: ignore[misc]  # no errors
        world=world,
        history=history,
    )


def _is_complete(draft: Declaration[Any]) -> bool:
    """Return True if all kernels and tables could be read, so an unknown one is an error."""
    return not any(draft.is_incomplete(*path) for path in ((), ("kernels",), ("records",)))


def _attach_world(
    component: Component,
    world: World,
    components: Mapping[str, Component],
    fused: Sequence[tuple[str, FusedKernels]],
) -> Component:
    """Return a component with the facts about it that depend on the world."""
    groups = (group for group, names in world.groups if component.name in names)
    joined = (query for query in world.queries if not query.chunked)
    used = used_reductions(components.values(), world)
    names = (reduction.name for reduction in component.reductions)
    reads = [kernel.program.settings for kernel in component.kernels]
    reads += [reduction.program.settings for reduction in component.reductions]
    placed = (name for query in joined for name in (*query.all, *query.optional))
    return replace(
        component,
        grid_component=None if component.on is None else components[component.on.grid],
        group=next(groups, ""),
        is_sharded=world.shards is not None,
        ghosts=dict(world.shards.ghosts).get(component.name) if world.shards else None,
        queried=component.name in placed,
        settings=naming.settings_class(world.name) if any(reads) else "",
        world_columns=_find_world_columns(component, world, components.values()),
        values=tuple(name for name in names if f"{component.name}.{name}" in used),
        fused=tuple(kernels for holder, kernels in fused if holder == component.name),
        chunk=world.chunk if component.name in world.archetypes else 0,
    )


def _find_world_columns(
    component: Component, world: World, components: Iterable[Component]
) -> tuple[str, ...]:
    """Return the columns that kernels of the world use, and of what stands on the grid: fields, and
    columns of the manager."""
    used = {text for table in world.records for text in table.reads}
    standing = (c for c in components if c.on is not None and c.on.grid == component.name)
    kernels = chain(world.kernels, *(other.kernels for other in standing))
    for program in (kernel.program for kernel in kernels):
        columns = (program.identity, program.stream_field)
        used.update(program.effects.fields, (c.text for c in columns if c is not None))
        used.update(near.position.text for near in program.neighbourhoods)
    names = (*MANAGER_FIELDS, *(field.name for field in component.fields))
    return tuple(name for name in names if f"{component.name}.{name}" in used)


def _build_enums(drafts: Declarations, diagnostics: Diagnostics) -> dict[str, Enum | None]:
    """Return enums by name; None for one with an error, whose members are then not missed."""
    enums: dict[str, Enum | None] = dict.fromkeys(drafts.rejected)
    for draft in drafts.enums:
        before = len(diagnostics)
        enum = build_enum(draft)
        is_valid = len(diagnostics) == before and not draft.is_incomplete("values")
        enums.setdefault(draft.name, enum if is_valid else None)
    return enums


def _check_class_names(drafts: Declarations, diagnostics: Diagnostics) -> None:
    """Report names of classes and modules that the package would have twice."""
    claims = NameRegistry(diagnostics)
    derived: list[tuple[str, Mark, Iterable[str]]] = []  # for what, where it stands, the classes
    for component in drafts.components:
        name, mark = component.name, component.value_mark("component")
        if not naming.check_class(name, "a component", mark, diagnostics):
            continue
        naming.check_module(name, mark, diagnostics, naming.MODULE_NAMES)
        if claims.register(name, "a component", mark):
            classes = [name + suffix for suffix in naming.DERIVED_CLASSES]
            derived.append((f"the component {quote(name)}", mark, classes))
    for enum in drafts.enums:
        mark = enum.value_mark("enum")
        if naming.check_class(enum.name, "an enum", mark, diagnostics):
            claims.register(enum.name, "an enum", mark)
    for world in drafts.worlds[:1]:
        name, mark, key_mark = world.name, world.value_mark("world"), world.key_mark
        if name == "World" or naming.check_class(name, "a world", mark, diagnostics):
            claims.register(name, "the world", mark)
        if world.spec.settings:
            derived.append(("the settings", key_mark("settings"), [naming.settings_class(name)]))
        for name in world.spec.queries:
            classes = [*naming.query_classes(name)]
            derived.append((f"the query {quote(name)}", key_mark("queries", name), classes))
        for name in world.spec.groups:
            classes = [naming.group_class(name)]
            derived.append((f"the group {quote(name)}", key_mark("groups", name), classes))
    for what, mark, names in derived:
        for name in names:
            maker = f"a class made for {what}"
            for holder, taken in naming.CLASS_NAMES.items():
                if name in taken and name != naming.settings_class("World"):  # packages have it so
                    message = f"{quote(name)} cannot be the name of {maker}: {holder} {quote(name)}"
                    diagnostics.add("E102", message, mark)
            claims.register(name, maker, mark)
