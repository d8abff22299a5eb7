"""What kernels run over: which rows there are, where their cells are, and until when that is good;
in which chunks they are; and whose rows they ask. Data, no class per kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from ecsgen.kernels.statements import FindRow
from ecsgen.layout.memory_layout import lay_out_component
from ecsgen.model import Component, Field, Kernel, World
from ecsgen.model.columns import MANAGER_FIELDS, field_columns
from ecsgen.model.typed_tree import (
    ENTITY,
    ID_SLOT,
    OWN,
    PARENT,
    Argument,
    FieldValue,
    Neighbourhood,
)
from ecsgen.render.kernel_methods.arguments import ArgumentCode
from ecsgen.render.text.formatting import statement
from ecsgen.render.text.quoting import literal

LookupKind = Literal[
    "alive",
    "sparse",
    "direct",
    "hash",
    "id",
    "living_id",
    "direct_id",
    "cell",
    "occupant",
    "any",
    "any_id",
]
"""How a row is found, or whether somebody is alive; the last two wherever entities and ids come
from."""


@dataclass(frozen=True, slots=True)
class ManagerExpressions:
    """The managers that a kernel finds rows in: of a component's kernel its own."""

    components: Mapping[str, Component]
    """By name, those whose rows may be referred to."""
    home: str = ""
    """The component whose kernel it is; nothing of the world's."""

    @property
    def is_world(self) -> bool:
        """Whether it is no component's own."""
        return not self.home

    def manager(self, component: str) -> str:
        """The expression for a manager: a component's kernel knows its own, and its grid."""
        if self.is_world:
            return f"self.{self.components[component].module}"
        return "self" if component in (self.home, OWN, PARENT) else "self._grid"

    def data(self, component: str) -> str:
        """The expression for a manager's columns, of whatever rows of its own."""
        manager = self.manager(component)
        return "data" if manager == "self" else f"{manager}.data"

    def keys(self, who: FieldValue, picked: str) -> str:
        """The expression for what tells rows apart, of those that are `picked` out of a column."""
        data = self.data(who.owner)
        keys = f"{data}._{who.name}_column{picked}"
        return f"ids_of({keys}, {data}._id_generation_column)" if who.name == ID_SLOT else keys

    @property
    def cell_fields(self) -> Mapping[str, str]:
        """The fields that say on which cells rows stand, by component."""
        return {name: one.on.field for name, one in self.components.items() if one.on is not None}

    @property
    def entities(self) -> str:
        """The expression for the manager of entities."""
        return "self.entities" if self.is_world else "self._entities"

    def no_dead_test(self, component: str) -> str:
        """The expression for whether no rows of dead entities are left in a manager, if the world
        knows that."""
        is_collected = self.is_world and self.components[component].destroy != "manual"
        return "self.entities._has_no_dead_rows" if is_collected else ""

    def column_prefix(self, component: str) -> str:
        """What names of its columns begin with, where they are not a row's own."""
        is_own = self.manager(component) == "self"
        return "other" if is_own else f"other_{self.components[component].module}"

    @property
    def is_sharded(self) -> bool:
        """Whether indices of entities and slots of ids do not tell where rows are."""
        return any(component.is_sharded for component in self.components.values())

    def lookup_kind(self, one: FindRow) -> LookupKind:
        """How its row is found."""
        if not one.row.component:
            return "alive"
        component = self.components[one.row.component]
        if component.grid is not None:
            return "cell"
        if component.on is not None and one.handle.type.kind == f"id<{component.on.grid}>":
            return "occupant"
        if one.handle.type.kind == "entity":
            return component.lookup
        if component.lookup == "direct":
            return "direct_id"
        return "id" if component.owner == "none" else "living_id"


@dataclass(frozen=True, slots=True)
class RowSource:
    """Rows that have all of several components: those of one manager, the first ones of several,
    or those that a query finds."""

    components: Mapping[str, Component]
    """By `FieldValue.owner`: of a component's own kernel it is `OWN`, else its name."""
    managers: ManagerExpressions
    """Where other rows are."""
    combined_component: Component
    """Whose kernels they are: all fields as these spell them."""
    rows_expression: str
    """The expression that finds the rows: another value when the rows are others."""
    good: str
    """How long that value stays the same, as words after `until`."""
    member_indices: Mapping[str, int] | None = field(default=None, kw_only=True)
    """Of a query: which of the match's members each component is. None: in all of them the rows
    are the first ones."""
    has_holes: bool = field(default=False, kw_only=True)
    """Whether there are rows that are not in use."""

    @property
    def is_world(self) -> bool:
        """Whether it is no component's own."""
        return self.managers.is_world

    @property
    def variable(self) -> str:
        """What the value of `found` is called in a method; nothing where it is read anew."""
        if not self.is_world:
            return ""
        return "_n" if self.member_indices is None else "_found"

    @property
    def count(self) -> str:
        """The expression for how many rows there are."""
        return (
            f"{self.variable}.count"
            if self.member_indices is not None
            else self.variable or self.rows_expression
        )

    def field(self, owner: str, name: str) -> Field:
        """The field as its component has it."""
        return field_of(self.components[OWN if owner == PARENT else owner], name)

    def prefix(self, owner: str) -> str:
        """What stands before the names of a component's columns."""
        is_own = not self.is_world and self.managers.manager(owner) == "self"
        return "" if is_own else f"{self.components[owner].module}_"

    def rows(self, owner: str, variable: str = "") -> str:
        """The expression for the rows in a component, a slice or an array; `variable`: what the
        value of `found` is called there."""
        variable = variable or self.variable
        if self.member_indices is None:
            return f"slice(0, {variable or self.rows_expression})"
        return f"{variable}.members[{self.member_indices[owner]}]"

    def cell_selection(self, owner: str) -> str:
        """What picks the rows' cells out of a column in the kernel's method."""
        if self.member_indices is None:
            return f"[:{self.count}]"
        return f"[{self.variable}.rows[{self.member_indices[owner]}]]"

    def each_lines(self, each: Sequence[ArgumentCode], writes: Sequence[str]) -> list[str]:
        """The statements that check the values of arguments that have one for each entity."""
        written = dict.fromkeys(text.partition(".")[0] for text in writes)
        buffers = [f"{self.managers.data(name)}._buffer" for name in written]
        lines = [one.each_line(self.count, buffers) for one in each]
        return [
            *lines,
            *([f"check_unchanged({self.variable}, {self.rows_expression})"] if each else []),
        ]


@dataclass(frozen=True, slots=True)
class ChunkSource:
    """The chunks that a query finds."""

    is_world: ClassVar = True
    has_holes: ClassVar = False
    components: Mapping[str, Component]
    """Those whose fields a kernel sees, by name."""
    managers: ManagerExpressions
    """Where other rows are."""
    combined_component: Component
    """Whose kernels they are: all fields as these spell them."""
    query: str
    """The expression for what finds them."""
    numbers: Mapping[str, int]
    """By component, which of those in archetypes it is."""

    def each_lines(self, each: Sequence[ArgumentCode]) -> list[str]:
        """The statements that check the values of arguments that have one for each entity."""
        if not each:
            return []
        lines = [f"_before = len({self.query})"]
        for one in each:
            lines += [
                one.each_line("_before", []),
                f"{one.per_row_local} = {one.per_row_local}.copy()",
            ]
        return [*lines, f"check_unchanged(_before, len({self.query}))"]

    def place(self, node: FieldValue) -> tuple[int, int]:
        """Which component and which of its columns a field is, or begins with.

        The owners' column is the first one of what comes before all components.
        """
        if node.name == ENTITY:
            return -1, 0
        component = self.components[node.owner]
        first = field_columns(field_of(component, node.name))[0].name
        columns = [column.name for column in lay_out_component(component).columns if column.field]
        return self.numbers[node.owner], columns.index(first)


@dataclass(frozen=True, slots=True)
class NeighbourJoin:
    """The rows that ask, and those that are asked: a neighbourhood."""

    label: str
    """The kernel as errors have it."""
    near: Neighbourhood
    source: RowSource
    candidates: RowSource
    """Of those that are asked: the same one where rows ask each other."""
    tag: str = ""
    """What names of a method end with, where there are several neighbourhoods."""

    @property
    def components(self) -> Mapping[str, Component]:
        """Those of the rows that are asked, by owner."""
        return self.candidates.components

    @property
    def position_owner(self) -> str:
        """The owner of the field with the places."""
        return self.near.position.owner

    @property
    def has_two_sources(self) -> bool:
        """Whether others are asked than those who ask."""
        return self.candidates is not self.source

    @property
    def has_ghosts(self) -> bool:
        """Whether ghosts are asked as well."""
        return self.components[self.position_owner].sees_ghosts

    @property
    def asks_ghosts(self) -> bool:
        """Whether rows ask each other, and ghosts, which stand behind them."""
        return self.has_ghosts and not self.has_two_sources

    # --- the statements of a method --------------------------------------------------------------

    def search_lines(self, turns: bool, owners: Collection[str], radius: str) -> list[str]:
        """The statements that find places of both, as a function takes them: `_given`.

        `owners`: the components whose fields are asked for; `radius`: an expression.
        """
        if not self.source.is_world:
            own = "live_search_arguments" if turns else "self._search_arguments"
            rest = ["self", radius] if turns else [radius, self.source.count]
            made = f"_given{self.tag} = {own}"
            return statement(made, [literal(self.label), *rest])
        made = "join_live_search_arguments" if turns else "join_search_arguments"
        given = self.given(are_one=self.asks_ghosts and not turns)
        return [
            *self.lines(radius),
            *self.defined([], owners),
            *statement(f"_given{self.tag} = {made}", given),
        ]

    def handles(self, name: str, owner: str) -> str:
        """The expression for what names those who are asked, their entities or ids, where no column
        has it: owners of rows and ghosts, and ids; nothing for other fields."""
        if name == ENTITY and self.components[owner].hides_owners:
            return f"{self.source.managers.manager(owner)}._owners_near()"
        data = self.source.managers.data(owner)
        made = f"ids_of({data}._id_slot_column[: {data}._n], {data}._id_generation_column)"
        return made if name == ID_SLOT else ""

    # --- the same in parts, of kernels of the world ----------------------------------------------

    @property
    def sides(self) -> dict[str, RowSource]:
        """Both sets of rows, by what the values that find them are called in a method."""
        other = {f"_asked{self.tag}": self.candidates} if self.has_two_sources else {}
        return {self.source.variable: self.source, **other}

    def lines(self, radius: str) -> list[str]:
        """The statements that find both, and make a radius a float of Python."""
        is_float = isinstance(self.near.radius, float)
        first = f"_radius{self.tag} = {radius if is_float else f'float({radius})'}"
        return [
            first,
            *(f"{name} = {source.rows_expression}" for name, source in self.sides.items()),
        ]

    def own_rows(self, component: str) -> str:
        """The variable with the rows that ask."""
        return f"_{self.source.components[component].module}_rows"

    def other_rows(self, component: str) -> str:
        """The variable with the rows that are asked, and ghosts."""
        if not self.has_two_sources and not self.has_ghosts:
            return self.own_rows(component)
        return f"_{self.components[component].module}_members{self.tag}"

    def defined(self, asking: Collection[str], asked: Collection[str]) -> list[str]:
        """The statements that define these variables, for components whose fields are used."""
        space, other = self.position_owner, f"_asked{self.tag}" if self.has_two_sources else ""
        asking = [space, *asking, *(() if self.has_two_sources else asked)]
        found = {self.own_rows(name): self.source.rows(name) for name in asking}
        variable = self.other_rows if self.has_two_sources else self.own_rows
        members = {name: variable(name) for name in dict.fromkeys([space, *asked])}
        if self.has_two_sources:
            found |= {rows: self.candidates.rows(name, other) for name, rows in members.items()}
        lines = [f"{name} = member_row_array({rows})" for name, rows in found.items()]
        lines += self._hiding(members[space])
        if not self.has_ghosts:
            return lines
        manager = self.source.managers.manager
        managers = map(manager, dict.fromkeys([space, *self.components]))
        lines += statement(f"_ghosts{self.tag} = ghosts_near", [f"_radius{self.tag}", *managers])
        for name, rows in members.items():
            both = f"with_ghosts({rows}, {manager(name)}, _ghosts{self.tag})"
            lines.append(f"{self.other_rows(name)} = {both}")
        return lines

    def met_on_grid(self, asked: Collection[str]) -> list[str]:
        """The same of those of a group or query who stand on a grid."""
        on = self.near.on
        assert on is not None
        variable, source = list(self.sides.items())[-1]
        found = {name: self.other_rows(name) for name in asked}
        lines = [
            f"{rows} = member_row_array({source.rows(n, variable)})" for n, rows in found.items()
        ]
        return [*self.lines("0")[1:], *lines, *self._hiding(found[on.owner])]

    def _hiding(self, rows: str) -> list[str]:
        """The statement that says which of the rows that are asked nobody sees."""
        variable = list(self.sides)[-1]
        parts = [
            f"({self.candidates.rows(one.name, variable)}, self.{one.module}.data._n_active)"
            for one in self._parted
        ]
        return statement(f"{self.hidden} = hidden_rows", [rows, *parts]) if parts else []

    @property
    def hidden(self) -> str:
        """The variable with these; nothing if all are seen."""
        return f"_hidden{self.tag}" if self._parted else ""

    @property
    def _parted(self) -> list[Component]:
        """Those in which the rows that are asked may be inactive, the space's own left out: it
        tells of itself."""
        return [
            one
            for one in self.components.values()
            if one.partition and one.name != self.position_owner
        ]

    def given(self, are_one: bool = False) -> list[str]:
        """The arguments with which the places of both are found; `are_one`: those of ghosts are
        among those of the rows that ask."""
        space, manager = self.position_owner, self.source.managers.manager(self.position_owner)
        rows = dict.fromkeys([self.own_rows(space), self.other_rows(space)])
        given = [self.other_rows(space)] if are_one else list(rows)
        hidden = [f"hidden={self.hidden}"] if self.hidden else []
        return [literal(self.label), manager, f"_radius{self.tag}", *given, *hidden]


def make_component_source(component: Component, kernel: Kernel) -> RowSource:
    """Return the rows of a component for a kernel of its own: with a partition perhaps the active
    ones."""
    name = "_n_active" if kernel.rows == "active" else "_n"
    known = [one for one in (component, component.grid_component) if one is not None]
    managers = ManagerExpressions({one.name: one for one in known}, component.name)
    given = {OWN: component}, managers, component, f"data.{name}", f"{name[1:]} changes"
    return RowSource(*given, has_holes=component.lookup == "direct")


def make_world_source(
    world: World, name: str, components: Mapping[str, Component]
) -> RowSource | ChunkSource:
    """Return the group, component or query of that name; `components` are all that kernels may
    see."""
    managers = ManagerExpressions(components)
    if name in components:
        one = components[name]
        found = f"self.{one.module}.data._n{'_active' if one.partition else ''}"
        given = {name: one}, managers, all_fields(world, [one]), found, "their number changes"
        return RowSource(*given, has_holes=one.lookup == "direct")
    members, query = world.members_of(name), world.query(name)
    seen = {member: components[member] for member in members}
    whole = all_fields(world, seen.values())
    if query is None:
        good = "the group's length changes"
        return RowSource(seen, managers, whole, f"self.{name}.n", good)
    if query.chunked:
        order = sorted(world.archetypes)
        numbers = {member: order.index(member) for member in members}
        return ChunkSource(seen, managers, whole, f"self.{name}", numbers)
    found, good = f"self.{name}._join.match()", "the query matches anew"
    at = {member: place for place, member in enumerate(members)}
    return RowSource(seen, managers, whole, found, good, member_indices=at)


def field_of(component: Component, name: str) -> Field:
    """One of a component's fields, or a column that managers keep."""
    own = (field for field in component.fields if field.name == name)
    return next(own, None) or MANAGER_FIELDS[name]


def all_fields(world: World, components: Iterable[Component]) -> Component:
    """The fields as a kernel of the world spells them, as if they were one component's."""
    fields = (
        replace(found, name=f"{component.name}.{found.name}")
        for component in components
        for found in component.fields
    )
    return Component(name=world.name, module="world", fields=tuple(fields))


def make_neighbour_joins(
    kernel: Kernel, source: RowSource, world: World | None = None
) -> tuple[NeighbourJoin, ...]:
    """Return whose rows a kernel asks; `world`: where it is one of the world."""
    label, nears, asked = f"{world.name}." if world else "", kernel.program.neighbourhoods, []
    for near in nears:
        radius = near.radius.name if isinstance(near.radius, Argument) else "radius"
        other, tag = _side_asked(near, kernel, source, world), f"_{near.name}" * (len(nears) > 1)
        asked.append(NeighbourJoin(f"{label}{kernel.name}: {radius}", near, source, other, tag))
    return tuple(asked)


def _side_asked(
    near: Neighbourhood, kernel: Kernel, source: RowSource, world: World | None
) -> RowSource:
    """The rows that a neighbourhood is of: those of the kernel itself, or others."""
    components = source.managers.components
    if near.among in ("", kernel.over or source.managers.home):
        return source
    if world is None:  # only the grid on which its rows stand is another one
        given = {near.among: components[near.among]}, source.managers, components[near.among]
        return RowSource(*given, "self._grid.data._n", "it stays")
    other = make_world_source(world, near.among, components)
    assert isinstance(other, RowSource)  # there are no spaces in chunks
    return other
