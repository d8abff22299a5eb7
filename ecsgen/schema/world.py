"""The world document: bundles, queries, groups, world kernels, archetypes, entity handles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.model import Kernel, Mark, Query, World
from ecsgen.schema.drafts import Claims, Draft
from ecsgen.schema.kernels import build_kernel
from ecsgen.schema.language import ComponentSpec, WorldSpec
from ecsgen.schema.names import (
    FIELD_GROUPS,
    WORLD_NAMES,
    WORLD_PREFIXES,
    check_identifier,
    check_member,
    module_name,
)
from ecsgen.schema.policies import other, shown
from ecsgen.schema.types import Known

Components = Mapping[str, Draft[ComponentSpec] | None]  # None: one that is itself in error

_WORLD_RESERVED: Final = WORLD_NAMES | FIELD_GROUPS["builtins that generated code uses"]
_CLAUSES: Final = ("all", "any", "none", "optional")
_GROUP_FORBIDS: Final = (
    ("owner", "none"),
    ("instances", "many"),
    ("lookup", "direct"),
    ("partition", None),
)
_ARCHETYPE_FORBIDS: Final = (
    "owner",
    "instances",
    "lookup",
    "destroy",
    "release",
    "ids",
    "partition",
    "hierarchy",
    "cold",
    "growth",
    "capacity",
    "kernels",
    "reductions",
)


def build_world(
    draft: Draft[WorldSpec], components: Components, known: Known, diagnostics: Diagnostics
) -> World:
    """The world; reports E403 and E50x."""
    builder = _Builder(draft, components, diagnostics)
    builder.check_handles()
    builder.claim_names()
    spec = draft.spec
    builder.check_groups()
    builder.check_archetypes()
    builder.check_bundles()
    return World(
        name=draft.name,
        doc=spec.doc,
        index_bits=spec.entity.index_bits,
        generation_bits=spec.entity.generation_bits,
        min_free=spec.entity.min_free,
        bundles=tuple((name, tuple(members)) for name, members in spec.bundles.items()),
        queries=builder.queries(),
        groups=tuple((name, tuple(members)) for name, members in spec.groups.items()),
        kernels=builder.kernels(known),
        chunk=spec.archetypes.chunk if spec.archetypes else World().chunk,
        archetypes=tuple(spec.archetypes.components) if spec.archetypes else (),
        source=draft.source,
        marks=builder.marks(),
    )


class _Builder:
    def __init__(
        self, draft: Draft[WorldSpec], components: Components, diagnostics: Diagnostics
    ) -> None:
        self._draft = draft
        self._components = components
        self._diagnostics = diagnostics

    def marks(self) -> dict[str, Mark]:
        """Of the top-level keys, and of each entry as in "groups.bodies"."""
        marks = dict(self._draft.marks("world"))
        for key in ("bundles", "queries", "groups", "kernels"):
            for name in getattr(self._draft.spec, key):
                marks[f"{key}.{name}"] = self._draft.key(key, name)
        return marks

    def check_handles(self) -> None:
        entity = self._draft.spec.entity
        written = [key for key in ("index_bits", "generation_bits") if self._written(key)]
        if entity.index_bits + entity.generation_bits > 64:
            mark = self._draft.key("entity", written[-1])
            bits = entity.index_bits + entity.generation_bits
            message = f"index and generation have {bits} bits together; a handle has 64"
            self._diagnostics.add("E403", message, mark)
        if self._written("index_bits") and entity.min_free >= 2**entity.index_bits:
            key = "min_free" if self._written("min_free") else "index_bits"
            message = (
                f"{entity.min_free} free indices out of {2**entity.index_bits} are never "
                "exceeded, so no index is used again"
            )
            self._diagnostics.add("H103", message, self._draft.key("entity", key))

    def _written(self, key: str) -> bool:
        return key in self._draft.spec.entity.model_fields_set

    def claim_names(self) -> None:
        """Attributes of the world, and members of its signature."""
        attributes, signature = Claims(self._diagnostics), Claims(self._diagnostics)
        for name, component in self._components.items():
            if component is not None:
                what, mark = f"the component {quote(name)}", component.value("component")
                attributes.claim(module_name(name), what, mark)
                signature.claim(module_name(name), what, mark)
        for key, what in (("queries", "a query"), ("groups", "a group"), ("kernels", "a kernel")):
            for name in getattr(self._draft.spec, key):
                mark = self._draft.key(key, name)
                if check_member(
                    name,
                    what,
                    mark,
                    self._diagnostics,
                    reserved=_WORLD_RESERVED,
                    prefixes=WORLD_PREFIXES,
                    lower=True,
                ):
                    attributes.claim(name, what, mark)
        for name in self._draft.spec.bundles:
            mark = self._draft.key("bundles", name)
            if check_identifier(name, "a bundle", mark, self._diagnostics, lower=True):
                signature.claim(name, "a bundle", mark)

    def _members(self, names: Sequence[str], where: str, *path: str) -> list[str]:
        """The names in a list that are components of entities, each once."""
        found: list[str] = []
        for index, name in enumerate(names):
            mark = self._draft.value(*path, index)
            if name not in self._components:
                message = f"unknown component {quote(name)} in {where}"
                hint = did_you_mean(name, self._components)
                self._diagnostics.add("E501", message, mark, hint=hint)
            elif name in found:
                message = f"{quote(name)} stands twice in {where}"
                self._diagnostics.add("E509", message, mark)
            else:
                found.append(name)
                component = self._components[name]
                if component is not None and component.spec.owner == "none":
                    message = (
                        f"{quote(name)} cannot be in {where}: it has 'owner: none' "
                        f"({self._place(component.key('owner'))})"
                    )
                    self._diagnostics.add("E507", message, mark)
        return found

    def _place(self, mark: Mark) -> str:
        return f"{mark.path}:{mark.line}"

    def queries(self) -> tuple[Query, ...]:
        queries = []
        for name, spec in self._draft.spec.queries.items():
            node = self._draft.node.at("queries", name)
            if not spec.all and not spec.any and node is not None and node.complete:
                message = f"the query {quote(name)} has no component in 'all' or 'any'"
                self._diagnostics.add("E510", message, self._draft.key("queries", name))
            self._check_query(name)
            marks = {**(node.keys if node else {}), "": self._draft.key("queries", name)}
            clauses = {clause: tuple(getattr(spec, clause)) for clause in _CLAUSES}
            queries.append(Query(name=name, **clauses, marks=marks))
        return tuple(queries)

    def _check_query(self, name: str) -> None:
        spec = self._draft.spec.queries[name]
        archetypes = self._draft.spec.archetypes
        seen: dict[str, str] = {}
        for clause in _CLAUSES:
            names: list[str] = getattr(spec, clause)
            members = self._members(names, f"query {quote(name)}", "queries", name, clause)
            for member in members:
                mark = self._draft.value("queries", name, clause, names.index(member))
                if member in seen:
                    message = f"{quote(member)} is in {clause!r} and in {seen[member]!r}"
                    self._diagnostics.add("E509", message, mark)
                elif archetypes is not None and member in archetypes.components:
                    message = f"{quote(member)} lives in archetypes, which queries do not reach"
                    self._diagnostics.add("E507", message, mark)
                seen.setdefault(member, clause)

    def check_groups(self) -> None:
        taken: dict[str, tuple[str, Mark]] = {}
        for group, names in self._draft.spec.groups.items():
            for index, name in enumerate(names):
                if name in names[:index]:
                    continue
                mark = self._draft.value("groups", group, index)
                if name in taken:
                    other_group, place = taken[name]
                    message = (
                        f"{quote(name)} is in the group {quote(other_group)} already, "
                        f"on line {place.line}"
                    )
                    self._diagnostics.add("E505", message, mark)
                taken.setdefault(name, (group, mark))
                self._check_group_member(name, group, mark)
            self._members(names, f"group {quote(group)}", "groups", group)

    def _check_group_member(self, name: str, group: str, mark: Mark) -> None:
        component = self._components.get(name)
        if component is None:
            return
        for key, value in _GROUP_FORBIDS:
            given = getattr(component.spec, key)
            if key != "owner" and (given == value if value else other(component.spec, key)):
                message = (
                    f"{quote(name)} cannot be in the group {quote(group)}: it has "
                    f"{shown(component, key)} ({self._place(component.key(key))})"
                )
                self._diagnostics.add("E505", message, mark)

    def check_archetypes(self) -> None:
        archetypes = self._draft.spec.archetypes
        if archetypes is None:
            return
        path = ("archetypes", "components")
        grouped = {name for names in self._draft.spec.groups.values() for name in names}
        for name in self._members(archetypes.components, "the archetypes", *path):
            component = self._components[name]
            mark = self._draft.value(*path, archetypes.components.index(name))
            if name in grouped:
                message = f"{quote(name)} cannot be in the archetypes: it is in a group"
                self._diagnostics.add("E506", message, mark)
            for key in _ARCHETYPE_FORBIDS:
                if component is not None and key != "owner" and other(component.spec, key):
                    message = (
                        f"{quote(name)} cannot be in the archetypes: it has "
                        f"{shown(component, key)} ({self._place(component.key(key))})"
                    )
                    self._diagnostics.add("E506", message, mark)

    def check_bundles(self) -> None:
        bundles = self._draft.spec.bundles
        for bundle, names in bundles.items():
            where = f"bundle {quote(bundle)}"
            known = {**dict.fromkeys(bundles), **self._components}
            for index, name in enumerate(names):
                mark = self._draft.value("bundles", bundle, index)
                if name in names[:index]:
                    message = f"{quote(name)} stands twice in {where}"
                    self._diagnostics.add("E509", message, mark)
                elif name not in known:
                    message = f"unknown component or bundle {quote(name)} in {where}"
                    self._diagnostics.add("E501", message, mark, hint=did_you_mean(name, known))
                elif (one := known[name]) is not None and one.spec.owner == "none":
                    message = (
                        f"{quote(name)} cannot be in {where}: it has 'owner: none' "
                        f"({self._place(one.key('owner'))})"
                    )
                    self._diagnostics.add("E507", message, mark)
        for circle in _circles(bundles):
            path = " → ".join((*circle, circle[0]))
            index = bundles[circle[0]].index(circle[1 % len(circle)])
            mark = self._draft.value("bundles", circle[0], index)
            message = f"the bundle {quote(circle[0])} is within itself: {quote(path, 200)[1:-1]}"
            self._diagnostics.add("E504", message, mark)

    def kernels(self, known: Known) -> tuple[Kernel, ...]:
        spec = self._draft.spec
        sources = (*spec.groups, *spec.queries)
        kernels = []
        for name, kernel in spec.kernels.items():
            if kernel.over not in sources:
                message = f"unknown group or query {quote(kernel.over)}"
                mark = self._draft.value("kernels", name, "over")
                hint = did_you_mean(kernel.over, sources)
                self._diagnostics.add("E508", message, mark, hint=hint)
            built = build_kernel(self._draft, name, kernel, frozenset(), known, self._diagnostics)
            kernels.append(built)
        return tuple(kernels)


def _circles(bundles: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Circles of bundles, at least one of each knot. Without recursion, in one pass."""
    circles: list[list[str]] = []
    finished: set[str] = set()
    for start in bundles:
        path: dict[str, Iterator[str]] = {}
        current: str | None = None if start in finished else start
        while current is not None or path:
            if current is not None:
                path[current] = iter(bundles[current])
            last = next(reversed(path))
            current = next((name for name in path[last] if name in bundles), None)
            if current is None:
                finished.add(last)
                del path[last]
            elif current in path:
                names = list(path)
                circles.append(names[names.index(current) :])
                current = None
            elif current in finished:
                current = None
    return circles
