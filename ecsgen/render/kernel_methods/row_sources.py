"""Row sources of kernels: rows and their cells, chunks, and neighbours."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from ecsgen.kernels.statements import FindRow
from ecsgen.layout.memory_layout import lay_out_component
from ecsgen.model import Component, Field, Kernel, World
from ecsgen.model import typed_tree as tree
from ecsgen.model.columns import MANAGER_FIELDS, field_columns
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
"""How a row is found, or an entity checked; the last two for handles of any shard."""


@dataclass(frozen=True, slots=True)
class ManagerExpressions:
    """Expressions for the managers in which a kernel finds rows."""

    components: Mapping[str, Component]
    """Components whose rows may be referred to, by name."""
    home: str = ""
    """Component that has the kernel; "" for a kernel of the world."""

    @property
    def is_world(self) -> bool:
        """True for a kernel of the world."""
        return not self.home

    def manager(self, component: str) -> str:
        """Return the expression for a manager: a component's kernel has its own, and its grid."""
        if self.is_world:
            return f"self.{self.components[component].module}"
        return "self" if component in (self.home, tree.OWN, tree.PARENT) else "self._grid"

    def data(self, component: str) -> str:
        """Return the expression for a manager's columns."""
        manager = self.manager(component)
        if component == tree.SETTINGS:
            return f"{manager}._data"
        return "data" if manager == "self" else f"{manager}.data"

    def keys(self, field: tree.FieldValue, selection: str) -> str:
        """Return the expression for stream fields of rows; `selection`: index into their column."""
        data = self.data(field.owner)
        keys = f"{data}._{field.name}_column{selection}"
        is_slot = field.name == tree.ID_SLOT
        return f"ids_of({keys}, {data}._id_generation_column)" if is_slot else keys

    @property
    def cell_fields(self) -> Mapping[str, str]:
        """Cell references of components by name."""
        return {
            name: component.on.field
            for name, component in self.components.items()
            if component.on is not None
        }

    @property
    def entities(self) -> str:
        """Expression for the manager of entities."""
        return "self.entities" if self.is_world else "self._entities"

    def no_dead_test(self, component: str) -> str:
        """Return the test for no rows of dead entities in a manager, "" if the world has none."""
        is_collected = self.is_world and self.components[component].destroy != "manual"
        return "self.entities.has_no_dead_rows" if is_collected else ""

    def column_prefix(self, component: str) -> str:
        """Return the prefix of the variables of a manager's columns, where other rows are read."""
        is_own = self.manager(component) == "self"
        return "other" if is_own else f"other_{self.components[component].module}"

    @property
    def is_sharded(self) -> bool:
        """True if indices of entities and slots of ids do not give rows."""
        return any(component.is_sharded for component in self.components.values())

    def lookup_kind(self, find: FindRow) -> LookupKind:
        """Return how the row of a statement is found."""
        if not find.row.component:
            return "alive"
        component = self.components[find.row.component]
        if component.grid is not None:
            return "cell"
        if component.on is not None and find.handle.type.kind == f"id<{component.on.grid}>":
            return "occupant"
        if find.handle.type.kind == "entity":
            return component.lookup
        if component.lookup == "direct":
            return "direct_id"
        return "id" if component.owner == "none" else "living_id"


@dataclass(frozen=True, slots=True)
class RowSource:
    """Rows that have all of several components: of one manager, of a group, or of a query."""

    components: Mapping[str, Component]
    """Components by `FieldValue.owner`: `OWN` for a component's own kernel, else the name."""
    managers: ManagerExpressions
    """Managers of other rows."""
    combined_component: Component
    """All fields as kernels name them, as if of one component."""
    rows_expression: str
    """Expression that finds the rows; its value changes when the rows do."""
    good: str
    """Event that changes this value, in words after `until`."""
    member_indices: Mapping[str, int] | None = field(default=None, kw_only=True)
    """Index of each component in a query's match; None if the rows are the first ones."""
    has_holes: bool = field(default=False, kw_only=True)
    """True if there are rows that are not in use."""

    @property
    def is_world(self) -> bool:
        """True for kernels of the world."""
        return self.managers.is_world

    @property
    def variable(self) -> str:
        """Variable for the value of `rows_expression`; "" where it is read anew."""
        if not self.is_world:
            return ""
        return "_n" if self.member_indices is None else "_match"

    @property
    def count(self) -> str:
        """Expression for the number of rows."""
        if self.member_indices is not None:
            return f"{self.variable}.count"
        return self.variable or self.rows_expression

    def field(self, owner: str, name: str) -> Field:
        """Return a field of the owner's component."""
        return field_of(self.components[tree.OWN if owner == tree.PARENT else owner], name)

    def prefix(self, owner: str) -> str:
        """Return the prefix of the names of a component's columns."""
        is_own = not self.is_world and self.managers.manager(owner) == "self"
        return "" if is_own else f"{self.components[owner].module}_"

    def rows(self, owner: str, variable: str = "") -> str:
        """Return the expression for the rows in a component, a slice or an array.

        `variable`: name of the value of `rows_expression` there."""
        variable = variable or self.variable
        if self.member_indices is None:
            return f"slice(0, {variable or self.rows_expression})"
        return f"{variable}.members[{self.member_indices[owner]}]"

    def cell_selection(self, owner: str) -> str:
        """Return the index of the rows' cells in a column, in the kernel's method."""
        if self.member_indices is None:
            return f"[:{self.count}]"
        return f"[{self.variable}.rows[{self.member_indices[owner]}]]"

    def each_lines(self, each: Sequence[ArgumentCode], writes: Sequence[str]) -> list[str]:
        """Return the statements that check arguments with a value for each entity."""
        written = dict.fromkeys(text.partition(".")[0] for text in writes)
        buffers = [f"{self.managers.data(name)}._buffer" for name in written]
        lines = [argument.each_line(self.count, buffers) for argument in each]
        unchanged = f"check_unchanged({self.variable}, {self.rows_expression})"
        return [*lines, unchanged] if each else []


@dataclass(frozen=True, slots=True)
class ChunkSource:
    """Chunks that a query finds."""

    is_world: ClassVar = True
    has_holes: ClassVar = False
    components: Mapping[str, Component]
    """Components of which a kernel sees fields, by name."""
    managers: ManagerExpressions
    """Managers of other rows."""
    combined_component: Component
    """All fields as kernels name them, as if of one component."""
    query: str
    """Expression for the query."""
    numbers: Mapping[str, int]
    """Number of each component among those in archetypes."""

    @property
    def of_one(self) -> RowSource:
        """The rows of one of the chunks."""
        return RowSource(self.components, self.managers, self.combined_component, "", "")

    def each_lines(self, each: Sequence[ArgumentCode]) -> list[str]:
        """Return the statements that check arguments with a value for each entity."""
        if not each:
            return []
        lines = [f"_before = len({self.query})"]
        for argument in each:
            lines += [
                argument.each_line("_before", []),
                f"{argument.per_row_local} = {argument.per_row_local}.copy()",
            ]
        return [*lines, f"check_unchanged(_before, len({self.query}))"]

    def place(self, node: tree.FieldValue) -> tuple[int, int]:
        """Return the numbers of a field's component and of its first column there.

        The owners' column is (-1, 0).
        """
        if node.name == tree.ENTITY:
            return -1, 0
        component = self.components[node.owner]
        first = field_columns(field_of(component, node.name))[0].name
        columns = [column.name for column in lay_out_component(component).columns if column.field]
        return self.numbers[node.owner], columns.index(first)


@dataclass(frozen=True, slots=True)
class NeighbourJoin:
    """A neighbourhood: the rows that ask, and the candidates."""

    label: str
    """Kernel and radius, as errors name them."""
    near: tree.Neighbourhood
    source: RowSource
    candidates: RowSource
    """Rows that may be neighbours; `source` itself where rows ask each other."""
    tag: str = ""
    """Suffix of variables, where there are several neighbourhoods."""

    @property
    def components(self) -> Mapping[str, Component]:
        """Components of the candidates, by owner."""
        return self.candidates.components

    @property
    def position_owner(self) -> str:
        """Owner of the field with the positions."""
        return self.near.position.owner

    @property
    def has_two_sources(self) -> bool:
        """True if candidates are other rows than those that ask."""
        return self.candidates is not self.source

    @property
    def has_ghosts(self) -> bool:
        """True if ghosts are candidates."""
        placed = self.components.get(self.position_owner)  # None if cells have the positions
        return placed is not None and placed.sees_ghosts

    @property
    def asks_ghosts(self) -> bool:
        """True if rows ask each other, and ghosts, which come after them."""
        return self.has_ghosts and not self.has_two_sources

    def search_lines(self, turns: bool, owners: Collection[str], radius: str) -> list[str]:
        """Return the statements that define `_search_arguments`, the arguments of a search.

        `owners`: components of which candidates' fields are read; `radius`: an expression.
        """
        if not self.source.is_world:
            function = "live_search_arguments" if turns else "self._search_arguments"
            rest = ["self", radius] if turns else [radius, self.source.count]
            function = f"_search_arguments{self.tag} = {function}"
            return statement(function, [literal(self.label), *rest])
        function = "join_live_search_arguments" if turns else "join_search_arguments"
        arguments = self.given(are_one=self.asks_ghosts and not turns)
        return [
            *self.lines(radius),
            *self.defined([], owners),
            *statement(f"_search_arguments{self.tag} = {function}", arguments),
        ]

    @property
    def links(self) -> RowSource:
        """The rows that are the links to neighbours."""
        assert self.near.via is not None
        managers, name = self.source.managers, self.near.via.component
        component = managers.components[name]
        return RowSource({name: component}, managers, component, "", "")

    def network_lines(self) -> list[str]:
        """Return the statements that define `_network`: the links of each row, and the numbers of
        the candidates to which they lead."""
        assert self.near.via is not None
        manager, sides = self.source.managers.manager, self.sides
        asking = next(n for n, c in self.source.components.items() if c.owner == "entity")
        other, variable = self.position_owner, list(sides)[-1]
        parts = [
            f"({self.candidates.rows(c.name, variable)}, {manager(c.name)})"
            for c in self.components.values()
            if c.partition and self.candidates.member_indices is not None
        ]
        arguments = [
            manager(self.near.via.component),
            literal(self.near.via.back),
            f"({manager(asking)}, {self.source.rows(asking)})",
            f"({manager(other)}, {self.candidates.rows(other, variable)})",
            *parts,
        ]
        rows = [f"{name} = {source.rows_expression}" for name, source in sides.items()]
        return [*rows, *statement(f"_network{self.tag} = network_of", arguments)]

    def handles(self, name: str, owner: str) -> str:
        """Return the expression for candidates' entities or ids, "" for fields that are columns."""
        if name == tree.ENTITY and owner in self.components and self.components[owner].hides_owners:
            return f"{self.source.managers.manager(owner)}._owners_near()"
        if self.near.via is not None and name == tree.ID_SLOT and owner == self.near.via.component:
            return f"link_ids({self.source.managers.manager(owner)})"
        data = self.source.managers.data(owner)
        ids = f"ids_of({data}._id_slot_column[: {data}._n], {data}._id_generation_column)"
        return ids if name == tree.ID_SLOT else ""

    @property
    def sides(self) -> dict[str, RowSource]:
        """Row sources of both sides, by the variable of their `rows_expression`."""
        other = {f"_asked{self.tag}": self.candidates} if self.has_two_sources else {}
        return {self.source.variable: self.source, **other}

    def lines(self, radius: str) -> list[str]:
        """Return the statements that find the rows of both sides, and convert the radius."""
        is_float = isinstance(self.near.radius, float)
        first = f"_radius{self.tag} = {radius if is_float else f'float({radius})'}"
        return [
            first,
            *(f"{name} = {source.rows_expression}" for name, source in self.sides.items()),
        ]

    def own_rows(self, component: str) -> str:
        """Return the variable with the rows that ask."""
        return f"_{self.source.components[component].module}_rows"

    def other_rows(self, component: str) -> str:
        """Return the variable with the candidates, and ghosts."""
        if not self.has_two_sources and not self.has_ghosts:
            return self.own_rows(component)
        return f"_{self.components[component].module}_members{self.tag}"

    def defined(self, asking: Collection[str], asked: Collection[str]) -> list[str]:
        """Return the statements that define `own_rows` and `other_rows` of used components."""
        space, other = self.position_owner, f"_asked{self.tag}" if self.has_two_sources else ""
        asking = [space, *asking, *(() if self.has_two_sources else asked)]
        members_by_name = {self.own_rows(name): self.source.rows(name) for name in asking}
        local_of = self.other_rows if self.has_two_sources else self.own_rows
        members = {name: local_of(name) for name in dict.fromkeys([space, *asked])}
        if self.has_two_sources:
            rows_of = self.candidates.rows
            members_by_name |= {rows: rows_of(name, other) for name, rows in members.items()}
        lines = [f"{name} = member_row_array({rows})" for name, rows in members_by_name.items()]
        lines += self._hidden_lines(members[space])
        if not self.has_ghosts:
            return lines
        manager = self.source.managers.manager
        managers = map(manager, dict.fromkeys([space, *self.components]))
        lines += statement(f"_ghosts{self.tag} = ghosts_near", [f"_radius{self.tag}", *managers])
        for name, rows in members.items():
            both = f"with_ghosts({rows}, {manager(name)}, _ghosts{self.tag})"
            lines.append(f"{self.other_rows(name)} = {both}")
        return lines

    def met_anywhere(self, asked: Collection[str]) -> list[str]:
        """Return the statements that define `other_rows`, where there is no search in a space."""
        owner = self.position_owner if self.near.on is None else self.near.on.owner
        variable, source = list(self.sides.items())[-1]
        members_by_name = {name: self.other_rows(name) for name in asked}
        lines = [
            f"{rows} = member_row_array({source.rows(n, variable)})"
            for n, rows in members_by_name.items()
        ]
        return [*self.lines("0")[1:], *lines, *self._hidden_lines(members_by_name[owner])]

    def _hidden_lines(self, rows: str) -> list[str]:
        rows_of, variable = self.candidates.rows, list(self.sides)[-1]
        parts = [
            f"({rows_of(component.name, variable)}, self.{component.module}.data._n_active)"
            for component in self._partitioned
        ]
        return statement(f"{self.hidden} = hidden_rows", [rows, *parts]) if parts else []

    @property
    def hidden(self) -> str:
        """Variable with the candidates that are hidden, as they are inactive; "" if none is."""
        return f"_hidden{self.tag}" if self._partitioned else ""

    @property
    def _partitioned(self) -> list[Component]:
        """Components in which candidates may be inactive, without that of the space itself."""
        return [
            component
            for component in self.components.values()
            if component.partition and component.name != self.position_owner
        ]

    def given(self, are_one: bool = False) -> list[str]:
        """Return the arguments of a search; `are_one`: ghosts are among the rows that ask."""
        space, manager = self.position_owner, self.source.managers.manager(self.position_owner)
        rows = dict.fromkeys([self.own_rows(space), self.other_rows(space)])
        positions = [self.other_rows(space)] if are_one else list(rows)
        hidden = [f"hidden={self.hidden}"] if self.hidden else []
        return [literal(self.label), manager, f"_radius{self.tag}", *positions, *hidden]


def make_component_source(component: Component, kernel: Kernel) -> RowSource:
    """Return the rows of a component for its own kernel: all, or the active ones."""
    name = "_n_active" if kernel.rows == "active" else "_n"
    grid = component.grid_component
    known = {component.name: component, **({} if grid is None else {grid.name: grid})}
    managers = ManagerExpressions(known, component.name)
    arguments = {tree.OWN: component}, managers, component, f"data.{name}", f"{name[1:]} changes"
    return RowSource(*arguments, has_holes=component.lookup == "direct")


def make_world_source(
    world: World, name: str, components: Mapping[str, Component]
) -> RowSource | ChunkSource:
    """Return the group, component or query of that name; `components`: all that kernels may see."""
    settings = Component(name=tree.SETTINGS, module=tree.SETTINGS, fields=world.settings)
    managers = ManagerExpressions({**components, tree.SETTINGS: settings})
    if name == tree.SETTINGS:
        return RowSource({}, managers, all_fields(world, []), "1", "never")
    if name in components:
        component = components[name]
        matches = f"self.{component.module}.data._n{'_active' if component.partition else ''}"
        fields, good = all_fields(world, [component]), "their number changes"
        arguments = {name: component}, managers, fields, matches, good
        return RowSource(*arguments, has_holes=component.lookup == "direct")
    members, query = world.members_of(name), world.query(name)
    seen = {member: components[member] for member in members}
    fields = all_fields(world, seen.values())
    if query is None:
        good = "the group's length changes"
        return RowSource(seen, managers, fields, f"self.{name}.n", good)
    if query.chunked:
        order = sorted(world.archetypes)
        numbers = {member: order.index(member) for member in members}
        return ChunkSource(seen, managers, fields, f"self.{name}", numbers)
    matches, good = f"self.{name}._join.match()", "the query matches anew"
    member_indices = {member: index for index, member in enumerate(members)}
    return RowSource(seen, managers, fields, matches, good, member_indices=member_indices)


def field_of(component: Component, name: str) -> Field:
    """Return one of a component's fields, or a column that managers have."""
    fields = (field for field in component.fields if field.name == name)
    return next(fields, None) or MANAGER_FIELDS[name]


def all_fields(world: World, components: Iterable[Component]) -> Component:
    """Return a component with all fields as a kernel of the world names them."""
    fields = (
        replace(field, name=f"{component.name}.{field.name}")
        for component in components
        for field in component.fields
    )
    return Component(name=world.name, module="world", fields=tuple(fields))


def make_neighbour_joins(
    kernel: Kernel, source: RowSource, world: World | None = None
) -> tuple[NeighbourJoin, ...]:
    """Return the neighbourhoods of a kernel; `world`: that which has the kernel."""
    label, nears, asked = f"{world.name}." if world else "", kernel.program.neighbourhoods, []
    for near in nears:
        radius = near.radius.name if isinstance(near.radius, tree.Argument) else "radius"
        other, tag = _candidates(near, kernel, source, world), f"_{near.name}" * (len(nears) > 1)
        asked.append(NeighbourJoin(f"{label}{kernel.name}: {radius}", near, source, other, tag))
    return tuple(asked)


def _candidates(
    near: tree.Neighbourhood, kernel: Kernel, source: RowSource, world: World | None
) -> RowSource:
    """Return the candidates of a neighbourhood: the kernel's rows, or others."""
    components = source.managers.components
    if near.among in ("", kernel.over or source.managers.home):
        return source
    if world is None:  # only the grid on which its rows stand is another one
        arguments = {near.among: components[near.among]}, source.managers, components[near.among]
        return RowSource(*arguments, "self._grid.data._n", "it stays")
    other = make_world_source(world, near.among, components)
    assert isinstance(other, RowSource)  # there are no spaces in chunks
    return other
