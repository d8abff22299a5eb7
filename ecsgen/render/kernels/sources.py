"""What a kernel of the world runs over: how many entities there are, where their rows are, and
until when that is good; or in which chunks they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
class JoinedSource(Source):
    """Rows of several managers: the first ones of each, or those that a query finds."""

    current: str
    """The expression for the stamp: another value when the rows are others."""
    good: str
    """How long the stamp stays the same, as words after `until`."""
    places: Mapping[str, int] | None = None
    """Of a query: which component of its join each is. None: rows are the first ones in all."""
    has_holes: bool = False
    """Whether there are rows that are not in use."""

    @property
    def follow(self) -> bool:
        """Whether rows are the first ones in all components."""
        return self.places is None

    @property
    def variable(self) -> str:
        """What the value of `current` is called, where no name of the schema is near."""
        return "n" if self.places is None else "found"

    @property
    def annotation(self) -> str:
        """The type of that value."""
        return "int" if self.places is None else "QueryMatch"

    @property
    def count(self) -> str:
        """The expression for the number of entities."""
        return "n" if self.places is None else "found.count"

    def each_lines(self, each: Sequence[ArgumentSpelling], writes: Sequence[str]) -> list[str]:
        """The statements that check the values of arguments that have one for each entity."""
        written = dict.fromkeys(text.partition(".")[0] for text in writes)
        buffers = [f"self.{self.components[name].module}.data._buffer" for name in written]
        lines = [one.each_line(f"_{self.count}", buffers) for one in each]
        return [*lines, *([f"check_unchanged(_{self.variable}, {self.current})"] if each else [])]

    def rows(self, component: str) -> str:
        """The expression for the rows in a component: a slice, or an array."""
        if self.places is None:
            return "slice(0, n)"
        return f"found.members[{self.places[component]}]"

    def picked(self, component: str) -> str:
        """What picks the rows' cells out of a column in the kernel's method."""
        if self.places is None:
            return "[:_n]"
        return f"[_found.rows[{self.places[component]}]]"

    def numbers(self, component: str) -> str | None:
        """The expression for the rows as compiled loops take them; None where all are [0, n)."""
        return None if self.places is None else f"found.numbers({self.places[component]})"


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
    if name in dict(world.groups):
        seen = {member: components[member] for member in dict(world.groups)[name]}
        good = "the group's length changes"
        return JoinedSource(name, seen, f"self.{name}.n", good, others=components)
    if name in components:
        return _rows_of(components[name], components)
    query = next(query for query in world.queries if query.name == name)
    seen = {member: components[member] for member in query.all}
    if query.chunked:
        order = sorted(world.archetypes)
        return ChunkSource(name, seen, {member: order.index(member) for member in query.all})
    places = {member: place for place, member in enumerate(query.all)}
    current, good = f"self.{name}._join.match()", "the query matches anew"
    return JoinedSource(name, seen, current, good, places, others=components)


def _rows_of(component: Component, components: Mapping[str, Component]) -> JoinedSource:
    """The rows of one component, with a partition the active ones."""
    current = f"self.{component.module}.data._n{'_active' if component.partition else ''}"
    has_holes, seen = component.lookup == "direct", {component.name: component}
    good = "their number changes"
    return JoinedSource(component.name, seen, current, good, has_holes=has_holes, others=components)


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
