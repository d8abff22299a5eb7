"""What a kernel of the world runs over: how many entities there are, where their rows are, and
until when that is good; or in which chunks they are. One class per kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from ecsgen.layout import layout
from ecsgen.model import Component, Field, World
from ecsgen.model.columns import field_columns
from ecsgen.model.programs import ENTITY, FieldValue
from ecsgen.render.kernels.arguments import ArgumentSpelling


@dataclass(frozen=True, slots=True)
class Source:
    """A set of entities, an attribute of the world, that have all of several components."""

    name: str
    components: Mapping[str, Component]
    """Those whose fields a kernel sees, by name."""
    others: Mapping[str, Component] = field(default_factory=dict, kw_only=True)
    """Those to whose rows it may refer."""


@dataclass(frozen=True, slots=True)
class JoinedSource(Source, ABC):
    """Rows of several managers."""

    variable: ClassVar[str]
    """What the value of `current` is called, where no name of the schema is near."""
    annotation: ClassVar[str]
    """The type of that value."""

    @property
    @abstractmethod
    def current(self) -> str:
        """The expression for the stamp: another value when the rows are others."""

    @property
    @abstractmethod
    def good(self) -> str:
        """How long the stamp stays the same, as words after `until`."""

    @property
    @abstractmethod
    def count(self) -> str:
        """The expression for the number of entities."""

    def each_lines(self, each: Sequence[ArgumentSpelling], writes: Sequence[str]) -> list[str]:
        """The statements that check the values of arguments that have one for each entity."""
        written = dict.fromkeys(text.partition(".")[0] for text in writes)
        buffers = [f"self.{self.components[name].module}.data._buffer" for name in written]
        lines = [one.each_line(f"_{self.count}", buffers) for one in each]
        return [*lines, *([f"check_unchanged(_{self.variable}, {self.current})"] if each else [])]

    @abstractmethod
    def rows(self, component: str) -> str:
        """The expression for the rows in a component: a slice, or an array."""

    @property
    def follow(self) -> bool:
        """Whether rows are the first ones in all components."""
        return False

    @property
    def has_holes(self) -> bool:
        """Whether there are rows that are not in use."""
        return False

    def picked(self, component: str) -> str:
        """What picks the rows' cells out of a column in the kernel's method."""
        return f"[:_{self.count}]"

    def numbers(self, component: str) -> str | None:
        """The expression for the rows as compiled loops take them; None where all are [0, n)."""
        return None


@dataclass(frozen=True, slots=True)
class FirstRows(JoinedSource, ABC):
    """The first rows of each component."""

    variable: ClassVar = "n"
    annotation: ClassVar = "int"

    @property
    def count(self) -> str:
        return "n"

    @property
    def follow(self) -> bool:
        return True

    def rows(self, component: str) -> str:
        return "slice(0, n)"


@dataclass(frozen=True, slots=True)
class GroupSource(FirstRows):
    """The aligned rows of a group, in all members the first."""

    @property
    def current(self) -> str:
        return f"self.{self.name}.n"

    @property
    def good(self) -> str:
        return "the group's length changes"


@dataclass(frozen=True, slots=True)
class RowsSource(FirstRows):
    """The rows of one component, with a partition the active ones."""

    @property
    def _component(self) -> Component:
        (component,) = self.components.values()
        return component

    @property
    def current(self) -> str:
        return f"self.{self._component.module}.data._n{self.which}"

    @property
    def which(self) -> str:
        """What the number of rows has in its name, if these are the active ones."""
        return "_active" if self._component.partition else ""

    @property
    def has_holes(self) -> bool:
        return self._component.lookup == "direct"

    @property
    def good(self) -> str:
        return "their number changes"


@dataclass(frozen=True, slots=True)
class QuerySource(JoinedSource):
    """The rows of a query's required components, in the order that its join finds."""

    places: Mapping[str, int] = field(default_factory=dict)
    """Where each component is among those of the join."""

    variable: ClassVar = "found"
    annotation: ClassVar = "QueryMatch"

    @property
    def current(self) -> str:
        return f"self.{self.name}._join.match()"

    @property
    def good(self) -> str:
        return "the query matches anew"

    @property
    def count(self) -> str:
        return "found.count"

    def rows(self, component: str) -> str:
        return f"found.members[{self.places[component]}]"

    def picked(self, component: str) -> str:
        return f"[_found.rows[{self.places[component]}]]"

    def numbers(self, component: str) -> str:
        return f"found.numbers({self.places[component]})"


@dataclass(frozen=True, slots=True)
class ChunkSource(Source):
    """The chunks that a query finds."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    """By component, which of those in archetypes it is."""

    def each_lines(self, each: Sequence[ArgumentSpelling]) -> list[str]:
        """The statements that check the values of arguments that have one for each entity."""
        if not each:
            return []
        lines = [f"_before = len(self.{self.name})"]
        for one in each:
            lines += [one.each_line("_before", []), f"{one.whole} = {one.whole}.copy()"]
        return [*lines, f"check_unchanged(_before, len(self.{self.name}))"]

    def place(self, node: FieldValue) -> tuple[int, int]:
        """Which component and which of its columns a field is, or begins with.

        The owners' column is the first one of what comes before all components.
        """
        if node.name == ENTITY:
            return -1, 0
        component = self.components[node.owner]
        field = next(one for one in component.fields if one.name == node.name)
        return self.numbers[node.owner], first_column(component, field)


def source_of(
    world: World, name: str, components: Mapping[str, Component]
) -> JoinedSource | ChunkSource:
    """Return the group, component or query of that name; `components` are all that kernels may
    see."""
    for group, members in world.groups:
        if group == name:
            seen = {member: components[member] for member in members}
            return GroupSource(name, seen, others=components)
    if name in components:
        return RowsSource(name, {name: components[name]}, others=components)
    query = next(query for query in world.queries if query.name == name)
    seen = {member: components[member] for member in query.all}
    if query.chunked:
        order = sorted(world.archetypes)
        return ChunkSource(name, seen, {member: order.index(member) for member in query.all})
    places = {member: place for place, member in enumerate(query.all)}
    return QuerySource(name, seen, places, others=components)


def first_column(component: Component, field: Field) -> int:
    """Return which of a component's columns in chunks is a field's only or first one."""
    columns = [column.name for column in layout(component).columns if column.field]
    return columns.index(field_columns(field)[0].name)


def all_fields(world: World, components: Iterable[Component]) -> Component:
    """The fields as a kernel of the world spells them, as if they were one component's."""
    fields = (
        replace(field, name=f"{component.name}.{field.name}")
        for component in components
        for field in component.fields
    )
    return Component(name=world.name, module="world", fields=tuple(fields))
