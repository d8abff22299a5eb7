"""Neighbourhoods and occupancy of grids for plain loops; compiled twins have the same names."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...base.handles import RowArray
from ...managers.manager import BaseManager
from ...managers.policies.ids import IdMethods
from ...managers.policies.owners import Owned
from ...tables.columns import owner_column
from ..random_streams import draw_range
from ..turns import living_rows
from .cell_geometry import CellNeighbourhood, GridAxes
from .grid_layout import FIRST_CELL
from .grid_manager import GridManager
from .occupants import Occupant


class OccupancyIndex:
    """Occupants of each cell before the kernel."""

    def __init__(self, manager: Occupant) -> None:
        self.starts, self.rows = (array.tolist() for array in manager._occupants())
        self.empty: list[int] | None = None

    def occupants(self, reach: CellNeighbourhood, cell: int) -> list[int]:
        """Return the rows on the cells in reach of a cell, in their order."""
        starts, rows = self.starts, self.rows
        return [row for near in reach[cell] for row in rows[starts[near] : starts[near + 1]]]

    def occupants_here(self, cell: int) -> list[int]:
        """Return the rows on one cell, none if it is below 0."""
        starts = self.starts
        return self.rows[starts[cell] : starts[cell + 1]] if cell >= 0 else []

    def first(self, cell: int) -> int:
        """Return the first row on a cell, or -1."""
        start = self.starts[cell]
        return self.rows[start] if start < self.starts[cell + 1] else -1

    def count(self, cell: int) -> int:
        """Return the number of rows on a cell."""
        count: int = self.starts[cell + 1] - self.starts[cell]
        return count


class LiveOccupancy(OccupancyIndex):
    """Occupants of each cell now, in the order of their arrival."""

    def __init__(self, manager: Occupant) -> None:
        self._cells = len(manager._grid)
        self.here: dict[int, Any] = {}
        """Rows on each occupied cell, as keys of a dict."""
        for row, cell in enumerate(manager.cells_now().tolist()):
            if cell >= 0:
                self._put(cell, row)
        self._taken: dict[int, int] = {}
        """Number of places on each cell that are reserved for deferred spawns."""
        self.empty: list[int] | None = None

    def _put(self, cell: int, row: int) -> None:
        self.here.setdefault(cell, {})[row] = None

    def occupants(self, reach: CellNeighbourhood, cell: int) -> list[int]:
        """Return the rows on the cells in reach of a cell, in their order."""
        here = self.here
        return [row for near in reach.occupied(cell, here) if near in here for row in here[near]]

    def occupants_here(self, cell: int) -> list[int]:
        """Return the rows on one cell."""
        return list(self.here.get(cell, ()))

    def first(self, cell: int) -> int:
        """Return the row that came first, or -1."""
        return next(iter(self.here.get(cell, ())), -1)

    def count(self, cell: int) -> int:
        """Return the number of rows and of reserved places."""
        return len(self.here.get(cell, ())) + self._taken.get(cell, 0)

    def enter(self, cell: int, row: int) -> None:
        """Add a row to a cell."""
        self._put(cell, row)
        self._fill(cell)

    def leave(self, cell: int, row: int) -> None:
        """Remove a row from a cell."""
        del self.here[cell][row]
        if not self.here[cell]:
            self._clear(cell)

    def take(self, cell: int) -> None:
        """Reserve a place on a cell for a deferred spawn."""
        self._taken[cell] = self._taken.get(cell, 0) + 1
        self._fill(cell)

    def empties(self) -> list[int]:
        """Return the empty cells, in order at first."""
        if self.empty is None:
            cells = range(self._cells)
            self.empty = [cell for cell in cells if self.count(cell) == 0]
            self.spots = {cell: position for position, cell in enumerate(self.empty)}
        return self.empty

    def _clear(self, cell: int) -> None:
        """Append a cell that is empty now to the empty ones."""
        del self.here[cell]
        if self.empty is not None and cell not in self._taken:
            self.spots[cell] = len(self.empty)
            self.empty.append(cell)

    def _fill(self, cell: int) -> None:
        """Replace a cell that was empty by the last of the empty ones."""
        empty = self.empty
        if empty is not None and cell in self.spots:
            position, last = self.spots.pop(cell), empty.pop()
            if last != cell:
                empty[position] = last
                self.spots[last] = position


class ExclusiveOccupancy(LiveOccupancy):
    """Live occupancy of cells with capacity 1: `here` holds the row itself, no dict."""

    def _put(self, cell: int, row: int) -> None:
        self.here[cell] = row

    def occupants(self, reach: CellNeighbourhood, cell: int) -> list[int]:
        here = self.here
        return [here[near] for near in reach.occupied(cell, here) if near in here]

    def occupants_here(self, cell: int) -> list[int]:
        return [self.here[cell]] if cell in self.here else []

    def first(self, cell: int) -> int:
        row: int = self.here.get(cell, -1)
        return row

    def count(self, cell: int) -> int:
        return (cell in self.here) + self._taken.get(cell, 0)

    def leave(self, cell: int, row: int) -> None:
        self._clear(cell)


def occupancy_index(manager: Occupant) -> OccupancyIndex:
    """Return the occupants of each cell before the kernel; O(n) where few rows stand on a large
    grid, else O(n + cells)."""
    if manager.has_few_rows:
        return live_occupancy(manager, False)
    return OccupancyIndex(manager)


def live_occupancy(manager: Occupant, follows_empty: bool) -> LiveOccupancy:
    """Return the occupants of each cell, to be changed as rows move in turns; with `follows_empty`
    the empty cells as well."""
    is_exclusive = manager.data.CELL_CAPACITY == 1
    occupancy = (ExclusiveOccupancy if is_exclusive else LiveOccupancy)(manager)
    if follows_empty:
        occupancy.empties()
    return occupancy


def first_occupant_before(occupancy: OccupancyIndex, id: Any, cells: int) -> int:
    """Return the first row on a cell by its id; -1 if there is no row or no such cell."""
    cell = int(id) - FIRST_CELL
    return occupancy.first(cell) if 0 <= cell < cells else -1


first_occupant_now: Final = first_occupant_before


def move_to_free_cell(
    occupancy: LiveOccupancy, axes: GridAxes, row: int, old: Any, new: Any, capacity: int
) -> int:
    """Move a row to a cell unless it is full or no cell; return the id of the row's cell.
    `capacity` is the number of rows that a cell takes, 0 for any number."""
    if new == old:
        return int(old)
    cell, before = int(new) - FIRST_CELL, int(old) - FIRST_CELL
    if not 0 <= cell < axes.cells or (capacity and occupancy.count(cell) >= capacity):
        return int(old)
    occupancy.enter(cell, row)
    if before >= 0:
        occupancy.leave(before, row)
    return int(new)


def cell_has_capacity(occupancy: LiveOccupancy, axes: GridAxes, id: Any, capacity: int) -> bool:
    """Return True if a cell can take one more row."""
    cell = int(id) - FIRST_CELL
    return 0 <= cell < axes.cells and not (capacity and occupancy.count(cell) >= capacity)


def is_full_now(occupancy: OccupancyIndex, axes: GridAxes, id: Any, capacity: int) -> bool:
    """Return True if a cell has no room for one more row, or is none."""
    cell = int(id) - FIRST_CELL
    return not 0 <= cell < axes.cells or occupancy.count(cell) >= capacity


is_full_before: Final = is_full_now
"""Twin for cells as they were before the kernel."""


def reserve_cell(occupancy: LiveOccupancy, id: Any) -> None:
    """Reserve a place on a cell for a deferred spawn."""
    occupancy.take(int(id) - FIRST_CELL)


def leave_cell_if_on(occupancy: LiveOccupancy, id: Any, row: int) -> None:
    """Remove a row from its cell, if it has one."""
    if id:
        occupancy.leave(int(id) - FIRST_CELL, int(row))


def is_occupied_before(occupancy: OccupancyIndex, cell: int) -> bool:
    """Return True if a cell had a row before the kernel."""
    return occupancy.count(cell) > 0


def is_occupied_now(occupancy: LiveOccupancy, cell: int) -> bool:
    """Return True if a cell has a row now."""
    return cell in occupancy.here


def member_numbers(
    manager: BaseManager, members: RowArray, hidden: RowArray | None = None
) -> NDArray[np.int64]:
    """Return each row's number among the members of a group or query, -1 for no member and for
    hidden rows; O(n)."""
    numbers = np.full(manager.data.n, -1, np.int64)
    numbers[members] = np.arange(len(members))
    if hidden is not None:
        numbers[hidden] = -1
    return numbers


def empty_cells(manager: Occupant) -> list[int]:
    """Return the cells on which no row stands, in their order; O(n + cells)."""
    starts, _ = manager._occupants()
    cells: list[int] = (starts[1:] == starts[:-1]).nonzero()[0].tolist()
    return cells


def live_active_rows(manager: BaseManager) -> RowArray:
    """Return the active rows of alive entities, in their order; O(n)."""
    return living_rows(manager, getattr(manager.data, "n_active", manager.data.n))


def visible_members(
    manager: BaseManager, members: RowArray, hidden: RowArray | None = None
) -> RowArray:
    """Return the numbers of the members of a group or query whose rows are active and of alive
    entities, without hidden rows; O(n)."""
    is_visible = np.zeros(manager.data.n, np.bool_)
    is_visible[live_active_rows(manager)] = True
    if hidden is not None:
        is_visible[hidden] = False
    visible: RowArray = is_visible[members].nonzero()[0]
    return visible


def live_active_handles(manager: Owned | IdMethods | GridManager) -> NDArray[np.uint64]:
    """Return the entity of each row of `live_active_rows`, its id if rows have no owners; O(n)."""
    rows = live_active_rows(manager)
    if isinstance(manager, Owned):
        return owner_column(manager.data)[rows]
    return manager.id_of_many(rows)


class Choosing:
    """Rows of a component among which one call of a kernel chooses."""

    def __init__(self, manager: Owned | IdMethods | GridManager) -> None:
        self._manager = manager
        self._handles: NDArray[np.uint64] | None = None

    def choose(self, row_keys: Any, number: int, out: Any, word: Any, bits: Any) -> None:
        """Write the entity or id of a random alive row for each row of a block, 0 if there is none;
        otherwise as `draw_range`. O(rows), the first time O(n) as well."""
        if self._handles is None:
            self._handles = live_active_handles(self._manager)
        handles = self._handles
        draw_range(row_keys, number, len(handles), out.view(np.int64), word, bits)
        if len(handles) == 0:
            out[...] = 0
        else:
            handles.take(out.view(np.int64), out=out, mode="clip")
