"""Occupancy of grids for compiled kernels, with the names of the plain twins."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...base.handles import RowArray
from ...base.jit import jit
from ...managers.policies.owners import Owned
from ...managers.policies.packed import Packed
from ...tables.columns import owner_column
from .. import blocks
from . import cell_occupancy as plain
from .compiled_cell_geometry import FIRST, CellArray, GridAxes
from .occupants import Occupant

OccupancyIndex = NDArray[np.intp]
"""Rows by cell: cell k has `occupancy[occupancy[k] : occupancy[k + 1]]`. In one array, for numba
would count the references of a tuple's arrays."""


def occupancy_index(manager: Occupant) -> OccupancyIndex:
    """Return the occupants of each cell before the kernel."""
    cache, stamp = manager.data._cell_occupants, manager._stamp
    if cache.order is None or cache.stamp != stamp:
        cells = len(manager._grid)
        occupancy = np.zeros(cells + 1 + manager.data.n, np.intp)
        _sort_all(*_cells_and_owners(manager), occupancy, cells)
        cache.order, cache.stamp = (occupancy[: cells + 1], occupancy), stamp
    return cache.order[1]


def selectable_rows(manager: Owned) -> tuple[int, RowArray]:
    """Return the number of active rows of alive entities, and those rows, of which only the first
    is there if they are consecutive. O(1) if no row was created or removed, else O(n)."""
    data = manager.data
    if isinstance(manager, Packed) and manager.are_all_alive():
        return getattr(data, "n_active", data.n), blocks.ALL_ROWS
    rows = plain.live_active_rows(manager)
    return len(rows), rows


_Handles = NDArray[np.uint64]
_NO_OWNERS: Final = np.empty(0, np.uint64)


def _cells_and_owners(manager: Occupant) -> tuple[_Handles, _Handles, _Handles, np.uint64]:
    """Return each row's cell id and owner, the alive entities' handles, and the index mask."""
    data = manager.data
    ids = data._cell_ids[: data.n]
    entities = getattr(manager, "_entities", None)
    if entities is None:
        return ids, _NO_OWNERS, _NO_OWNERS, np.uint64(0)
    owners = owner_column(data)[: data.n]  # type: ignore[arg-type]  # of owned rows
    return ids, owners, entities.handles, np.uint64(entities.HANDLE_LAYOUT.INDEX_MASK)


@jit(forceinline=True)
def _is_alive(owners: Any, handles: Any, mask: Any, row: Any) -> Any:
    """Return True if the owner of a row is alive, or if rows have no owners."""
    return len(owners) == 0 or handles[owners[row] & mask] == owners[row]


@jit()
def _sort_all(
    ids: NDArray[np.uint64],
    owners: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    mask: Any,
    occupancy: OccupancyIndex,
    cells: int,
) -> None:
    for row in range(len(ids)):
        cell = np.int64(ids[row] - FIRST)
        if 0 <= cell < cells and _is_alive(owners, handles, mask, row):
            occupancy[cell + 1] += 1
    occupancy[0] = cells + 1
    for number in range(cells):
        occupancy[number + 1] += occupancy[number]
    for row in range(len(ids)):
        cell = np.int64(ids[row] - FIRST)
        if 0 <= cell < cells and _is_alive(owners, handles, mask, row):
            occupancy[occupancy[cell]] = row
            occupancy[cell] += 1
    for number in range(cells, 0, -1):  # each start is now the next cell's
        occupancy[number] = occupancy[number - 1]
    occupancy[0] = cells + 1


@jit(forceinline=True)
def max_occupants(occupancy: Any, cells: Any) -> Any:
    """Return the maximal number of rows on all cells together."""
    return max(cells, len(occupancy) - cells - 1)


@jit(forceinline=True)
def occupants_before(
    occupancy: Any, cells: Any, count: Any, own_row: Any, owner: Any, owners: Any, out: Any
) -> Any:
    """Write the rows on cells in their order, without `own_row` and the rows of `owner`; return
    their number. `owners` is empty if rows have no owners."""
    met = 0
    for k in range(count):
        for index in range(occupancy[cells[k]], occupancy[cells[k] + 1]):
            row = occupancy[index]
            out[met] = row
            met += row != own_row if len(owners) == 0 else owners[row] != owner
    return met


@jit(forceinline=True)
def occupants_here_before(
    occupancy: Any, cell: Any, own_row: Any, owner: Any, owners: Any, out: Any
) -> Any:
    """Write the rows on one cell, none if it is below 0."""
    return occupants_before(occupancy, (cell,), 1 if cell >= 0 else 0, own_row, owner, owners, out)


@jit(forceinline=True)
def first_occupant_before(occupancy: Any, id: Any, count: Any) -> Any:
    """Return the first row on a cell by its id; -1 if there is no row or no such cell."""
    cell = np.int64(id - FIRST)
    if not 0 <= cell < count or occupancy[cell] == occupancy[cell + 1]:
        return -1
    return occupancy[occupancy[cell]]


LiveOccupancy = NDArray[np.int32]
"""Occupants of each cell now, in the order of their arrival.

The first line has the numbers of cells and of empty cells. Each cell has a line: its first row or
-1; the number of its occupants, reserved places included, or the negative position of an empty cell
among the empty ones; and the empty cell at the position of this line. If cells have a capacity
above 1, each row has a line: the row before it (of the first row: the last one) and the row after
it.
"""


FIRST_ROW: Final = 0
COUNT: Final = 1
EMPTY: Final = 2
BEFORE: Final = 0
BEHIND: Final = 1


def live_occupancy(manager: Occupant, follows_empty: bool) -> LiveOccupancy:
    """Return the occupants of each cell, to be changed as rows move in turns; with `follows_empty`
    the empty cells as well."""
    cells = len(manager._grid)
    rows = 0 if manager.data.CELL_CAPACITY == 1 else manager.data.n
    occupancy = np.empty((1 + cells + rows, 3 if follows_empty else 2), np.int32)
    _link_all(*_cells_and_owners(manager), occupancy, cells)
    return occupancy


@jit()
def _link_all(
    ids: NDArray[np.uint64],
    owners: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    mask: Any,
    occupancy: LiveOccupancy,
    cells: int,
) -> None:
    occupancy[0, 0], occupancy[0, 1] = cells, 0
    for line in range(1, cells + 1):
        occupancy[line, FIRST_ROW], occupancy[line, COUNT] = -1, 0
    for row in range(len(ids)):
        cell = np.int64(ids[row] - FIRST)
        if 0 <= cell < cells and _is_alive(owners, handles, mask, row):
            _append(occupancy, cell + 1, row)
            occupancy[cell + 1, COUNT] += 1
    if occupancy.shape[1] <= EMPTY:
        return
    free = 0
    for number in range(cells):
        occupancy[1 + free, EMPTY] = number
        if occupancy[1 + number, COUNT] == 0:
            occupancy[1 + number, COUNT] = -free
            free += 1
    occupancy[0, 1] = free


@jit(forceinline=True)
def _append(occupancy: Any, line: Any, row: Any) -> None:
    """Append a row to those on a cell."""
    first, rows = occupancy[line, FIRST_ROW], occupancy[0, 0] + 1
    if len(occupancy) == rows:  # the capacity of a cell is 1
        occupancy[line, FIRST_ROW] = row
    elif first < 0:
        occupancy[line, FIRST_ROW] = row
        occupancy[rows + row, BEFORE], occupancy[rows + row, BEHIND] = row, -1
    else:
        last = occupancy[rows + first, BEFORE]
        occupancy[rows + last, BEHIND], occupancy[rows + first, BEFORE] = row, row
        occupancy[rows + row, BEFORE], occupancy[rows + row, BEHIND] = last, -1


@jit(forceinline=True)
def occupants_now(
    occupancy: Any, cells: Any, count: Any, own_row: Any, owner: Any, owners: Any, out: Any
) -> Any:
    """Write the present rows on cells as `occupants_before` writes those before the kernel."""
    met, rows = 0, occupancy[0, 0] + 1
    if len(occupancy) == rows:
        for k in range(count):
            row = occupancy[1 + cells[k], FIRST_ROW]
            out[met] = row
            is_other = row != own_row if len(owners) == 0 else owners[row] != owner
            met += row >= 0 and is_other
        return met
    for k in range(count):
        row = occupancy[1 + cells[k], FIRST_ROW]
        while row >= 0:
            out[met] = row
            met += row != own_row if len(owners) == 0 else owners[row] != owner
            row = occupancy[rows + row, BEHIND]
    return met


@jit(forceinline=True)
def occupants_here_now(
    occupancy: Any, cell: Any, own_row: Any, owner: Any, owners: Any, out: Any
) -> Any:
    """Write the rows on one cell, none if it is below 0."""
    return occupants_now(occupancy, (cell,), 1 if cell >= 0 else 0, own_row, owner, owners, out)


@jit(forceinline=True)
def first_occupant_now(occupancy: Any, id: Any, count: Any) -> Any:
    """Return the row that came first to a cell by its id; -1 if there is no row or no such cell."""
    cell = np.int64(id - FIRST)
    return np.int64(occupancy[1 + cell, FIRST_ROW]) if 0 <= cell < count else -1


@jit(forceinline=True)
def enter_cell(occupancy: Any, cell: Any, row: Any) -> None:
    """Add a row to a cell."""
    _append(occupancy, 1 + cell, row)
    _fill(occupancy, 1 + cell)


@jit(forceinline=True)
def leave_cell(occupancy: Any, cell: Any, row: Any) -> None:
    """Remove a row from a cell."""
    _unlink(occupancy, cell, row)
    _empty(occupancy, cell)


@jit(forceinline=True)
def _unlink(occupancy: Any, cell: Any, row: Any) -> None:
    rows = occupancy[0, 0] + 1
    if len(occupancy) == rows:
        occupancy[1 + cell, FIRST_ROW] = -1
        return
    first, behind = occupancy[1 + cell, FIRST_ROW], occupancy[rows + row, BEHIND]
    before = occupancy[rows + row, BEFORE]
    if row == first:
        occupancy[1 + cell, FIRST_ROW] = behind
        if behind >= 0:
            occupancy[rows + behind, BEFORE] = before
    else:
        occupancy[rows + before, BEHIND] = behind
        occupancy[rows + (first if behind < 0 else behind), BEFORE] = before


@jit(forceinline=True)
def _empty(occupancy: Any, cell: Any) -> None:
    """Count one row less; append a cell that is empty now to the empty ones."""
    occupancy[1 + cell, COUNT] -= 1
    if occupancy.shape[1] > EMPTY and occupancy[1 + cell, COUNT] == 0:
        free = occupancy[0, 1]
        occupancy[1 + cell, COUNT], occupancy[1 + free, EMPTY] = -free, cell
        occupancy[0, 1] = free + 1


@jit(forceinline=True)
def _fill(occupancy: Any, line: Any) -> None:
    """Count one row more; replace a cell that was empty by the last of the empty ones."""
    if occupancy[line, COUNT] > 0 or occupancy.shape[1] <= EMPTY:
        occupancy[line, COUNT] += 1
        return
    position, free = -occupancy[line, COUNT], occupancy[0, 1] - 1
    last = occupancy[1 + free, EMPTY]
    occupancy[1 + position, EMPTY], occupancy[1 + last, COUNT] = last, -position
    occupancy[0, 1], occupancy[line, COUNT] = free, 1


@jit(forceinline=True)
def move_to_free_cell(
    occupancy: LiveOccupancy, axes: GridAxes, row: int, old: Any, new: Any, capacity: int
) -> Any:
    """Move a row to a cell unless it is full or no cell; return the id of the row's cell.
    `capacity` is the number of rows that a cell takes, 0 for any number."""
    cell, before = np.int64(new - FIRST), np.int64(old - FIRST)
    if cell == before or not 0 <= cell < axes.cells:
        return old
    if capacity > 0 and occupancy[1 + cell, COUNT] >= capacity:
        return old
    if before >= 0:
        _unlink(occupancy, before, row)
    enter_cell(occupancy, cell, row)
    if before >= 0:
        _empty(occupancy, before)
    return new


@jit(forceinline=True)
def cell_has_capacity(occupancy: LiveOccupancy, axes: GridAxes, id: Any, capacity: Any) -> Any:
    """Return True if a cell can take one more row."""
    cell = np.int64(id - FIRST)
    if not 0 <= cell < axes.cells:
        return False
    return not (capacity > 0 and occupancy[1 + cell, COUNT] >= capacity)


@jit(forceinline=True)
def is_full_before(occupancy: OccupancyIndex, axes: GridAxes, id: Any, capacity: Any) -> Any:
    """Return True if a cell had no room for one more row before the kernel, or is none."""
    cell = np.int64(id - FIRST)
    if not 0 <= cell < axes.cells:
        return True
    return occupancy[cell + 1] - occupancy[cell] >= capacity


@jit(forceinline=True)
def is_full_now(occupancy: LiveOccupancy, axes: GridAxes, id: Any, capacity: Any) -> Any:
    """Return True if a cell has no room for one more row, or is none."""
    return not cell_has_capacity(occupancy, axes, id, capacity)


@jit(forceinline=True)
def reserve_cell(occupancy: LiveOccupancy, id: Any) -> None:
    """Reserve a place on a cell for a deferred spawn."""
    _fill(occupancy, np.int64(id - FIRST) + 1)


@jit(forceinline=True)
def leave_cell_if_on(occupancy: LiveOccupancy, id: Any, row: int) -> None:
    """Remove a row from its cell, if it has one."""
    if id != 0:
        leave_cell(occupancy, np.int64(id - FIRST), row)


@jit(forceinline=True)
def is_occupied_before(occupancy: OccupancyIndex, cell: Any) -> Any:
    """Return True if a cell had a row before the kernel."""
    return occupancy[cell] < occupancy[cell + 1]


@jit(forceinline=True)
def is_occupied_now(occupancy: LiveOccupancy, cell: Any) -> Any:
    """Return True if a cell has a row now."""
    return occupancy[1 + cell, FIRST_ROW] >= 0


@jit(forceinline=True)
def count_empty(occupancy: LiveOccupancy) -> Any:
    """Return the number of empty cells now."""
    return np.int64(occupancy[0, 1])


@jit(forceinline=True)
def empty_cell(occupancy: LiveOccupancy, position: Any) -> Any:
    """Return the empty cell at a position among them."""
    return occupancy[1 + position, EMPTY]


@jit()
def members_alone(numbers: NDArray[np.int64], rows: CellArray, count: int) -> int:
    """Replace rows by their member numbers, leaving out those of no member; return their number."""
    n_members = 0
    for k in range(count):
        rows[n_members] = numbers[rows[k]]
        n_members += rows[n_members] >= 0
    return n_members


def empty_cells(manager: Occupant) -> CellArray:
    """Return the cells on which no row stands, in their order; O(n + cells)."""
    return np.array(plain.empty_cells(manager), np.int32)
