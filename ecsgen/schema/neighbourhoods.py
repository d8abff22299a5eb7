"""The key `near` of kernels: whom rows can ask, on a grid or in a space, and how far these are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final, TypeAlias

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.kernels.neighbour_aggregates import DISTANCE, OFFSET, NeighbourScope, NeighbourScopes
from ecsgen.kernels.parsing import Assignment, SourceText
from ecsgen.kernels.scope import Scope, value_type
from ecsgen.kernels.type_checker import target_of
from ecsgen.model import Component, Kernel, Mark, NearClause, World
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import Type

Members = Mapping[str, Component]
"""Components by how a kernel names them: OWN, or in the world the component's name."""

_NO_NEIGHBOURHOOD: Final = frozenset(
    (
        *("radius", "among", "hood", "center", "via", "back", "entity", "link"),
        *("offset", "distance", "parent", "settings", "tick"),
    )
)


@dataclass(frozen=True, slots=True)
class NeighbourContext:
    """Who asks in a kernel, and whom it may ask."""

    members: Members
    resolve: Callable[[NearClause], Members | None]
    """Those whose rows a neighbourhood names; None where that is in error already."""
    components: Mapping[str, Component]
    """All of the project."""


def make_component_context(
    component: Component, components: Mapping[str, Component], diagnostics: Diagnostics
) -> NeighbourContext:
    """A component's kernels ask other rows of it, or the grid on which they stand."""
    grid = None if component.on is None else components.get(component.on.grid)

    def found(key: NearClause) -> Members | None:
        among = key.among
        if among in ("", component.name):
            return {tree.OWN: component}
        if grid is not None and among == grid.name:
            return {among: grid}
        if among not in components:
            message = f"unknown component {quote(among)}"
            hint = did_you_mean(among, components)
            diagnostics.add("E508", message, key.marks["among"], hint=hint)
            return None
        message = f"a kernel of {quote(component.name)} asks rows of its own"
        message += f", or cells of {quote(grid.name)}" if grid is not None else ""
        hint = f"make it a kernel of the world: over: {component.name}"
        diagnostics.add("E810", message, key.marks["among"], hint=hint)
        return None

    return NeighbourContext({tree.OWN: component}, found, components)


def make_world_context(
    world: World, components: Mapping[str, Component], sources: frozenset[str], scope: Scope
) -> NeighbourContext:
    """Kernels of the world ask rows of a group, query or component."""

    def found(key: NearClause) -> Members | None:
        if not key.among:
            return scope.components
        if key.among not in sources:
            queries = [query.name for query in world.queries]
            known = (*dict(world.groups), *queries, *components)
            if key.among not in known:
                message = f"unknown group, query or component {quote(key.among)}"
                hint = did_you_mean(key.among, known)
                scope.diagnostics.add("E508", message, key.marks["among"], hint=hint)
            return None
        return {name: components[name] for name in world.members_of(key.among)}

    return NeighbourContext(scope.components, found, components)


# --- All neighbourhoods of a kernel ---------------------------------------------------------------


def neighbourhoods(
    kernel: Kernel, askers: NeighbourContext, scope: Scope
) -> tuple[tree.Neighbourhood, ...]:
    """Whom rows ask; the scope knows their names from now on; reports E813 and E103."""
    scope.has_invalid_neighbours = "…" in kernel.marks
    if not kernel.near:
        return ()
    known: dict[str, NeighbourScope] = {}
    nears = []
    for key in kernel.near:
        made = _NeighbourhoodBuilder(kernel, key, askers, scope).build()
        if made is not None:
            known[key.name], near = made
            nears += [near] if near is not None else []
    if len(known) < len(kernel.near):
        scope.has_invalid_neighbours = True
        return ()
    scope.neighbours = NeighbourScopes(known, scope.field)
    _check_names(scope.neighbours.names, kernel, askers, scope)
    return tuple(nears) if len(nears) == len(known) else ()


_Made: TypeAlias = tuple[NeighbourScope, tree.Neighbourhood | None]


class _NeighbourhoodBuilder:
    def __init__(
        self, kernel: Kernel, key: NearClause, askers: NeighbourContext, scope: Scope
    ) -> None:
        self._kernel, self._key, self._askers, self._scope = kernel, key, askers, scope
        self._diagnostics = scope.diagnostics

    def build(self) -> _Made | None:
        """What names of it stand for, and what it is, if the radius is right; None if nobody can
        tell whom it asks."""
        key, members = self._key, self._askers.resolve(self._key)
        if members is None:
            return None
        askers = self._askers.members
        both = [name for name, one in askers.items() if one.space and name in members]
        grids = [
            (name, other)
            for name, one in askers.items()
            for other, met in members.items()
            if (grid := _grid_of(one)) and grid == _grid_of(met)
        ]
        if len(both) + len(grids) != 1:
            if not any(map(_has_wrong_place, (*askers.values(), *members.values()))):
                self._report_places(both, grids)
            return None
        if grids:
            return self._on_grid(*grids[0], members)
        self._refuse("hood", key.hood)
        self._refuse("center", key.center is not None)
        place = find_position_field(askers[both[0]], both[0])
        cold = {
            f"{name}.{one.name}" for name, c in members.items() if name for one in c.indirect_fields
        }
        self._scope.hidden |= cold
        near = NeighbourScope(key.name, place.type, members, find_owner_component(members))
        radius = self._radius()
        return near, (
            None if radius is None else tree.Neighbourhood(radius, place, key.among, key.name)
        )

    def _on_grid(self, asker: str, met: str, members: Members) -> _Made | None:
        """Cells around, or who stands there; None if the grid is in error."""
        key, one, other = self._key, self._askers.members[asker], members[met]
        home = _grid_of(one)
        component = self._askers.components[home]
        grid = component.grid
        if grid is None:
            return None
        is_cells, stands = other.grid is not None, one.on is not None
        if not (is_cells and stands):
            self._refuse("center", key.center is not None)
        standing = {
            name: each
            for name, each in self._askers.components.items()
            if is_cells and _grid_of(each) == home and each.on is not None
        }
        if is_cells:
            hidden = {*standing, *((OFFSET, DISTANCE) if met else ())}
            for field in component.fields:  # by what else follows the name of a neighbourhood
                if field.name in hidden:
                    _report("field", field.name, self._mark, self._diagnostics)
        axes = len(grid.shape)
        hood = key.hood or grid.hood
        on = tree.GridNeighbourhood(
            home, axes, hood, bool(key.center), "" if is_cells else other.name, met
        )
        kind = Type("i64", (axes,))
        near = NeighbourScope(key.name, kind, members, find_owner_component(members), on, standing)
        kept = tree.FieldValue(Type("u64"), tree.CELL_ID, asker)
        if one.on is not None:
            kept = tree.FieldValue(Type("u64", (), f"id<{home}>"), one.on.field, asker)
        radius = self._grid_radius()
        return near, (
            None if radius is None else tree.Neighbourhood(radius, kept, key.among, key.name, on)
        )

    @property
    def _mark(self) -> Mark:
        return self._kernel.marks["near"] if self._key.name == tree.OTHER else self._key.marks[""]

    def _refuse(self, what: str, is_given: object) -> None:
        if is_given:
            message = f"{what!r} is of rows on a grid that ask cells"
            if what == "hood":
                message = "'hood' is of a grid, and this is a space"
            self._diagnostics.add("E813", message, self._key.marks[what])

    def _report_places(self, both: list[str], grids: list[tuple[str, str]]) -> None:
        kernel, key, members, mark = self._kernel, self._key, self._askers.members, self._mark
        only = next(iter(members.values()), None)
        if not both and not grids and tree.OWN in members and only is not None:
            if not {"space", "on", "grid"} & only.marks.keys():
                message = f"{quote(only.name)} has no space, so its rows are not near each other"
                self._diagnostics.add("E813", message, mark, hint="give it the key 'space'")
            return
        over = quote(kernel.over or (only.name if only is not None else ""))
        who = f"{over} and {quote(key.among)} have"
        if key.among in ("", kernel.over):
            who = f"{over} has"
        message = f"{who} no component with a space"
        if key.among:
            message += " in common" if key.among != kernel.over else ""
        if both and grids:
            message = f"{who} both a space and a grid in common"
        elif both:
            message = f"{who} several components with a space: {', '.join(both)}"
        elif grids:
            names = dict.fromkeys(name for pair in grids for name in pair)
            message = f"{who} several components on a grid: {', '.join(names)}"
        self._diagnostics.add("E813", message, mark)

    # --- how far -----------------------------------------------------------------------------

    def _radius(self) -> tree.Argument | float | None:
        """Of a continuous space: a finite number above 0, or one argument."""
        given, mark, diagnostics = self._key.radius, self._key.marks["radius"], self._diagnostics
        if isinstance(given, str):
            argument = self._argument(given)
            if argument is not None and (argument.type.shape or not argument.type.is_number):
                message = f"a radius is one number, and {quote(given)} is {argument.type}"
                diagnostics.add("E813", message, mark)
                return None
            return argument
        if not (isfinite(given) and given > 0):
            diagnostics.add("E813", f"a radius is a finite number above 0, not {given:g}", mark)
            return None
        return float(given)

    def _argument(self, given: str) -> tree.Argument | None:
        kernel, scope, diagnostics = self._kernel, self._scope, self._diagnostics
        mark, argument = self._key.marks["radius"], scope.arguments.get(given)
        if argument is None:
            if given not in scope.invalid_names:
                message = f"the radius {quote(given)} is no argument of {quote(kernel.name)}"
                diagnostics.add("E813", message, mark, hint=did_you_mean(given, scope.arguments))
            return None
        if argument.each:
            message = f"a radius is the same for all rows, and {quote(given)} has a value for each"
            hint = "ask within the largest, and compare distance"
            diagnostics.add("E813", message, mark, hint=hint)
            return None
        return argument

    def _grid_radius(self) -> tree.Argument | tree.FieldValue | float | None:
        """On a grid: an integer from 0, an argument, or an integer field of the row."""
        given, mark, diagnostics = self._key.radius, self._key.marks["radius"], self._diagnostics
        if not isinstance(given, str):
            if not isfinite(given) or given != int(given):
                diagnostics.add("E803", f"a radius on a grid is an integer, not {given:g}", mark)
                return None
            if given < 0:
                diagnostics.add("E813", f"a radius is from 0, not {given:g}", mark)
                return None
            return int(given)
        scope = self._scope
        own = None if given in scope.arguments else self._field(given)
        found = own or self._argument(given)
        if found is None:
            return None
        if found.type.is_number and found.type.is_integer and not found.type.shape:
            return found
        message = f"a radius on a grid is an integer, and {quote(given)} is {found.type}"
        diagnostics.add("E803", message, mark)
        return None

    def _field(self, given: str) -> tree.FieldValue | None:
        owner, _, name = given.rpartition(".")
        component = self._askers.members.get(owner)
        fields = () if component is None else component.fields
        field = next((one for one in fields if one.name == name), None)
        type_ = None if field is None else value_type(field.type)
        return None if type_ is None else tree.FieldValue(type_, name, owner)


def _has_wrong_place(component: Component) -> bool:
    """Whether a component has a space, grid or place on a grid that is in error."""
    places = {"space": component.space, "grid": component.grid, "on": component.on}
    return any(key in component.marks and place is None for key, place in places.items())


def _grid_of(component: Component) -> str:
    """The grid that a component has, or on which its rows stand; nothing without one."""
    if component.grid is not None:
        return component.name
    return "" if component.on is None else component.on.grid


def find_owner_component(members: Members) -> str | None:
    """The first component of which rows have an owner, who is the same in all."""
    return next((name for name, one in members.items() if one.owner == "entity"), None)


# --- Names that mean something of neighbours ------------------------------------------------------


def _check_names(
    names: frozenset[str], kernel: Kernel, askers: NeighbourContext, scope: Scope
) -> None:
    """Report E103 for names that mean something of neighbours, and something else."""
    diagnostics = scope.diagnostics
    for name in sorted(names):
        if name in scope.arguments:
            _report("argument", name, kernel.marks[f"args.{name}"], diagnostics)
        elif name in scope.fields:
            _report("field", name, kernel.marks["near"], diagnostics)
        else:
            continue
        scope.invalid_names |= {name}
    for key in kernel.near:
        if key.name in {*_NO_NEIGHBOURHOOD, *askers.components, *scope.enums}:
            message = f"{quote(key.name)} cannot be the name of neighbours: it means something else"
            diagnostics.add("E103", message, key.marks[""])


def check_neighbour_names(
    parsed: list[tuple[SourceText, Assignment | ast.Call]], scope: Scope
) -> None:
    """Report E103 for steps that set such a name."""
    diagnostics, taken = scope.diagnostics, scope.neighbours.names if scope.neighbours else ()
    for text, step in parsed:
        target = target_of(step)
        if isinstance(target, ast.Name) and target.id in taken:
            if target.id not in scope.invalid_names:
                _report("local", target.id, text.place(target, diagnostics), diagnostics)
            scope.invalid_names |= {target.id}


def _report(what: str, name: str, mark: Mark, diagnostics: Diagnostics) -> None:
    message = f"the {what} {quote(name)} is called as what kernels with 'near' know of neighbours"
    diagnostics.add("E103", message, mark)


def check_row_fields(kernel: Kernel, program: tree.Program, diagnostics: Diagnostics) -> None:
    """Report E103 for neighbours called as a field of the row that a kernel of the world uses."""
    used = {name.rpartition(".")[2] for name in (*program.effects.reads, *program.effects.writes)}
    radii = (near.radius for near in program.neighbourhoods)
    used |= {radius.name for radius in radii if isinstance(radius, tree.FieldValue)}
    for key in kernel.near if kernel.over else ():
        if key.name in used and key.name != tree.OTHER:
            _report("field", key.name, key.marks[""], diagnostics)


def find_position_field(component: Component, owner: str) -> tree.FieldValue:
    """The field with the places of a component that has a space."""
    assert component.space is not None
    field = next(one for one in component.fields if one.name == component.space.field)
    type_ = value_type(field.type)
    assert type_ is not None
    return tree.FieldValue(type_, field.name, owner)
