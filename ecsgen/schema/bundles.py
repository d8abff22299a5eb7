"""Bundles: sets of components to spawn from, with values of their fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.model import Bundle, Component, Default, Field, Mark, Values
from ecsgen.schema.declarations import Components, Declaration
from ecsgen.schema.defaults import check_default
from ecsgen.schema.document_specs import WorldSpec
from ecsgen.schema.names import module_name
from ecsgen.schema.policy_keys import check_owned
from ecsgen.schema.type_parser import TypeScope
from ecsgen.schema.validation import BadValueError


def find_cycles(bundles: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return cycles of bundles, or of components that require each other, at least one of each
    strongly connected part. Without recursion."""
    cycles: list[list[str]] = []
    finished: set[str] = set()
    for start in bundles:
        path: dict[str, Iterator[str]] = {}
        if start not in finished:
            path[start] = iter(bundles[start])
        while path:
            last = next(reversed(path))
            name = next((name for name in path[last] if name in bundles), None)
            if name is None:
                finished.add(last)
                del path[last]
            elif name in path:
                names = list(path)
                cycles.append(names[names.index(name) :])
            elif name not in finished:
                path[name] = iter(bundles[name])
    return cycles


_Cells: TypeAlias = dict[tuple[str, str], Default]
"""Component and field → value."""


@dataclass(frozen=True)
class BundleBuilder:
    """Builder of the world's bundles; reports E106 to E108, E302, E501, E504, E507, E509, E523."""

    draft: Declaration[WorldSpec]
    declared: Components
    components: Mapping[str, Component]
    types: TypeScope

    @cached_property
    def listed(self) -> dict[str, list[str]]:
        """The members of each bundle, as written."""
        return {name: list(members) for name, members in self.draft.spec.bundles.items()}

    def bundles(self) -> tuple[Bundle, ...]:
        """Return the bundles, with the valid values."""
        members = {name: self._members(name) for name in self.listed}
        self._report_cycles()
        bundles = []
        for name, cells in self._all_values(members).items():
            values: dict[str, dict[str, Default]] = {c: {} for c in self._components_of(name)}
            for (component, field), value in cells.items():
                values[component][field] = value
            bundles.append(Bundle(name, members[name], values))
        return tuple(bundles)

    def _mark(self, bundle: str, member: str) -> Mark:
        """Return the mark of a member of a bundle."""
        is_mapping = isinstance(self.draft.spec.bundles[bundle], dict)
        step = member if is_mapping else self.listed[bundle].index(member)
        return self.draft.key_mark("bundles", bundle, step)

    def _members(self, bundle: str) -> dict[str, Values]:
        """Return what a bundle lists, with the values that it says itself."""
        where, members = f"bundle {quote(bundle)}", dict[str, Values]()
        for index, name in enumerate(self.listed[bundle]):
            component = self.declared.get(name)
            if name in members:
                mark = self.draft.value_mark("bundles", bundle, index)
                self.draft.report("E509", f"{quote(name)} is listed twice in {where}", mark)
            elif component is None and name not in self.listed:
                message = f"unknown component or bundle {quote(name)} in {where}"
                hint = did_you_mean(name, (*self.listed, *self.declared))
                self.draft.report("E501", message, self._mark(bundle, name), hint)
            elif component is not None:
                check_owned(component, where, self._mark(bundle, name))
            members[name] = self._values(bundle, name)
        return members

    def _values(self, bundle: str, member: str) -> dict[str, Default]:
        """Return the values that a bundle says of a component's fields."""
        path, values = ("bundles", bundle, member), dict[str, Default]()
        declared, component = self.declared.get(member), self.components.get(member)
        for name, mark in self.draft.key_marks(*path).items():
            if declared is None or component is None:
                if member in self.listed:
                    message = f"{quote(member)} is a bundle: its components have fields"
                    hint = "list the component, too, with the value"
                    self.draft.report("E302", message, mark, hint)
                continue
            what = f"{quote(name)} of {quote(member)} in bundle {quote(bundle)}"
            field = declared.field(component.fields, name, "E302", what, mark)
            if field is not None:
                values |= self._value((*path, name), field)
        return values

    def _value(self, path: tuple[str, ...], field: Field) -> dict[str, Default]:
        """Return a field's value, complete, by the field; nothing if it is not one."""
        node = self.draft.node.at(*path)
        assert node is not None
        try:
            return {field.name: check_default(node, field.type, self.types.enum_of(field.type))}
        except BadValueError as error:
            self.draft.report_error(error, node.mark, f"field {quote(field.name)}: ")
            return {}

    def _report_cycles(self) -> None:
        modules = {module_name(name) for name in self.declared}
        for cycle in find_cycles(self.listed):
            if any(name != name.lower() or name in modules for name in cycle):
                continue  # the name is a mistake already, and a component may be meant
            path = " → ".join((*cycle, cycle[0]))
            message = f"the bundle {quote(cycle[0])} is within itself: {quote(path, 200)[1:-1]}"
            self.draft.report("E504", message, self._mark(cycle[0], cycle[1 % len(cycle)]))

    def _components_of(self, bundle: str) -> list[str]:
        """Return the components of a bundle, with those of bundles in it, each once."""
        members, pending, seen = dict[str, None](), [bundle], set[str]()
        while pending:
            name = pending.pop(0)
            if name not in self.listed:
                members[name] = None
            elif name not in seen:
                seen.add(name)
                pending += self.listed[name]
        return list(members)

    def _all_values(self, members: Mapping[str, Mapping[str, Values]]) -> dict[str, _Cells]:
        """Return the values of each bundle, with those of bundles in it; reports E523."""
        inner = {name: [n for n in each if n in members] for name, each in members.items()}
        cells = {name: _Cells() for name in members}
        for name in _inner_first(inner):
            listed = members[name].items()
            written = {(c, field): v for c, fields in listed for field, v in fields.items()}
            inherited: dict[tuple[str, str], tuple[str, Default]] = {}
            for bundle in inner[name]:
                for cell, value in cells[bundle].items():
                    first, other = inherited.setdefault(cell, (bundle, value))
                    if cell not in written and repr(other) != repr(value):
                        self._report_difference(name, first, bundle, *cell)
            cells[name] = {cell: value for cell, (_, value) in inherited.items()} | written
        return cells

    def _report_difference(
        self, outer: str, first: str, second: str, component: str, field: str
    ) -> None:
        message = f"{quote(first)} and {quote(second)} in bundle {quote(outer)} have different "
        message += f"values for {component}.{field}"
        hint = f"say in {quote(outer)} which it is: `{component}: {{{field}: …}}`"
        self.draft.report("E523", message, self._mark(outer, second), hint)


def _inner_first(inner: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield bundles after those within them, without those of circles and around them."""
    sorter = TopologicalSorter(inner)
    with suppress(CycleError):
        sorter.prepare()  # what stands before the circles is ready all the same
    while ready := sorter.get_ready():
        yield from ready
        sorter.done(*ready)
