"""The schemas as JSON, for the reference interpreter: kernels, reductions and tables as written,
and of everything else what they depend on.

Keys with their default are left out, and so are fields that kernels do not see.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ecsgen import model
from ecsgen.model.snapshot_schema import POLICIES, Document, json_default

_DEFAULTS: Final = {field.name: field.default for field in dataclasses.fields(model.Component)}


def make_reference_schema(project: model.Project) -> Document:
    """Return the schemas of a project as JSON."""
    components = {component.name: _component(component) for component in project.components}
    return _document(components, _world(project), project.enums)


def component_schema(project: model.Project, component: model.Component) -> Document:
    """Return the part of the schemas on which the kernels of a component depend."""
    ground = component.grid_component
    grids = {} if ground is None else {ground.name: _without_kernels(_component(ground))}
    document = _component(component)
    settings = _settings_read(_world(project), document)
    components = _without_unread({**grids, component.name: document}, settings)
    return _document(components, settings, project.enums)


def world_schema(project: model.Project) -> Document:
    """Return the part of the schemas on which the world's kernels, tables and schedules depend."""
    everything, by_name = _world(project), project.by_name
    keys = ("name", "kernels", "schedules", "records")
    world: Document = {key: everything[key] for key in keys if key in everything}
    needed, seen = dict[str, Document](), set[str]()
    while todo := _words([world, needed]) - seen:
        seen |= todo
        for name in sorted(todo):
            for kind in ("bundles", "groups", "queries"):
                if name in everything.get(kind, {}):
                    world.setdefault(kind, {})[name] = everything[kind][name]
            if name in by_name:
                component = _component(by_name[name])
                needed[name] = {
                    **_without_kernels(component),
                    **_kernels_called(name, component, world),
                    **_reductions_read(name, component, world),
                }
    world |= _settings_read(everything, world, needed)
    return _document(_without_unread(needed, world), world, project.enums)


def _document(
    components: Mapping[str, Document], world: Document, enums: Iterable[model.Enum]
) -> Document:
    """Return components and a world with the enums that they name."""
    words = _words([components, world])
    return _without_empty(
        enums={enum.name: dict(enum.values) for enum in enums if enum.name in words},
        components={name: components[name] for name in sorted(components)},
        world=world,
    )


def _without_unread(components: Mapping[str, Document], world: Document) -> dict[str, Document]:
    """Return components without the derived values that nothing reads."""
    bare = {name: {**document, "derived": {}} for name, document in components.items()}
    derived = [part for each in components.values() for part in each.get("derived", {}).items()]
    words, n_words = _words([bare, world]), 0
    while n_words < len(words):
        n_words = len(words)
        words |= _words([expression for name, expression in derived if name in words])
    for name, document in components.items():
        values = document.get("derived", {})
        bare[name]["derived"] = {value: values[value] for value in values if value in words}
    return {name: _without_empty(**document) for name, document in bare.items()}


def _without_kernels(component: Document) -> Document:
    return {key: p for key, p in component.items() if key not in ("kernels", "reductions")}


def _reductions_read(name: str, component: Document, world: Document) -> Document:
    """Return the reductions of a component whose values a world's kernels and tables, or its other
    reductions, may read."""
    reductions, conditions = component.get("reductions", {}), _words_of_schedules(world)
    text = json.dumps([world, reductions])
    read = {
        key: each
        for key, each in reductions.items()
        if f"{name}.{key}()" in text or f"{name}.{key}" in conditions
    }
    return _without_empty(reductions=read)


def _kernels_called(name: str, component: Document, world: Document) -> Document:
    """Return the kernels of a component that a world's schedules call."""
    kernels, called = component.get("kernels", {}), _words_of_schedules(world)
    return _without_empty(kernels={k: e for k, e in kernels.items() if f"{name}.{k}" in called})


def _words_of_schedules(world: Document) -> set[str]:
    """Return what schedules name: kernels, tables and conditions."""
    return set(re.findall(r"[\w.]+", json.dumps(world.get("schedules", {}))))


def _settings_read(world: Document, *readers: Document) -> Document:
    """Return the settings that kernels, reductions and tables may read."""
    words = _words(readers)
    read = {name: each for name, each in world.get("settings", {}).items() if name in words}
    return _without_empty(settings=read)


def _words(document: object) -> set[str]:
    """Return all words of a document."""
    return set(re.findall(r"\w+", json.dumps(document)))


def _without_empty(**items: Any) -> Document:
    return {key: item for key, item in items.items() if item not in (None, False, "", {}, [])}


def _component(component: model.Component) -> Document:
    space, grid, on = component.space, component.grid, component.on
    network = component.network
    policies = {
        key: getattr(component, key)
        for key in POLICIES
        if getattr(component, key) != _DEFAULTS[key]
    }
    fields = [field for field in component.fields if field.type.is_computed]
    return {
        "module": component.module,
        **policies,
        **_without_empty(
            fields={field.name: _field(field) for field in fields},
            derived={value.name: value.expression for value in component.derived},
            space=space and {"field": space.field, "wrap": list(space.wrap)},
            grid=grid and {"shape": list(grid.shape), "wrap": list(grid.wrap), "hood": grid.hood},
            on=on and _without_empty(field=on.field, grid=on.grid, capacity=on.capacity),
            network=network
            and (
                {"between": [*network.ends]}
                if network.is_mutual
                else {"from": network.first, "to": network.second}
            ),
            requires=list(component.requires),
            unique={f.name: f.type.text for f in component.fields if "unique" in dict(f.options)},
            on_delete=component.on_delete,
            archetypes=bool(component.chunk),
            kernels=_kernels(component.kernels),
            reductions=_reductions(component.reductions),
        ),
    }


def _field(field: model.Field) -> Document | str:
    if "default" in field.marks or field.type.base is model.BaseType.ENUM:
        return {"type": field.type.text, "default": json_default(field.default)}
    return field.type.text


def _setting(setting: model.Setting) -> Document | str:
    form, bounds = _field(setting), {"min": setting.low, "max": setting.high}
    bounds = {key: json_default(bound) for key, bound in bounds.items() if bound is not None}
    if not bounds:
        return form
    return {**({"type": form} if isinstance(form, str) else form), **bounds}


def _world(project: model.Project) -> Document:
    world, by_name = project.world, project.by_name
    return _without_empty(
        name=world.name,
        settings={s.name: _setting(s) for s in world.settings if s.type.is_computed},
        bundles={bundle.name: _bundle(bundle, by_name) for bundle in world.bundles},
        groups={name: list(members) for name, members in world.groups},
        queries={query.name: _query(query) for query in world.queries},
        kernels=_kernels(world.kernels),
        schedules={name: [_entry(entry) for entry in entries] for name, entries in world.schedules},
        records={table.name: _table(table) for table in world.records},
    )


def _bundle(bundle: model.Bundle, components: Mapping[str, model.Component]) -> Document:
    seen = {
        name: {field.name for field in component.fields if field.type.is_computed}
        for name, component in components.items()
    }
    return {
        member: {n: json_default(v) for n, v in values.items() if n in seen[member]}
        for member, values in bundle.members.items()
    }


def _entry(entry: model.ScheduleEntry) -> Document:
    count = {"at_most" if entry.condition else "times": entry.times} if entry.is_repeated else {}
    run = list(entry.run) if entry.run[1:] else "".join(entry.run)
    return _without_empty(
        run=run,
        set=entry.set,
        to=entry.to,
        every=entry.every,
        **{"from": entry.start, "while": entry.condition, **count},
    )


def _query(query: model.Query) -> Document:
    return _without_empty(
        all=list(query.all), any=list(query.any), none=list(query.none), archetypes=query.chunked
    )


def _kernels(kernels: Iterable[model.Kernel]) -> Document:
    return {kernel.name: _kernel(kernel) for kernel in kernels}


def _kernel(kernel: model.Kernel) -> Document:
    args = {
        name: {"type": text, "each": True} if name in kernel.each else text
        for name, text, _ in kernel.args
    }
    return _without_empty(
        over=kernel.over,
        args=args,
        where=kernel.where,
        rows=kernel.rows,
        key=kernel.key,
        turns=_turns(kernel),
        at_most=kernel.at_most,
        near={near.name: _near(near) for near in kernel.near},
        steps=list(kernel.steps),
    )


def _turns(kernel: model.Kernel) -> str | Document:
    """Return the order of turns as schemas have it."""
    keys = {"by": "by", "drawn": "random"}
    return {keys[kernel.turns]: kernel.turns_of} if kernel.turns in keys else kernel.turns


def _near(near: model.NearClause) -> Document:
    others = _without_empty(
        among=near.among, hood=near.hood, center=near.center, via=near.via, back=near.back
    )
    return others if near.radius is None else {"radius": near.radius, **others}


def _reductions(reductions: Iterable[model.Reduction]) -> Document:
    return {
        reduction.name: _without_empty(
            function=reduction.function,
            of=reduction.expression,
            where=reduction.where,
            rows=reduction.rows,
            over=reduction.over,
        )
        for reduction in reductions
    }


def _table(table: model.Table) -> Document:
    if not table.rows:
        return {"columns": _reductions(table.columns)}
    fields = [f"{field.owner}.{field.name}" for field in table.fields]
    return _without_empty(rows=table.rows, fields=fields, where=table.where)
