"""Functions about cells, and random rows: `choice(Sheep)`, `random_empty(Sheep)`, `coords(cell)`,
`cell_at(Patch, place)`, `full(cell, Sheep)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels.neighbour_aggregates import NeighbourScope, type_condition
from ecsgen.kernels.parsing import KernelError, check_count, position_of
from ecsgen.kernels.random_numbers import NoDraws
from ecsgen.kernels.references import target_of_id
from ecsgen.kernels.scope import ReferenceScope, Scope
from ecsgen.model import Component
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import BOOL, Type


@dataclass(frozen=True, slots=True)
class GridFunctions:
    """Typing of calls about cells, and of random choices of rows, in one kernel."""

    scope: Scope
    infer: Callable[[ast.expr], tree.Expression]

    def is_choice(self, node: ast.Call, name: str) -> bool:
        """Return True if a call chooses among all rows or cells, and not among neighbours."""
        if name == "random_empty":
            return True
        if name != "choice" or len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
            return False
        component_name, near = node.args[0].id, self.scope.neighbours
        is_near = near is not None and component_name in near.by_name
        return component_name in self.scope.reference_scope.names and not is_near

    def type_choice(self, node: ast.Call, name: str, no_draws: NoDraws | None) -> tree.Expression:
        """Return the expression for `choice(C)` or `random_empty(C)`. Raises E808, E810, E812."""
        check_count(name, node, 1, 1)
        options = {keyword.arg: keyword.value for keyword in node.keywords}
        if options.keys() - ({"where"} if name == "choice" else set()):
            message = "the choice is among all rows: it takes 'where' alone"
            if name == "random_empty":
                message = "the choice is among all empty cells: it takes no 'where'"
            raise KernelError("E801", message, node)
        component = self._component(node.args[0])
        if no_draws is not None:
            raise KernelError("E812", no_draws.message, node, no_draws.hint)
        if name == "random_empty":
            if component.on is None:
                message = f"{quote(component.name)} has no cells to stand on"
                raise KernelError("E810", message, node.args[0], "give it the key 'on'")
            kind = tree.id_type(component.on.grid)
            return tree.RandomChoice(kind, "empty", component.name, position_of(node))
        if options:
            return self._choice_where(component, options["where"], node)
        kind = tree.id_type(component.name) if component.owner == "none" else tree.HANDLE
        return tree.RandomChoice(kind, "any", component.name, position_of(node))

    def _choice_where(
        self, component: Component, where: ast.expr, node: ast.Call
    ) -> tree.NeighbourAggregate:
        """Return a choice among the rows of a component for which a condition is true."""
        scope, name = self.scope, f"any_{component.name}_"
        owner = tree.OWN if scope.reference_scope.home == component.name else component.name
        owner_component = owner if component.owner == "entity" else None
        scope.candidate = NeighbourScope(name, None, {owner: component}, owner_component)
        scope.hidden |= {f"{owner}.{field.name}" for field in component.indirect_fields if owner}
        try:
            value, condition = scope.candidate.itself(node), type_condition(where, self.infer)
        finally:
            scope.candidate = None
        position = tree.FieldValue(tree.HANDLE, tree.ENTITY, owner)
        rows = tree.Neighbourhood(None, position, component.name, name, has_itself=True)
        scope.choices[name], number = rows, position_of(node)
        return tree.NeighbourAggregate(value.type, "choice", value, name, condition, (), number)

    def _component(self, node: ast.expr) -> Component:
        name, references = node.id if isinstance(node, ast.Name) else "", self.scope.reference_scope
        if name not in references.names:
            hint = did_you_mean(name, references.names)
            raise KernelError("E802", "the name of a component belongs here", node, hint)
        if references.refusal:
            raise KernelError("E810", references.refusal, node, references.hint)
        if name in references.chunked:
            message = f"rows of {quote(name)} cannot be referred to: it lives in archetypes"
            raise KernelError("E810", message, node)
        if name not in references.components:
            message = f"a kernel of {quote(references.home)} cannot use rows of {quote(name)}"
            raise KernelError("E810", message, node, references.of_the_world)
        return references.components[name]

    def type_position(self, node: ast.Call, name: str) -> tree.Expression:
        """Return `coords(I)`, `cell_at(G, v)` or `full(I, C)`, typed. Raises E803 to E810."""
        if name == "full":
            return self._type_full(node)
        if name == "coords":
            check_count(name, node, 1, 1)
            handle = self.infer(node.args[0])
            grid = self._grid(target_of_id(handle), node.args[0], f"{handle.type} is no cell")
            return tree.Coordinates(self._position_type(grid), grid.name, handle)
        check_count(name, node, 2, 2)
        component = self._component(node.args[0])
        grid = self._grid(component.name, node.args[0], f"{quote(component.name)} has no grid")
        position, wanted = self.infer(node.args[1]), self._position_type(grid)
        if not position.type.is_number or position.type.is_float:
            message = f"a place is made of integers, not of {position.type}"
            raise KernelError("E803", message, node.args[1], "write i64(…) to convert it")
        if position.type.shape != wanted.shape:
            message = f"a place on {quote(grid.name)} is {wanted}, not {position.type}"
            raise KernelError("E804", message, node.args[1])
        return tree.CellAt(tree.id_type(grid.name), grid.name, position)

    def _type_full(self, node: ast.Call) -> tree.Full:
        check_count("full", node, 2, 2)
        handle, component = self.infer(node.args[0]), self._component(node.args[1])
        grid = self._grid(target_of_id(handle), node.args[0], f"{handle.type} is no cell")
        if component.on is None or component.on.grid != grid.name:
            message = f"no rows of {quote(component.name)} stand on cells of {quote(grid.name)}"
            raise KernelError("E810", message, node.args[1])
        if not component.on.capacity:
            message = f"cells have room for any number of {quote(component.name)}"
            hint = f"as in `on: {{field: {component.on.field}, capacity: 1}}`"
            raise KernelError("E810", message, node.args[1], hint)
        return tree.Full(BOOL, component.name, handle)

    def _grid(self, name: str, node: ast.expr, why: str) -> Component:
        component = self.scope.reference_scope.components.get(name)
        if component is None or component.grid is None:
            raise KernelError("E803", why, node)
        return component

    @staticmethod
    def _position_type(grid: Component) -> Type:
        assert grid.grid is not None
        return Type("i64", (len(grid.grid.shape),))


def grid_facts(
    actions: Sequence[tree.Step],
    expressions: Sequence[tree.Expression],
    nears: tuple[tree.Neighbourhood, ...],
    references: ReferenceScope,
) -> tuple[frozenset[str], bool]:
    """Return the components whose occupancy turns track, and whether a kernel uses cells."""
    components = references.components
    sent = (step.target for step in actions if isinstance(step.target, tree.ReferencedField))
    nodes = [*tree.walk(*expressions, *sent)]
    named = [node for node in nodes if isinstance(node, tree.ReferencedField | tree.Exists)]
    occupancies = {name: c.on for name, c in components.items() if c.on is not None}
    written = [part for step in actions for part in _written_fields(step, references.home)]
    moved = {c for c, field in written if c in occupancies and occupancies[c].field == field}
    tracked = {near.on.occupant for near in nears if near.on is not None} - {""}
    tracked |= {name for name in moved if occupancies[name].capacity}
    tracked |= {n.component for n in named if references.is_occupant_of(n.component, n.handle)}
    for node in nodes:
        match node:
            case tree.Occupied() | tree.Full() | tree.RandomChoice(candidates="empty"):
                tracked.add(node.component)
    grids = {name for name, component in components.items() if component.grid is not None}
    uses_grids = any(near.on is not None for near in nears) or bool(tracked or moved)
    uses_grids = uses_grids or any(node.component in grids for node in named)
    is_of_cells = (isinstance(node, tree.Coordinates | tree.CellAt) for node in nodes)
    return frozenset(tracked), uses_grids or any(is_of_cells)


def _written_fields(step: tree.Step, home: str) -> Iterator[tuple[str, str]]:
    """Yield the fields that a step writes or gives to new rows, behind their components."""
    match step.target:
        case tree.FieldValue(name=name, owner=owner):
            yield owner or home, name
        case tree.ReferencedField(name=name, component=component):
            yield component, name
        case tree.Spawn(instances=instances):
            yield from ((new.component, name) for new in instances for name, _ in new.values)
