"""What kernels do that ask neighbours, row by row: for comparison with generated worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
from ecsgen_runtime.testing.spaces import Cell, Space, answer, are_seen

from ecsgen.model.programs import (
    ENTITY,
    Argument,
    Distance,
    Expression,
    FieldValue,
    Offset,
    OtherField,
    Question,
    Step,
)
from tests.models.kernel_reference import Value
from tests.models.kernel_scalars import SCALARS as NUMPY
from tests.models.world_reference import WorldReference

Places = dict[str, int]


class NearReference(WorldReference):
    """Runs a kernel of a world or of a component, which may ask neighbours."""

    def _in_order(self) -> list[tuple[int, Places]]:
        near = self.kernel.program.near
        if near is not None:
            radius = near.radius
            if isinstance(radius, Argument):
                radius = float(NUMPY[radius.type.scalar](self.arguments[radius.name]))
            self.home_of_places = self._owner(near.place)
            self.space_key = self.home_of_places, near.place.name
            manager = self.manager(self.home_of_places)
            self.space = Space(radius, manager.wrap, self.now[self.space_key].dtype)
            self.is_one = near.among in ("", self.home or self.kernel.over)
            self._enter(near.among, are_seen(manager))
        return super()._in_order()

    def _enter(self, among: str, seen: list[bool]) -> None:
        """Put everybody who may be asked into a cell, in the order of their rows."""
        self.members = {rows[self.home_of_places]: rows for rows in self._rows(among)}
        self.cells: dict[Cell, list[int]] = {}
        self.cell_of: dict[int, Cell] = {}
        self.members = {
            row: rows
            for row, rows in self.members.items()
            if seen[row] and all(self._is_active(*one) for one in rows.items())
        }
        for row in self.members:
            self._move(row)

    def _is_active(self, component: str, row: int) -> bool:
        data = self.manager(component).data
        return not self.parts[component].partition or row < data._n_active

    def _move(self, row: int) -> None:
        """Let a member go to the cell of its place, to the end of those who are there."""
        place = self.now[self.space_key][row]
        cell = self.space.cell(place) if np.isfinite(place).all() else None
        before = self.cell_of.pop(row, None)
        if before is not None and before != cell:
            self.cells[before].remove(row)
        if cell is not None:
            self.cell_of[row] = cell
            if before != cell:
                self.cells.setdefault(cell, []).append(row)

    def put(self, key: tuple[str, str], place: tuple[int, ...], value: Value, step: Step) -> None:
        super().put(key, place, value, step)
        program = self.kernel.program
        moves = program.near is not None and program.takes_turns and key == self.space_key
        if moves and place[0] in self.members:
            self._move(place[0])

    def value(self, node: Expression) -> Value:
        match node:
            case Question():
                return self._answer(node)
            case Offset():
                return self.offset
            case Distance():
                return [np.sqrt(self.space.square(self.offset))]
            case OtherField():
                owner = self._owner(FieldValue(node.type, node.name, node.owner))
                row = self.asked[owner]
                if node.name == ENTITY:
                    return [np.uint64(self.manager(owner).data.entity[row])]
                return self._elements(self.others()[owner, node.name][row], node.type)
        return super().value(node)

    def _answer(self, node: Question) -> Value:
        values: list[Value] = []
        squares: list[Any] = []
        for asked, offset in self._around():
            self.asked, self.offset = asked, offset
            squares.append(self.space.square(self.offset))
            values.append([np.True_] if node.value is None else self.value(node.value))
        kind: Any = NUMPY[node.type.scalar]
        return answer(node.how, kind, node.type.elements, values, squares)

    def _around(self) -> list[tuple[Places, Value]]:
        """The neighbours of the row in their order, and the ways to them."""
        column, own = self.others()[self.space_key], self.places[self.home_of_places]
        place = column[own]
        if not np.isfinite(place).all():
            return []
        found = []
        for cell in self.space.around(self.space.cell(place)):
            for row in self.cells.get(cell, []):
                is_other = row != own if self.is_one else not self._is_same(self.members[row])
                if is_other and self.space.in_reach(place, column[row]):
                    found.append((self.members[row], self.space.offset(place, column[row])))
        return found

    def _is_same(self, member: Places) -> bool:
        """Whether a row of another set is of the same entity."""
        owners = self.manager(self.home_of_places).data.entity
        own, other = (rows[self.home_of_places] for rows in (self.places, member))
        return bool(owners[own] == owners[other])
