"""What kernels say of cells and of chance: `choice(Sheep)`, `random_empty(Sheep)`, `coords(cell)`,
`cell_at(Patch, place)`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels.parsing import KernelError, check_count
from ecsgen.kernels.random_numbers import NoDraws
from ecsgen.kernels.references import target_of_id
from ecsgen.kernels.scope import ReferenceScope, Scope
from ecsgen.model import Component
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import Type


@dataclass(frozen=True, slots=True)
class GridWords:
    """Types them in one kernel."""

    scope: Scope
    infer: Callable[[ast.expr], tree.Expression]

    def chooses(self, node: ast.Call, name: str) -> bool:
        """Whether a call chooses among all rows or cells, and not among neighbours."""
        if name == "random_empty":
            return True
        if name != "choice" or len(node.args) != 1 or not isinstance(node.args[0], ast.Name):
            return False
        given, near = node.args[0].id, self.scope.neighbours
        is_near = near is not None and given in near.by_name
        return given in self.scope.reference_scope.names and not is_near

    def chosen(self, node: ast.Call, name: str, no_draws: NoDraws | None) -> tree.Expression:
        """What `choice(C)` or `random_empty(C)` stands for; reports E808, E810, E812."""
        check_count(name, node, 1, 1)
        if node.keywords:
            raise KernelError("E801", "it is chosen among all: there is no 'where' here", node)
        component = self._component(node.args[0])
        if no_draws is not None:
            raise KernelError("E812", no_draws.message, node, no_draws.hint)
        if name == "random_empty":
            if component.on is None:
                message = f"{quote(component.name)} stands on no grid"
                raise KernelError("E810", message, node.args[0], "give it the key 'on'")
            kind = Type("u64", (), f"id<{component.on.grid}>")
            return tree.RandomChoice(kind, "empty", component.name, node.col_offset)
        kind = tree.HANDLE
        if component.owner == "none":
            kind = Type("u64", (), f"id<{component.name}>")
        return tree.RandomChoice(kind, "any", component.name, node.col_offset)

    def _component(self, node: ast.expr) -> Component:
        name = node.id if isinstance(node, ast.Name) else ""
        if name not in self.scope.reference_scope.names:
            hint = did_you_mean(name, self.scope.reference_scope.names)
            raise KernelError("E802", "the name of a component belongs here", node, hint)
        if self.scope.reference_scope.refusal:
            raise KernelError(
                "E810", self.scope.reference_scope.refusal, node, self.scope.reference_scope.hint
            )
        if (
            name not in self.scope.reference_scope.components
            or name in self.scope.reference_scope.chunked
        ):
            home = quote(self.scope.reference_scope.home)
            message = f"a kernel of {home} knows no rows of {quote(name)}"
            if name in self.scope.reference_scope.chunked:
                message = f"{quote(name)} lives in archetypes"
            raise KernelError("E810", message, node, self.scope.reference_scope.of_the_world)
        return self.scope.reference_scope.components[name]

    def place(self, node: ast.Call, name: str) -> tree.Expression:
        """What `coords(I)` or `cell_at(G, v)` stands for; reports E803, E804, E808, E810."""
        if name == "coords":
            check_count(name, node, 1, 1)
            handle = self.infer(node.args[0])
            grid = self._grid(target_of_id(handle), node.args[0], f"{handle.type} is no cell")
            return tree.Coordinates(self._place_type(grid), grid.name, handle)
        check_count(name, node, 2, 2)
        component = self._component(node.args[0])
        grid = self._grid(component.name, node.args[0], f"{quote(component.name)} has no grid")
        place, wanted = self.infer(node.args[1]), self._place_type(grid)
        if not place.type.is_number or place.type.is_float:
            message = f"a place is made of integers, not of {place.type}"
            raise KernelError("E803", message, node.args[1], "write i64(…) to convert it")
        if place.type.shape != wanted.shape:
            message = f"a place on {quote(grid.name)} is {wanted}, not {place.type}"
            raise KernelError("E804", message, node.args[1])
        return tree.CellAt(Type("u64", (), f"id<{grid.name}>"), grid.name, place)

    def _grid(self, name: str, node: ast.expr, why: str) -> Component:
        component = self.scope.reference_scope.components.get(name)
        if component is None or component.grid is None:
            raise KernelError("E803", why, node)
        return component

    @staticmethod
    def _place_type(grid: Component) -> Type:
        assert grid.grid is not None
        return Type("i64", (len(grid.grid.shape),))


def grid_facts(
    where: tree.Expression | None,
    steps: tuple[tree.Step, ...],
    nears: tuple[tree.Neighbourhood, ...],
    reach: ReferenceScope,
) -> tuple[frozenset[str], bool]:
    """The components of whom it matters in turns where they stand meanwhile, and whether a kernel
    has to do with cells."""
    watched = {near.on.occupant for near in nears if near.on is not None} - {""}
    knows = any(near.on is not None for near in nears)
    sent = (step.target for step in steps if isinstance(step.target, tree.ReferencedField))
    parts = (*tree.expressions_of(where, steps), *sent)
    for node in tree.walk(*parts):
        match node:
            case tree.Occupied(component=name) | tree.RandomChoice(
                component=name, candidates="empty"
            ):
                watched.add(name)
            case tree.ReferencedField() | tree.Exists():
                name, handle = node.component, node.handle
                if reach.is_occupant_of(name, handle):
                    watched.add(name)
                known = reach.components.get(name)
                knows = knows or (known is not None and known.grid is not None)
            case tree.Coordinates() | tree.CellAt():
                knows = True
    for step in steps:
        moved, is_move = _moved(step, reach)
        watched |= moved
        knows = knows or is_move
    return frozenset(watched), knows or bool(watched)


def _moved(step: tree.Step, reach: ReferenceScope) -> tuple[set[str], bool]:
    """The components with a capacity whose rows a step moves or has born, and whether any moves."""
    match step.target:
        case tree.FieldValue(name=name, owner=owner):
            goes: dict[str, tuple[str, ...]] = {owner or reach.home: (name,)}
        case tree.ReferencedField(name=name, component=owner):
            goes = {owner: (name,)}
        case tree.Spawn(instances=newborn):
            goes = {one.component: tuple(name for name, _ in one.values) for one in newborn}
        case _:
            return set(), False
    standing = {
        one.name: one.on
        for name, fields in goes.items()
        if (one := reach.components.get(name)) is not None and one.on and one.on.field in fields
    }
    return {name for name, on in standing.items() if on.capacity}, bool(standing)
