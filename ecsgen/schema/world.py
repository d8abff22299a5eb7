"""The world document: queries, groups, world kernels, archetypes, entity handles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.model import SETTINGS, Bundle, Kernel, Mark, Query, ScheduleEntry, Setting, World
from ecsgen.policies import field_words
from ecsgen.schema import names as naming
from ecsgen.schema.declarations import Components, Declaration, NameRegistry
from ecsgen.schema.document_specs import ComponentSpec, EntrySpec, WorldSpec
from ecsgen.schema.grid_keys import check_grids
from ecsgen.schema.kernel_declarations import build_kernel
from ecsgen.schema.policy_keys import format_key, is_set, resolve_components
from ecsgen.schema.shards_key import GENERATION_BITS, build_shards
from ecsgen.schema.type_parser import TypeScope

_NAMED: Final = {
    "queries": "a query",
    "groups": "a group",
    "kernels": "a kernel",
    "schedule": "a schedule",
}
"""Keys whose names become attributes of the world."""
_BITS: Final = ("index_bits", "generation_bits", "shard_bits")
_CLAUSES: Final = ("all", "any", "none", "optional")
_COLUMNS: Final = ("all", "optional")
"""The clauses whose components are attributes of the query."""
# Key → the value that keeps a component out; empty: any value but the default.
_GROUP_FORBIDS: Final = {"instances": "many", "lookup": "direct", "partition": ""}
_OF_ALL: Final = {
    *("component", "doc", "renamed_from", "removed", "fields_", "derived", "owner", "grid"),
    *("on", "requires"),
}
_ARCHETYPE_FORBIDS: Final = dict.fromkeys(ComponentSpec.model_fields.keys() - _OF_ALL, "")


def build_world(
    draft: Declaration[WorldSpec],
    components: Components,
    types: TypeScope,
    settings: tuple[Setting, ...],
    bundles: tuple[Bundle, ...],
) -> World:
    """Return the world; reports E403 and E50x."""
    builder = _Builder(draft, components)
    builder.check_handles()
    builder.claim_names()
    spec = draft.spec
    builder.check_groups()
    builder.check_archetypes()
    check_grids(draft, components)
    prefix = "set_"
    while any(name.startswith(prefix) for name in spec.kernels):
        prefix += "_"
    return World(
        name=draft.name,
        doc=spec.doc,
        index_bits=spec.entity.index_bits,
        generation_bits=builder.generation_bits(),
        min_free=spec.entity.min_free,
        settings=settings,
        bundles=bundles,
        queries=builder.queries(),
        groups=tuple((name, tuple(members)) for name, members in spec.groups.items()),
        kernels=builder.kernels(types),
        schedules=tuple(
            (name, tuple(_entry(form, f"{prefix}{name}_{k}") for k, form in enumerate(entries)))
            for name, entries in spec.schedule.items()
        ),
        chunk=spec.archetypes.chunk if spec.archetypes else World().chunk,
        archetypes=tuple(spec.chunked),
        shards=build_shards(draft, components),
        source=draft.source,
        marks=builder.marks(),
    )


def _entry(form: str | EntrySpec, method: str) -> ScheduleEntry:
    """Return an entry; `method`: the name of what assigns a setting there."""
    if isinstance(form, str):
        return ScheduleEntry((form,))
    assignment, to = None, form.to
    if not isinstance(to, str):  # as kernels write it
        to = str(to).lower().removesuffix(".0")
    if form.set:
        steps = (f"{form.set} = {to}",)
        assignment = Kernel(method, steps, doc=f"Set {steps[0]}.", over=SETTINGS, turns="rows")
    names = (form.run,) if isinstance(form.run, str) else tuple(form.run)
    times = form.at_most if form.while_ else form.times
    is_at_ticks = form.every is not None or form.from_
    is_plain = not is_at_ticks and (times is not None or names[1:] or form.set)
    every = None if is_plain else 1 if form.every is None else form.every
    count = 1 if times is None else times
    again = (every, form.from_, count, form.while_)
    return ScheduleEntry(names, *again, form.set, to, assignment)


def find_valid_sources(draft: Declaration[WorldSpec], components: Components) -> frozenset[str]:
    """Return the groups, queries and components without an error: kernels over them are checked."""
    spec = draft.spec
    members = {("groups", name): names for name, names in spec.groups.items()}
    for name, query in spec.queries.items():
        members["queries", name] = [c for clause in _CLAUSES for c in getattr(query, clause)]
    read = [
        path[1]
        for path, names in members.items()
        if not draft.is_incomplete(*path) and all(name in components for name in names)
    ]
    return frozenset((*read, *(components.keys() - {*spec.chunked})))


_Member: TypeAlias = tuple[Declaration[ComponentSpec], Mark]
"""A component, and the mark where it is named."""


class _Builder:
    def __init__(self, draft: Declaration[WorldSpec], components: Components) -> None:
        self._draft = draft
        self._components = components
        self._resolve = partial(resolve_components, draft, components)
        self._chunked = {
            name: draft.value_mark("archetypes", "components", k)
            for k, name in enumerate(draft.spec.chunked)
        }

    def marks(self) -> dict[str, Mark]:
        """Return the marks of top-level keys, and of parts as "groups.bodies"."""
        schedules = self._draft.node.at("schedule")
        marks = {} if schedules is None else dict(schedules.marks("schedule"))
        marks |= self._draft.marks("world")
        for key in ("settings", "bundles", "queries", "groups", "kernels", "schedule", "records"):
            for name in getattr(self._draft.spec, key):
                marks[f"{key}.{name}"] = self._draft.key_mark(key, name)
        bits = [key for key in _BITS if self._written(key)]
        return marks | {f"entity.{key}": self._draft.key_mark("entity", key) for key in bits}

    def generation_bits(self) -> int:
        """Return the bits as written, or the default, which is another one with shards."""
        if self._draft.spec.shards is None or self._written("generation_bits"):
            return self._draft.spec.entity.generation_bits
        return GENERATION_BITS

    def check_handles(self) -> None:
        entity = self._draft.spec.entity
        written = [key for key in _BITS if self._written(key)]
        sharded = self._draft.spec.shards is not None
        bits = entity.index_bits + self.generation_bits() + entity.shard_bits * sharded
        if self._written("shard_bits") and not sharded:
            message = "'shard_bits' without 'shards': there is only one shard"
            self._draft.report("E403", message, self._draft.key_mark("entity", "shard_bits"))
        if bits > 64:
            mark = self._draft.key_mark("entity", written[-1])
            parts = "index, generation and shard" if sharded else "index and generation"
            message = f"{parts} have {bits} bits together; a handle has 64"
            if sharded:
                message += f" ('shards' at {self._draft.key_mark('shards').place})"
            self._draft.report("E403", message, mark)
        if self._written("index_bits") and entity.min_free >= 2**entity.index_bits:
            key = "min_free" if self._written("min_free") else "index_bits"
            message = f"{entity.min_free} free indices out of {2**entity.index_bits} are never "
            message += "exceeded, so no index is used again"
            self._draft.report("H103", message, self._draft.key_mark("entity", key))

    def _written(self, key: str) -> bool:
        return key in self._draft.spec.entity.model_fields_set

    def claim_names(self) -> None:
        """Claim the names of attributes of the world, and of members of its signature."""
        draft, diagnostics = self._draft, self._draft.diagnostics
        spawning = frozenset(f"spawn_{name}" for name in draft.spec.bundles)
        attributes, signature = NameRegistry(diagnostics), NameRegistry(diagnostics)
        for name, component in self._components.items():
            what, mark = f"the component {quote(name)}", component.value_mark("component")
            naming.check_module(name, mark, diagnostics, {"worlds have": spawning})
            attributes.register(naming.module_name(name), what, mark)
            signature.register(naming.module_name(name), what, mark)
        taken = {**naming.WORLD_NAMES, "worlds have": naming.WORLD_NAMES["worlds have"] | spawning}
        for key, what in _NAMED.items():
            for name in getattr(draft.spec, key):
                mark = draft.key_mark(key, name)
                if naming.check_member(name, what, mark, diagnostics, taken=taken, lower=True):
                    attributes.register(name, what, mark)
        for name in draft.spec.bundles:
            mark = draft.key_mark("bundles", name)
            if naming.check_identifier(name, "a bundle", mark, diagnostics, lower=True):
                signature.register(name, "a bundle", mark)

    def queries(self) -> tuple[Query, ...]:
        queries = []
        for name, spec in self._draft.spec.queries.items():
            if not spec.all and not spec.any and not self._draft.is_incomplete("queries", name):
                message = f"the query {quote(name)} has no component in 'all' or 'any'"
                self._draft.report("E510", message, self._draft.key_mark("queries", name))
            members = self._query_members(name)
            self._check_mixed(name, members)
            path = ("queries", name)
            marks = {**self._draft.key_marks(*path), "": self._draft.key_mark(*path)}
            clauses = {clause: tuple(getattr(spec, clause)) for clause in _CLAUSES}
            chunked = any(member.name in self._chunked for member, _ in members)
            queries.append(Query(name=name, **clauses, chunked=chunked, marks=marks))
        return tuple(queries)

    def _query_members(self, name: str) -> list[_Member]:
        spec, diagnostics = self._draft.spec.queries[name], self._draft.diagnostics
        members: dict[str, tuple[str, Declaration[ComponentSpec], Mark]] = {}
        for clause in _CLAUSES:
            path = ("queries", name, clause)
            names, where = getattr(spec, clause), f"query {quote(name)}"
            for member, mark in self._resolve(names, where, path):
                first, *_ = members.setdefault(member.name, (clause, member, mark))
                if first != clause:
                    message = f"{quote(member.name)} is in {clause!r} and in {first!r}"
                    self._draft.report("E509", message, mark)
                if clause in _COLUMNS:
                    naming.check_module(member.name, mark, diagnostics, naming.QUERY_NAMES)
        return [(c, mark) for _, c, mark in members.values() if c.spec.owner == "entity"]

    def _check_mixed(self, query: str, members: Sequence[_Member]) -> None:
        """Report E512 at the first component that is not stored like the first of the query."""
        chunked = [each for each in members if each[0].name in self._chunked]
        managed = [each for each in members if each[0].name not in self._chunked]
        if not chunked or not managed:
            return
        (first, mark), (second, other_mark) = chunked[0], managed[0]
        chunk, manager = self._chunked[first.name].place, second.value_mark("component").place
        message = f"the query {quote(query)} mixes {quote(first.name)}, which lives in archetypes "
        message += f"({chunk}), with {quote(second.name)}, which has a manager ({manager})"
        later = max(mark, other_mark, key=lambda mark: mark.start)
        hint = "make two queries of them, or keep all in archetypes or none"
        self._draft.report("E512", message, later, hint=hint)

    def check_groups(self) -> None:
        taken: dict[str, tuple[str, Mark]] = {}
        for group, names in self._draft.spec.groups.items():
            path, where = ("groups", group), f"group {quote(group)}"
            for member, mark in self._resolve(names, where, path):
                naming.check_module(member.name, mark, self._draft.diagnostics, naming.GROUP_NAMES)
                self._refuse((member, mark), _GROUP_FORBIDS, "E505", f"the {where}")
                if member.name in taken:
                    first, first_mark = taken[member.name]
                    message = f"{quote(member.name)} is in the group {quote(first)} already"
                    self._draft.report("E505", f"{message}, on line {first_mark.line}", mark)
                taken.setdefault(member.name, (group, mark))

    def check_archetypes(self) -> None:
        spec, where = self._draft.spec, "the archetypes"
        grouped = {name for names in spec.groups.values() for name in names}
        path = ("archetypes", "components")
        for member, mark in self._resolve(spec.chunked, where, path):
            self._refuse((member, mark), _ARCHETYPE_FORBIDS, "E506", where)
            naming.check_module(member.name, mark, self._draft.diagnostics, naming.CHUNK_NAMES)
            if member.name in grouped:
                message = f"{quote(member.name)} cannot be in the archetypes: it is in a group"
                self._draft.report("E506", message, mark)
            for name, field in member.spec.long_fields.items():
                for key, what in field_words(field):
                    message = f"{quote(member.name)} cannot be in {where}: {quote(name)} is {what}"
                    location = member.key_mark("fields", name, key).place
                    self._draft.report("E506", f"{message} ({location})", mark)

    def _refuse(self, named: _Member, forbidden: Mapping[str, str], code: str, where: str) -> None:
        member, mark = named
        for key, value in forbidden.items():
            if getattr(member.spec, key) == value if value else is_set(member.spec, key):
                has = f"it has {format_key(member, key)} ({member.key_mark(key).place})"
                self._draft.report(code, f"{quote(member.name)} cannot be in {where}: {has}", mark)

    def kernels(self, types: TypeScope) -> tuple[Kernel, ...]:
        spec = self._draft.spec
        kernels = []
        for name, kernel in spec.kernels.items():
            self._check_over(kernel.over, self._draft.value_mark("kernels", name, "over"))
            kernels.append(build_kernel(self._draft, name, kernel, frozenset(), types))
        return tuple(kernels)

    def _check_over(self, over: str, mark: Mark) -> None:
        """Report E508 for a source without rows."""
        spec = self._draft.spec
        if over in self._chunked:
            message = f"{quote(over)} lives in archetypes: there are no rows of it alone"
            hint = f"run over a query, as in `all: [{over}]`"
            self._draft.report("E508", message, mark, hint=hint)
            return
        sources = (*spec.groups, *spec.queries, *self._components)
        if over not in sources and not self._has_error(over):
            message = f"unknown group, query or component {quote(over)}"
            self._draft.report("E508", message, mark, hint=did_you_mean(over, sources))

    def _has_error(self, source: str) -> bool:
        """Return True if a group or query may be meant whose name or content has an error."""
        for key in ("groups", "queries"):
            names, plain = self._draft.key_marks(key), naming.module_name(source)
            if any(naming.module_name(name) == plain != name for name in names):
                return True
            if self._draft.is_incomplete(key) and not did_you_mean(source, names):
                return True
        return False
