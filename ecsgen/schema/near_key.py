"""The key `near` of kernels: the neighbours of rows on a grid or in a space, and the radius."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final, TypeAlias

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.kernels.neighbour_aggregates import DISTANCE, OFFSET, NeighbourScope, NeighbourScopes
from ecsgen.kernels.parsing import KernelError, SourceText
from ecsgen.kernels.scope import Scope, value_type
from ecsgen.kernels.type_checker import TypeChecker
from ecsgen.model import SETTINGS, Component, DerivedValue, Field, Kernel, Mark, NearClause, World
from ecsgen.model import typed_tree as tree
from ecsgen.model.typed_program import Program
from ecsgen.model.types import Type
from ecsgen.schema.grid_keys import hexagon_message

Members = Mapping[str, Component]
"""Components by their name in a kernel: OWN, or in the world the component's name."""

_NO_NEIGHBOURHOOD: Final = (
    *("radius", "among", "hood", "center", "via", "back", "entity", "link"),
    *("offset", "distance", "parent", "settings", "tick"),
)


@dataclass(frozen=True, slots=True)
class NeighbourContext:
    """The components of a kernel's rows, and those that may be neighbours."""

    members: Members
    components: Mapping[str, Component]
    """All components of the project."""
    world: World | None = None
    """None for kernels of a component."""
    sources: frozenset[str] = frozenset()
    """The world's groups, queries and components without an error."""


def neighbourhoods(
    kernel: Kernel, context: NeighbourContext, scope: Scope
) -> tuple[tree.Neighbourhood, ...]:
    """Return a kernel's neighbourhoods, and add their names to the scope; reports E8xx, E103."""
    scope.has_invalid_neighbours = "…" in kernel.marks
    if not kernel.near:
        return ()
    known: dict[str, NeighbourScope] = {}
    nears = []
    for key in kernel.near:
        built = _NeighbourhoodBuilder(kernel, key, context, scope).build()
        if built is not None:
            known[key.name], near = built
            nears += [near] if near is not None else []
    if len(known) < len(kernel.near):
        scope.has_invalid_neighbours = True
        return ()
    scope.neighbours = NeighbourScopes(known, scope.field)
    _check_names(scope.neighbours.names, kernel, context, scope)
    return tuple(nears) if len(nears) == len(known) else ()


_Built: TypeAlias = tuple[NeighbourScope, tree.Neighbourhood | None]


class _NeighbourhoodBuilder:
    def __init__(
        self, kernel: Kernel, key: NearClause, context: NeighbourContext, scope: Scope
    ) -> None:
        self._kernel, self._key, self._context, self._scope = kernel, key, context, scope

    def _report(self, code: str, message: str, key: str = "", hint: str = "") -> None:
        """Report an error at a key, by default at `near` or the neighbourhood's name."""
        mark = self._key.marks[key] if key else self._mark
        self._scope.diagnostics.add(code, message, mark, hint=hint)

    def _resolve(self) -> Members | None:
        """Return the components of the neighbours' rows; None after an error."""
        context, among, components = self._context, self._key.among, self._context.components
        if not among:
            return context.members
        if context.world is None:
            return self._resolve_near_own(context.members[tree.OWN])
        if among in context.sources:
            return {name: components[name] for name in context.world.members_of(among)}
        queries = [query.name for query in context.world.queries]
        known = (*dict(context.world.groups), *queries, *components)
        if among not in known:
            message = f"unknown group, query or component {quote(among)}"
            self._report("E508", message, "among", did_you_mean(among, known))
        return None

    def _resolve_near_own(self, component: Component) -> Members | None:
        """Return a component's own rows, or the cells that these are on."""
        among, components = self._key.among, self._context.components
        grid = "" if component.on is None else component.on.grid
        if among == component.name:
            return self._context.members
        if among == grid:
            return {grid: components[grid]}
        if among not in components:
            hint = did_you_mean(among, components)
            self._report("E508", f"unknown component {quote(among)}", "among", hint)
            return None
        message = f"a kernel of {quote(component.name)} can only have neighbours of its own rows"
        message += f", or cells of {quote(grid)}" if grid else ""
        hint = f"make it a kernel of the world: over: {component.name}"
        self._report("E810", message, "among", hint)
        return None

    def build(self) -> _Built | None:
        """Return the names of a neighbourhood, and itself if its radius is valid; None if its
        components are not known."""
        key, members = self._key, self._resolve()
        if members is None:
            return None
        if key.via or key.back is not None:
            return self._by_links(members)
        if key.radius is None:
            return self._everybody(members)
        components = self._context.members
        spaces = [name for name, c in components.items() if c.space and name in members]
        grids = [
            (name, other)
            for name, component in components.items()
            for other, neighbour in members.items()
            if (grid := _grid_of(component)) and grid == _grid_of(neighbour)
        ]
        if len(spaces) + len(grids) != 1:
            if not any(map(_has_invalid_position, (*components.values(), *members.values()))):
                self._report_spaces(spaces, grids)
            return None
        if grids:
            return self._on_grid(*grids[0], members)
        self._refuse("hood", key.hood)
        self._refuse("center", key.center is not None)
        position = find_position_field(components[spaces[0]], spaces[0])
        self._hide_indirect(members)
        near = NeighbourScope(key.name, position.type, members, find_owner_component(members))
        radius = self._radius(on_grid=False)
        if radius is None:
            return near, None
        return near, tree.Neighbourhood(radius, position, key.among, key.name)

    def _everybody(self, members: Members) -> _Built | None:
        """Build a neighbourhood of all rows; None if nothing says of which."""
        key, components = self._key, self._context.members
        if not key.among:
            hint = "write `near: 3`, or `near: {among: Store}` for all rows of Store"
            self._report("E813", "neighbours need a radius", hint=hint)
            return None
        for what, is_given in (("hood", key.hood), ("center", key.center is not None)):
            if is_given:
                self._report("E813", f"{quote(what)} is of a radius, and this is everybody", what)
        spaces = [name for name, c in components.items() if c.space and name in members]
        owner = find_owner_component(members)
        kind = None
        position = tree.FieldValue(tree.HANDLE, tree.ENTITY, owner or next(iter(members)))
        if len(spaces) == 1:
            position = find_position_field(components[spaces[0]], spaces[0])
            kind = position.type
        self._hide_indirect(members)
        near = NeighbourScope(key.name, kind, members, owner, None, self._occupants(members))
        return near, tree.Neighbourhood(None, position, key.among, key.name)

    def _by_links(self, members: Members) -> _Built | None:
        """Build a neighbourhood at the other ends of links; reports E820, E508 and E521."""
        key, over = self._key, self._context.members
        via = self._context.components.get(key.via)
        if not key.via:
            return self._misuse("'back' is of links, and no 'via' says of which", "back")
        if tree.OWN in over:
            hint = f"make it a kernel of the world: over: {over[tree.OWN].name}"
            return self._misuse("only kernels of the world know networks", "via", hint)
        if via is None:
            hint = did_you_mean(key.via, self._context.components)
            self._report("E508", f"unknown component {quote(key.via)}", "via", hint)
            return None
        if via.network is None:
            if {"network", "…"}.isdisjoint(via.marks):
                hint = "as in `network: {between: [a, b]}`"
                self._misuse(f"{quote(key.via)} has no network", "via", hint)
            return None
        written = {"radius": key.radius, "hood": key.hood or None, "center": key.center}
        for what, value in written.items():
            if value is not None:
                return self._misuse(f"{quote(what)} does not go with 'via'", what)
        if key.back is not None and via.network.is_mutual:
            return self._misuse(f"the links of {quote(key.via)} lead both ways", "back")
        owner = find_owner_component(members)
        if owner is None or find_owner_component(over) is None:
            what = key.among if find_owner_component(over) else self._kernel.over
            return self._misuse(f"links lead to entities, and rows of {quote(what)} have none", "")
        if self._scope.reference_scope.refusal or not members.keys().isdisjoint(
            self._scope.reference_scope.chunked
        ):
            return self._misuse("rows in archetypes have no neighbours by links", "")
        if self._context.world is not None and self._context.world.shards is not None:
            self._report("E521", "in a world with 'shards' no links lead to neighbours", "via")
            return None
        self._hide_indirect({**members, key.via: via})
        link = tree.Via(key.via, bool(key.back))
        near = NeighbourScope(key.name, None, members, owner, None, {}, via)
        position = tree.FieldValue(tree.HANDLE, tree.ENTITY, owner)
        return near, tree.Neighbourhood(None, position, key.among, key.name, via=link)

    def _misuse(self, message: str, key: str, hint: str = "") -> _Built | None:
        """Report E820; return None."""
        self._report("E820", message, key, hint)
        return None

    def _on_grid(self, owner: str, other_owner: str, members: Members) -> _Built | None:
        """Build a neighbourhood of cells, or of rows on cells; None if the grid has an error."""
        key, asking, neighbour = self._key, self._context.members[owner], members[other_owner]
        home = _grid_of(asking)
        component = self._context.components[home]
        grid = component.grid
        if grid is None:
            return None
        is_cells, is_occupant = neighbour.grid is not None, asking.on is not None
        if not (is_cells and is_occupant):
            self._refuse("center", key.center is not None)
        occupants = self._occupants(members)
        if is_cells:
            hidden = {*occupants, *((OFFSET, DISTANCE) if other_owner else ())}
            for value in component.readable:  # by what else follows the name of a neighbourhood
                if value.name in hidden:
                    _report_name(_what(value), value.name, self._mark, self._scope.diagnostics)
        axes = len(grid.shape)
        hood = key.hood or grid.hood
        if hood == "hex" and axes != 2:
            self._report("E518", hexagon_message(home, axes), "hood")
            return None
        on = tree.GridNeighbourhood(
            home, axes, hood, bool(key.center), "" if is_cells else neighbour.name, other_owner
        )
        kind = Type("i64", (axes,))
        near = NeighbourScope(key.name, kind, members, find_owner_component(members), on, occupants)
        position = tree.FieldValue(Type("u64"), tree.CELL_ID, owner)
        if asking.on is not None:
            position = tree.FieldValue(tree.id_type(home), asking.on.field, owner)
        radius = self._radius(on_grid=True)
        if radius is None:
            return near, None
        return near, tree.Neighbourhood(radius, position, key.among, key.name, on)

    def _hide_indirect(self, members: Members) -> None:
        """Take the fields of neighbours out of the scope that not every row has."""
        self._scope.hidden |= {
            f"{name}.{f.name}" for name, c in members.items() if name for f in c.indirect_fields
        }

    def _occupants(self, members: Members) -> dict[str, Component]:
        """Return the components whose rows stand on neighbours that are cells."""
        components, cells = self._context.components, {c.name for c in members.values()}
        return {n: c for n, c in components.items() if c.on is not None and c.on.grid in cells}

    @property
    def _mark(self) -> Mark:
        return self._kernel.marks["near"] if self._key.name == tree.OTHER else self._key.marks[""]

    def _refuse(self, what: str, is_given: object) -> None:
        if is_given:
            message = f"{what!r} is only for rows on a grid with cells as neighbours"
            if what == "hood":
                message = "'hood' is of a grid, and this is a space"
            self._report("E813", message, what)

    def _report_spaces(self, spaces: list[str], grids: list[tuple[str, str]]) -> None:
        kernel, key, members = self._kernel, self._key, self._context.members
        only = next(iter(members.values()), None)
        if not spaces and not grids and tree.OWN in members and only is not None:
            if not {"space", "on", "grid"} & only.marks.keys():
                message = f"{quote(only.name)} has no space, so its rows are not near each other"
                self._report("E813", message, hint="give it the key 'space'")
            return
        over = quote(kernel.over or (only.name if only is not None else ""))
        subject = f"{over} and {quote(key.among)} have"
        if key.among in ("", kernel.over):
            subject = f"{over} has"
        message = f"{subject} no component with a space"
        if key.among:
            message += " in common" if key.among != kernel.over else ""
        if spaces and grids:
            message = f"{subject} both a space and a grid in common"
        elif spaces:
            message = f"{subject} several components with a space: {', '.join(spaces)}"
        elif grids:
            names = dict.fromkeys(name for pair in grids for name in pair)
            message = f"{subject} several components on a grid: {', '.join(names)}"
        meant = next((name for name in self._scope.reference_scope.names if name == key.radius), "")
        hint = f"without a radius, as in `near: {{among: {meant or 'Store'}}}`, all rows are near"
        self._report("E813", message, hint="" if spaces or grids else hint)

    def _radius(self, on_grid: bool) -> tree.Argument | tree.FieldValue | float | None:
        """Return a radius: in a space a finite number above 0, an argument or a number field; on a
        grid an integer from 0, an argument, or an integer field; reports E803 and E813."""
        radius, code = self._key.radius, "E803" if on_grid else "E813"
        assert radius is not None
        if isinstance(radius, str):
            variable = self._variable(radius)
            if variable is None:
                return None
            type_ = variable.type
            if type_.is_number and not type_.shape and (type_.is_integer or not on_grid):
                return variable
            what = "a radius on a grid is an integer" if on_grid else "a radius is one number"
            message = f"{what}, and {quote(radius)} is {type_}"
        elif on_grid and not radius.is_integer():
            message = f"a radius on a grid is an integer, not {radius:g}"
        elif on_grid and radius < 0:
            code, message = "E813", f"a radius is at least 0, not {radius:g}"
        elif not on_grid and not (isfinite(radius) and radius > 0):
            message = f"a radius is a finite number above 0, not {radius:g}"
        else:
            return int(radius) if on_grid else float(radius)
        self._report(code, message, "radius")
        return None

    def _variable(self, radius: str) -> tree.Argument | tree.FieldValue | None:
        """Return the argument, field, setting or reduction that a radius names; reports E8xx."""
        if radius in self._scope.arguments:
            return self._argument(radius)
        if not radius.endswith("()") and not radius.startswith(f"{SETTINGS}."):
            return self._field(radius) or self._argument(radius)
        text = SourceText(radius, self._key.marks["radius"])
        try:
            value = TypeChecker(self._scope).value(text.expression())
        except KernelError as error:
            text.report(error, self._scope.diagnostics)
            return None
        return value if isinstance(value, tree.Argument) else self._argument(radius)

    def _argument(self, name: str) -> tree.Argument | None:
        scope, argument = self._scope, self._scope.arguments.get(name)
        if argument is None:
            if name not in scope.invalid_names:
                message = f"the radius {quote(name)} is no argument of {quote(self._kernel.name)}"
                hint = did_you_mean(name, scope.arguments)
                if name in scope.reference_scope.names:
                    hint = f"without one, as in `near: {{among: {name}}}`, all its rows are near"
                if self._is_derived(name):
                    message = f"a radius is no derived value, as {quote(name)} is"
                    hint = "write the value to a field in a step of a kernel before"
                self._report("E813", message, "radius", hint)
            return None
        if argument.each:
            message = f"a radius is the same for all rows, and {quote(name)} has a value for each"
            hint = "ask within the largest, and compare distance"
            self._report("E813", message, "radius", hint)
            return None
        return argument

    def _is_derived(self, text: str) -> bool:
        owner, _, name = text.rpartition(".")
        component = self._context.members.get(owner)
        return component is not None and any(value.name == name for value in component.derived)

    def _field(self, text: str) -> tree.FieldValue | None:
        owner, _, name = text.rpartition(".")
        component = self._context.members.get(owner)
        fields = () if component is None else component.fields
        field = next((field for field in fields if field.name == name), None)
        type_ = None if field is None else value_type(field.type)
        return None if type_ is None else tree.FieldValue(type_, name, owner)


def _has_invalid_position(component: Component) -> bool:
    """Return True if a component has a space, grid or occupancy with an error."""
    values = {"space": component.space, "grid": component.grid, "on": component.on}
    marks = component.marks
    return any(value is None and ("…" in marks or key in marks) for key, value in values.items())


def _grid_of(component: Component) -> str:
    """Return the grid that a component is, or on which its rows stand; empty without one."""
    if component.grid is not None:
        return component.name
    return "" if component.on is None else component.on.grid


def find_owner_component(members: Members) -> str | None:
    """Return the first component whose rows have an owner, which is equal in all components."""
    return next((name for name, component in members.items() if component.owner == "entity"), None)


def _check_names(
    names: frozenset[str], kernel: Kernel, context: NeighbourContext, scope: Scope
) -> None:
    """Report E103 for names of neighbours that have another meaning in the kernel."""
    diagnostics = scope.diagnostics
    for name in sorted(names):
        if name in scope.arguments:
            _report_name("argument", name, kernel.marks[f"args.{name}"], diagnostics)
        elif name in scope.own_names:
            _report_name(_what(scope.own_names[name]), name, kernel.marks["near"], diagnostics)
        else:
            continue
        scope.invalid_names |= {name}
    for key in kernel.near:
        if key.name in {*_NO_NEIGHBOURHOOD, *context.components, *scope.enums}:
            message = f"{quote(key.name)} cannot be the name of neighbours: it means something else"
            diagnostics.add("E103", message, key.marks[""])


def check_neighbour_names(assigned: Iterable[tuple[SourceText, ast.Name]], scope: Scope) -> None:
    """Report E103 for steps that set a name of neighbours."""
    diagnostics, taken = scope.diagnostics, scope.neighbours.names if scope.neighbours else ()
    for text, name in assigned:
        if name.id in taken:
            if name.id not in scope.invalid_names:
                _report_name("local", name.id, text.place(name, diagnostics), diagnostics)
            scope.invalid_names |= {name.id}


def _what(value: Field | DerivedValue) -> str:
    return "field" if isinstance(value, Field) else "derived value"


def _report_name(what: str, name: str, mark: Mark, diagnostics: Diagnostics) -> None:
    message = f"the {what} {quote(name)} has a name that kernels with 'near' use for neighbours"
    diagnostics.add("E103", message, mark)


def check_own_networks(
    kernel: Kernel, program: Program, context: NeighbourContext, diagnostics: Diagnostics
) -> None:
    """Report E820 for kernels that write or send to the ends of a network by which they ask."""
    changed = {*program.effects.writes, *program.effects.sends}
    for near, key in zip(program.neighbourhoods, kernel.near, strict=False):
        via = "" if near.via is None else near.via.component
        network = context.components[via].network if via else None
        if network and not changed.isdisjoint(f"{via}.{end}" for end in network.ends):
            message = f"{quote(kernel.name)} asks by {via}, and changes its ends"
            hint = "make two kernels of it, or spawn and destroy links"
            diagnostics.add("E820", message, key.marks["via"], hint=hint)


def check_row_fields(kernel: Kernel, program: Program, diagnostics: Diagnostics) -> None:
    """Report E103 for neighbours with the name of a field that a kernel of the world uses."""
    used = {name.rpartition(".")[2] for name in (*program.effects.reads, *program.effects.writes)}
    radii = (near.radius for near in program.neighbourhoods)
    used |= {radius.name for radius in radii if isinstance(radius, tree.FieldValue)}
    for key in kernel.near if kernel.over else ():
        if key.name in used and key.name != tree.OTHER:
            _report_name("field", key.name, key.marks[""], diagnostics)


def find_position_field(component: Component, owner: str) -> tree.FieldValue:
    """Return the field with the positions of a component that has a space."""
    assert component.space is not None
    field = next(field for field in component.fields if field.name == component.space.field)
    type_ = value_type(field.type)
    assert type_ is not None
    return tree.FieldValue(type_, field.name, owner)
