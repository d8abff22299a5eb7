"""Neighbourhoods and occupancy of grids for plain loops; compiled twins have the same names."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache, cached_property, lru_cache, partial
from itertools import product
from math import prod, sqrt
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
from .grid_layout import (
    FIRST_CELL,
    Coordinates,
    GridLayout,
    are_in_reach,
    neighbourhood_offsets,
    ways_between,
)
from .grid_manager import GridManager
from .occupants import Occupant

MOORE: Final = "moore"
VON_NEUMANN: Final = "von_neumann"
AXES: Final = "axes"
HEX: Final = "hex"
"""Last of the hoods, by the names that kernels give them."""

_MAX_CACHED: Final = 1 << 21
"""Number of neighbours that are cached."""
_BATCH: Final = 1 << 10
"""Number of neighbours that are computed together: numpy takes as long for a few."""
_SEARCHED: Final = 1000
"""Number of cells in reach that cost as much as numpy takes to search few occupied cells."""


class CellNeighbourhood(dict[int, list[int]]):
    """Cells in reach of each cell, by offset; none for a number below 0."""

    def __init__(self, layout: GridLayout, hood: str, radius: int, center: bool) -> None:
        self._layout = layout
        self._reach = hood, radius
        self._center = center
        spans = [min(size, 2 * radius + 1) for size in layout.shape]
        self._most = sum(spans) if hood == AXES else prod(spans)
        """At least the number of cells in reach of a cell."""
        self._offsets: dict[int, list[list[int]]] = {}

    @cached_property
    def _steps(self) -> Coordinates:
        return neighbourhood_offsets(self._layout, *self._reach, self._center)

    @cached_property
    def _all_offsets(self) -> list[list[int]]:
        offsets: list[list[int]] = self._steps.tolist()
        return offsets

    @cached_property
    def _shifts(self) -> list[int]:
        """Distances in numbers to the cells in reach of a cell far from all borders."""
        shifts: list[int] = (self._steps @ np.array(self._layout.strides)).tolist()
        return shifts

    @cached_property
    def _inner(self) -> list[tuple[int, ...]]:
        """Stride and size of each axis, and the coordinates between which no border is crossed."""
        shape, steps = self._layout.shape, self._steps
        low, high = -steps.min(axis=0, initial=0), shape - steps.max(axis=0, initial=0)
        axes = zip(self._layout.strides, shape, low.tolist(), high.tolist(), strict=True)
        return list(axes)

    def __missing__(self, cell: int) -> list[int]:
        if cell < 0:
            return []
        if len(self) * len(self._steps) > _MAX_CACHED:
            self.clear()
            self._offsets.clear()
        if all(low <= cell // stride % size < high for stride, size, low, high in self._inner):
            self[cell], self._offsets[cell] = [cell + by for by in self._shifts], self._all_offsets
        else:
            self._find(cell)
        return self[cell]

    def ways(self, cell: int) -> list[list[int]]:
        """Return the offsets of the cells in reach of a cell."""
        return self._offsets[cell] if self[cell] else []

    def occupied(self, cell: int, here: Collection[int]) -> list[int]:
        """Return the cells in reach of a cell, itself too, in order: at least those that are
        occupied; O(the fewer of cells in reach and occupied ones)."""
        if cell < 0 or self._most < _SEARCHED + 2 * len(here):
            return self[cell]
        hood, radius = self._reach
        cells = np.fromiter(here, np.int64, len(here))
        ways = ways_between(self._layout, hood, cell, cells)
        are_met = are_in_reach(ways, hood, radius)
        order = np.lexsort(ways[are_met].T[::-1])
        occupied: list[int] = cells[are_met][order].tolist()
        return occupied

    def _find(self, cell: int) -> None:
        """Compute the neighbours of a cell near a border, and of cells beside it."""
        count, axes = self._steps.shape
        layout, batch = self._layout, 1 + _BATCH // (1 + count)
        first = cell - cell % batch
        cells = np.arange(first, min(first + batch, layout.cells))
        positions = layout.unravel(cells)[:, None, :] + self._steps
        neighbours = layout.ravel(positions.reshape(-1, axes)).reshape(len(cells), count)
        are_inside = np.all(neighbours >= 0, axis=1)
        columns = cells.tolist(), neighbours.tolist(), are_inside.tolist()
        for center, near, is_inside in zip(*columns, strict=True):
            offsets = self._all_offsets
            if not is_inside:
                offsets = [w for w, c in zip(offsets, near, strict=True) if c >= 0]
                near = [c for c in near if c >= 0]
            self[center], self._offsets[center] = near, offsets


class GridAxes:
    """Three axes of a grid; the first ones have one cell where the grid has fewer axes."""

    def __init__(self, layout: GridLayout) -> None:
        more = 3 - len(layout.shape)
        self.sizes = (1,) * more + layout.shape
        self.wrap = (False,) * more + layout.wrap
        self.strides = (layout.cells,) * more + layout.strides
        self.cells = layout.cells
        self.reach = cache(partial(CellNeighbourhood, layout))
        """Neighbourhood by hood, radius and center; cached for the next call."""


_axes = lru_cache(16)(GridAxes)


def grid_axes(grid: GridManager) -> GridAxes:
    """Return the axes of a grid."""
    return _axes(grid.grid_layout)


def refuse_radius(label: str, radius: Any) -> None:
    """Raise ValueError for a radius below 0."""
    if radius < 0:
        raise ValueError(f"{label}: wanted 0 or more, not {radius}")


def cell_neighbourhood(
    grid: GridManager, hood: str, radius: Any, center: bool
) -> CellNeighbourhood:
    """Return the cells in reach of each cell."""
    return grid_axes(grid).reach(hood, int(radius), center)


def coordinate_along(axes: GridAxes, cell: int, axis: int) -> int:
    """Return a cell's coordinate along an axis; 2 is the last one."""
    return cell // axes.strides[axis] % axes.sizes[axis]


def distance_along(axes: GridAxes, cell: int, other: int, axis: int) -> int:
    """Return the shortest distance to another cell along an axis: in (-s/2, s/2] if it wraps."""
    size = axes.sizes[axis]
    apart = coordinate_along(axes, other, axis) - coordinate_along(axes, cell, axis)
    if axes.wrap[axis]:
        if 2 * apart > size:
            apart -= size
        elif 2 * apart <= -size:
            apart += size
    return apart


def hex_steps(q: int, r: int) -> int:
    """Return the number of steps between hexagons at an offset in axial coordinates."""
    return max(abs(q), abs(r), abs(q + r))


def hex_offset(axes: GridAxes, cell: int, other: int) -> tuple[int, int]:
    """Return the offset of fewest steps to another hexagon, the first ascending of several: the
    shortest along each axis, or a size more or less where it wraps."""
    along = [distance_along(axes, cell, other, axis) for axis in (1, 2)]
    ways = zip(along, axes.sizes[1:], axes.wrap[1:], strict=True)
    q, r = ((o - size, o, o + size) if wraps else (o,) for o, size, wraps in ways)
    return min(product(q, r), key=lambda way: hex_steps(*way))


root_of: Final = sqrt
"""Square root of a Python number, with the bits of numpy's in a fraction of the time."""


def cell_at(axes: GridAxes, x: Any, y: Any, z: Any) -> int:
    """Return the id of the cell at coordinates, 0 outside of axes that do not wrap."""
    number = 0
    for coordinate, size, wraps, stride in zip(
        (int(x), int(y), int(z)), axes.sizes, axes.wrap, axes.strides, strict=True
    ):
        if wraps:
            coordinate %= size
        elif not 0 <= coordinate < size:
            return 0
        number += coordinate * stride
    return FIRST_CELL + number


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

    `capacity` is the number of rows that a cell takes, 0 for any number.
    """
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


def cell_number(id: Any) -> int:
    """Return the number of a cell by its id; below 0 for 0."""
    return int(id) - FIRST_CELL


def id_of_cell(cell: int) -> int:
    """Return the id of a cell."""
    return FIRST_CELL + int(cell)


def is_occupied_before(occupancy: OccupancyIndex, cell: int) -> bool:
    """Return True if a cell had a row before the kernel."""
    return occupancy.count(cell) > 0


def is_occupied_now(occupancy: LiveOccupancy, cell: int) -> bool:
    """Return True if a cell has a row now."""
    return cell in occupancy.here


def is_cell(axes: GridAxes, id: Any) -> bool:
    """Return True if an id is that of a cell."""
    return 0 <= cell_number(id) < axes.cells


def make_cell_id(slot: Any, generation: Any) -> int:
    """Return the id of a slot."""
    return int(generation) << 32 | int(slot)


def compare_nan_lowest(number: Any, other: Any) -> int:
    """Return 1 if a number is greater than another, -1 if less, 0 if equal; NaN is the least."""
    if number > other:
        return 1
    return -1 if number < other else int(number == number) - int(other == other)


def compare_nan_highest(number: Any, other: Any) -> int:
    """Return 1 if a number is less than another, -1 if greater, 0 if equal; NaN is the greatest."""
    if number < other:
        return 1
    return -1 if number > other else int(number == number) - int(other == other)


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
