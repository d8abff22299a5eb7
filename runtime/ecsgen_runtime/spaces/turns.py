"""Rows that take turns and ask neighbours: the cells of places as they are now, from which rows go
and to which they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import isfinite
from typing import Any, Final

import numpy as np

from ..handles import RowArray
from .cell_order import (
    CELL_STEPS,
    FARTHEST_CELL,
    CellNumbers,
    Places,
    grid_of,
    take_around,
)
from .search import PlaceNames


class TurnCells:
    """Members by the cells in which they are, those of one cell in the order in which they came."""

    __slots__ = (
        "_around_axes",
        "_cell_of",
        "_cells",
        "_counts",
        "_edges",
        "_names",
        "_numbers",
        "_reach",
        "_steps",
        "names",
        "places",
        "sizes",
    )

    def __init__(
        self,
        places: Places,
        numbers: CellNumbers,
        names: PlaceNames,
        other_names: PlaceNames,
        radius: float,
        wrap: Sequence[float],
    ) -> None:
        self.places = places
        """Where members are now, shape (axes, members); NaN of those who are in no cell."""
        self.names = other_names
        self._names = names
        self._numbers = numbers.tolist()
        grid = grid_of(radius, wrap, places.dtype.type)
        self._edges, self._counts, self._reach, self.sizes = grid
        self._around_axes = grid.sizes.T.tolist()
        steps = (CELL_STEPS[min(count, 3)] for count in self._counts)
        self._steps = list(product(*steps))
        self._cells: dict[tuple[int, ...], dict[int, None]] = {}
        self._cell_of: list[tuple[int, ...] | None] = [None] * places.shape[1]
        with np.errstate(all="ignore"):
            for member, place in enumerate(places.T.tolist()):
                self._enter(member, self._cell(place))

    def move(self, row: int, place: Sequence[Any]) -> None:
        """Let a row, which has another place now, go to its cell; to the end if that is another."""
        member = self._numbers[row]
        if member < 0:
            return
        cell, before = self._cell(place), self._cell_of[member]
        self.places[:, member] = np.nan if cell is None else place
        if cell != before:
            if before is not None:
                del self._cells[before][member]
            self._enter(member, cell)

    def find(self, own: int, place: Sequence[Any], found: RowArray) -> int:
        """Write which members are in reach of a place, in their order; return how many."""
        around = [member for cell in self._around(place) for member in cell]
        if not around:
            return 0
        members = np.array(around)
        square = None
        for axis, x in enumerate(place):
            apart = self.places[axis].take(members) - x
            take_around(apart, *self._around_axes[axis])
            square = apart * apart if square is None else square + apart * apart
        is_other = self.names.take(members) != self._names[own]
        near = members[(square <= self._reach) & is_other]
        found[: len(near)] = near
        return len(near)

    def _around(self, place: Sequence[Any]) -> Iterator[dict[int, None]]:
        """Give who is in the cells around a place, which is finite or has none."""
        cell = self._cell(place)
        for step in self._steps if cell is not None else ():
            axes = zip(cell or (), step, self._counts, strict=True)
            one = tuple((c + s) % count if count else c + s for c, s, count in axes)
            yield self._cells.get(one, {})

    def _enter(self, member: int, cell: tuple[int, ...] | None) -> None:
        self._cell_of[member] = cell
        if cell is not None:
            self._cells.setdefault(cell, {})[member] = None

    def _cell(self, place: Sequence[Any]) -> tuple[int, ...] | None:
        if not all(map(isfinite, place)):
            return None
        axes = zip(place, self._edges, self._counts, strict=True)
        return tuple(_cell_along(x, edge, count) for x, edge, count in axes)


def _cell_along(x: Any, edge: float, count: int) -> int:
    cell = float(np.floor(np.float64(x) / edge))
    if count and not 0 <= cell < count:
        cell %= count
    return int(min(max(cell, -FARTHEST_CELL), FARTHEST_CELL)) if cell == cell else 0


# As compiled loops call them.
turn_cells: Final = TurnCells
near_now: Final = TurnCells.find
move_to: Final = TurnCells.move
