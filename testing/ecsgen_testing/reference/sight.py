"""Sight of rows in one call: fields of others, cells of grids and their occupants, radii."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .naive_world import Actor, Row, World
from .schema import SETTINGS, Kernel, Reduction
from .values import Value


class Sight:
    """Fields, cells and radii as rows see them of each other while a kernel or reduction reads."""

    def __init__(
        self, world: World, source: Kernel | Reduction, arguments: Mapping[str, Value]
    ) -> None:
        self.world, self.source, self.arguments = world, source, arguments
        self.components = world.schema.components
        self.in_turns = isinstance(source, Kernel) and bool(source.turns)
        self.key = 0
        """The call's key, which random numbers depend on."""
        self.reduced: dict[str, Value] = {}
        """The values of reductions when the kernel is called."""
        self._before: dict[Row, dict[str, Value]] = {}
        """Fields that rows have written, as they were before; empty in turns."""
        self._occupants: dict[str, Occupants] = {}

    def remember(self, row: Row, field: str) -> None:
        """Keep a field as it is before the row's first write to it, for others to see."""
        if not self.in_turns:
            self._before.setdefault(row, {}).setdefault(field, row.cells[field])

    def who(self, over: str, row: Row) -> int:
        """Return what stands for an actor in random words: its entity or its id."""
        has_many = over in self.components and self.components[over].has_many
        return row.id if has_many or not row.owner else row.owner

    def active(self, over: str) -> list[Actor]:
        """Return the actors of a component, group or query whose rows are all active."""
        actors = self.world.actors(over)
        return [actor for actor in actors if all(row.is_active for row in actor.values())]

    def seen(self, row: Row, field: str) -> Value:
        """Return a field as others see it: as it was before the kernel; in turns as it is now."""
        if self._before and row in self._before and field in self._before[row]:
            return self._before[row][field]
        return row.cells[field]

    def radius(self, radius: float | str, actor: Actor | None = None) -> Any:
        """Return a number, an argument, setting, or reduction; of a row also a field, else None."""
        if not isinstance(radius, str):
            return radius
        if radius.endswith("()"):
            return self.reduced[radius[:-2]].one
        if radius in self.arguments:
            return self.arguments[radius].one
        *base, name = radius.split(".")
        if base == [SETTINGS]:
            return self.world.settings[name].one
        return self.seen(actor[base[0] if base else self.source.home], name).one if actor else None

    def cell_number(self, row: Row) -> int:
        """Return the id of the cell on which others see a row stand."""
        return int(self.seen(row, self.components[row.component].stands).one)

    def occupants(self, name: str) -> Occupants:
        """Return the rows of a component by their cells: those before the kernel, or of now."""
        if name not in self._occupants:
            self._occupants[name] = Occupants(self, name)
        return self._occupants[name]

    def is_full(self, name: str, cell: int) -> bool:
        """Return True if a cell has no room for another row of a component, or is none."""
        component = self.components[name]
        has_cell = self.world.grids[component.grid].has(cell)
        return not has_cell or self.occupants(name).count(cell) >= component.capacity


class Occupants:
    """Rows of a component by the cell on which they stand, in row order, then as they came there.

    `empty`: the cells on which nobody stands, in order; a cell that is taken leaves its place to
    the last one, one that becomes empty is added at the end.
    """

    def __init__(self, sight: Sight, name: str) -> None:
        self._sight, self._name = sight, name
        self._rows: dict[int, list[Row]] = {}
        for row in sight.world.rows[name]:
            if sight.world.lives(row):
                self._rows.setdefault(sight.cell_number(row), []).append(row)
        cells = sight.world.rows[sight.components[name].grid]
        self.empty = [cell.id for cell in cells if not self._rows.get(cell.id)]
        self._reserved: dict[int, int] = {}
        """Rows to be spawned in turns, by their cell."""

    def standing(self, cell: int) -> list[Row]:
        """Return the living rows on a cell."""
        lives = self._sight.world.lives
        return [row for row in self._rows.get(cell, ()) if lives(row)] if cell else []

    def count(self, cell: int) -> int:
        """Return how many rows a cell has, those to be spawned as well."""
        return len(self.standing(cell)) + self._reserved.get(cell, 0)

    def move(self, row: Row, old: int, new: int) -> None:
        """Move a row: the new cell is taken first, then the old one is free."""
        if old:
            self._rows[old].remove(row)
        self._rows.setdefault(new, []).append(row)
        self._take(new)
        self.release(old)

    def reserve(self, cell: int) -> None:
        """Take a cell for a row to be spawned."""
        self._reserved[cell] = self._reserved.get(cell, 0) + 1
        self._take(cell)

    def release(self, cell: int) -> None:
        """Take note that a row has left a cell, or has died on it."""
        grid = self._sight.world.grids[self._sight.components[self._name].grid]
        if grid.has(cell) and not self.count(cell):
            self.empty.append(cell)

    def _take(self, cell: int) -> None:
        if cell in self.empty:
            self.empty[self.empty.index(cell)] = self.empty[-1]
            self.empty.pop()
