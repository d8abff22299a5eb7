"""What kernels see of grids: cells in reach, who stands on them, and in turns as it is now.

As plain loops have it; compiled ones have the same under the same names.
"""

from __future__ import annotations

from functools import cache, lru_cache, partial
from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...base.handles import RowArray
from ..random_streams import draw_range
from .grid_layout import FIRST_CELL, GridLayout, neighbourhood_offsets
from .grid_manager import GridManager
from .occupants import Occupant

MOORE: Final = "moore"
VON_NEUMANN: Final = "von_neumann"
AXES: Final = "axes"
"""The hoods, as kernels name them."""


_MOST_KNOWN: Final = 1 << 21
"""So many cells are kept as those in reach of others."""
_MADE_AT_ONCE: Final = 1 << 12
"""So many of them are found together: numpy takes as long for a few."""


class CellNeighbourhood(dict[int, list[int]]):
    """The cells in reach of each cell, by offset; none of what is none."""

    __slots__ = ("_all_ways", "_layout", "_steps", "_ways")

    def __init__(self, layout: GridLayout, hood: str, radius: int, center: bool) -> None:
        self._layout = layout
        self._steps = neighbourhood_offsets(layout, hood, radius, center)
        self._all_ways: list[list[int]] = self._steps.tolist()
        self._ways: dict[int, list[list[int]]] = {}

    def __missing__(self, cell: int) -> list[int]:
        if cell < 0:
            return []
        self._find(cell)
        return self[cell]

    def ways(self, cell: int) -> list[list[int]]:
        """Return the offset of each of those in reach of a cell."""
        return self._ways[cell] if self[cell] else []

    def _find(self, cell: int) -> None:
        """Find those of a cell, and of some beside it."""
        count, axes = self._steps.shape
        if len(self) * count > _MOST_KNOWN:
            self.clear()
            self._ways.clear()
        layout, some = self._layout, 1 + _MADE_AT_ONCE // (1 + count)
        first = cell - cell % some
        cells = np.arange(first, min(first + some, layout.cells))
        places = layout.unravel(cells)[:, None, :] + self._steps
        found = layout.ravel(places.reshape(-1, axes)).reshape(len(cells), count)
        all_inside = np.all(found >= 0, axis=1)
        each = cells.tolist(), found.tolist(), all_inside.tolist()
        for one, near, is_whole in zip(*each, strict=True):
            ways = self._all_ways
            if not is_whole:
                ways = [w for w, c in zip(ways, near, strict=True) if c >= 0]
                near = [c for c in near if c >= 0]
            self[one], self._ways[one] = near, ways


class GridAxes:
    """A grid as kernels take it: three axes, the first ones of one cell where there are fewer."""

    def __init__(self, layout: GridLayout) -> None:
        more = 3 - len(layout.shape)
        self.sizes = (1,) * more + layout.shape
        self.wrap = (False,) * more + layout.wrap
        self.strides = (layout.cells,) * more + layout.strides
        self.cells = layout.cells
        self.reach = cache(partial(CellNeighbourhood, layout))
        """The cells in reach of each, by hood, radius and center; kept for the next call."""


_axes = lru_cache(16)(GridAxes)


def grid_axes(grid: GridManager) -> GridAxes:
    """Return a grid as kernels take it."""
    return _axes(grid._layout)


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
    """Return where a cell is along an axis, the last of which is 2."""
    return cell // axes.strides[axis] % axes.sizes[axis]


def distance_along(axes: GridAxes, one: int, other: int, axis: int) -> int:
    """Return how far another cell is along an axis, the short way: in (-s/2, s/2] around."""
    size = axes.sizes[axis]
    apart = coordinate_along(axes, other, axis) - coordinate_along(axes, one, axis)
    if axes.wrap[axis]:
        if 2 * apart > size:
            apart -= size
        elif 2 * apart <= -size:
            apart += size
    return apart


root_of: Final = sqrt
"""Of a number of Python's own in a fraction of the time that numpy takes, and the same."""


def cell_at(axes: GridAxes, x: Any, y: Any, z: Any) -> int:
    """Return the id of the cell at a place, 0 outside of axes that do not go around."""
    found = 0
    for place, size, goes_around, stride in zip(
        (int(x), int(y), int(z)), axes.sizes, axes.wrap, axes.strides, strict=True
    ):
        if goes_around:
            place %= size
        elif not 0 <= place < size:
            return 0
        found += place * stride
    return FIRST_CELL + found


class OccupancyIndex:
    """Who stands on each cell before the kernel."""

    def __init__(self, manager: Occupant) -> None:
        self.starts, self.rows = (each.tolist() for each in manager._occupants())
        self.empty: list[int] | None = None

    def occupants(self, cells: list[int]) -> list[int]:
        """Return the rows on cells, in their order."""
        starts, rows = self.starts, self.rows
        return [row for cell in cells for row in rows[starts[cell] : starts[cell + 1]]]

    def occupants_here(self, cell: int) -> list[int]:
        """Return those on one cell, none of one below 0."""
        starts = self.starts
        return self.rows[starts[cell] : starts[cell + 1]] if cell >= 0 else []

    def first(self, cell: int) -> int:
        """Return the first row on a cell, or -1."""
        start = self.starts[cell]
        return self.rows[start] if start < self.starts[cell + 1] else -1


class LiveOccupancy:
    """Who stands on each cell now, in the order in which they came there."""

    def __init__(self, manager: Occupant) -> None:
        self._cells = len(manager._grid)
        self.here: dict[int, Any] = {}
        """The rows on each cell that somebody stands on: keys of a dict."""
        for row, cell in enumerate(manager._cells_now().tolist()):
            if cell >= 0:
                self._put(cell, row)
        self._taken: dict[int, int] = {}
        """How many newborn will come to a cell."""
        self.empty: list[int] | None = None

    def _put(self, cell: int, row: int) -> None:
        self.here.setdefault(cell, {})[row] = None

    def occupants(self, cells: list[int]) -> list[int]:
        """Return the rows on cells, in their order."""
        here = self.here
        return [row for cell in cells if cell in here for row in here[cell]]

    def occupants_here(self, cell: int) -> list[int]:
        """Return those on one cell."""
        return list(self.here.get(cell, ()))

    def first(self, cell: int) -> int:
        """Return who came first, or -1."""
        return next(iter(self.here.get(cell, ())), -1)

    def count(self, cell: int) -> int:
        """Return how many there are, those among them who will be born there."""
        return len(self.here.get(cell, ())) + self._taken.get(cell, 0)

    def enter(self, cell: int, row: int) -> None:
        """Let a row come to a cell."""
        self._put(cell, row)
        self._fill(cell)

    def leave(self, cell: int, row: int) -> None:
        """Let a row go from a cell."""
        del self.here[cell][row]
        if not self.here[cell]:
            self._clear(cell)

    def take(self, cell: int) -> None:
        """Keep a place on a cell for one who will be born."""
        self._taken[cell] = self._taken.get(cell, 0) + 1
        self._fill(cell)

    def empties(self) -> list[int]:
        """Return the cells on which nobody stands, in order at first."""
        if self.empty is None:
            cells = range(self._cells)
            self.empty = [cell for cell in cells if self.count(cell) == 0]
            self.spots = {cell: place for place, cell in enumerate(self.empty)}
        return self.empty

    def _clear(self, cell: int) -> None:
        """A cell that nobody is left on is the last of the empty ones."""
        del self.here[cell]
        if self.empty is not None and cell not in self._taken:
            self.spots[cell] = len(self.empty)
            self.empty.append(cell)

    def _fill(self, cell: int) -> None:
        """The last of the empty cells takes the place of one that is not any more."""
        empty = self.empty
        if empty is not None and cell in self.spots:
            place, last = self.spots.pop(cell), empty.pop()
            if last != cell:
                empty[place] = last
                self.spots[last] = place


class ExclusiveOccupancy(LiveOccupancy):
    """The same where one at most may stand on a cell: `here` has the row itself."""

    def _put(self, cell: int, row: int) -> None:
        self.here[cell] = row

    def occupants(self, cells: list[int]) -> list[int]:
        here = self.here
        return [here[cell] for cell in cells if cell in here]

    def occupants_here(self, cell: int) -> list[int]:
        return [self.here[cell]] if cell in self.here else []

    def first(self, cell: int) -> int:
        row: int = self.here.get(cell, -1)
        return row

    def count(self, cell: int) -> int:
        return (cell in self.here) + self._taken.get(cell, 0)

    def leave(self, cell: int, row: int) -> None:
        self._clear(cell)


occupancy_index: Final = OccupancyIndex


def live_occupancy(manager: Occupant, follows_empty: bool) -> LiveOccupancy:
    """Return who stands where, as rows that take turns change it. `follows_empty`: so does the list
    of cells on which nobody stands."""
    is_alone = manager.data._CELL_CAPACITY == 1
    found = (ExclusiveOccupancy if is_alone else LiveOccupancy)(manager)
    if follows_empty:
        found.empties()
    return found


def first_occupant_before(crowds: OccupancyIndex | LiveOccupancy, id: Any, cells: int) -> int:
    """Return the first row on a cell by its id; -1 without one, or on what is no cell."""
    cell = int(id) - FIRST_CELL
    return crowds.first(cell) if 0 <= cell < cells else -1


first_occupant_now: Final = first_occupant_before


def move_to_free_cell(
    crowds: LiveOccupancy, axes: GridAxes, row: int, old: Any, new: Any, most: int
) -> int:
    """Let a row go to a cell, unless it is full or none; return where it stands.

    `most`: how many may stand on a cell; 0: any number.
    """
    if new == old:
        return int(old)
    cell, before = int(new) - FIRST_CELL, int(old) - FIRST_CELL
    if not 0 <= cell < axes.cells or (most and crowds.count(cell) >= most):
        return int(old)
    crowds.enter(cell, row)
    if before >= 0:
        crowds.leave(before, row)
    return int(new)


def cell_has_capacity(crowds: LiveOccupancy, axes: GridAxes, id: Any, most: int) -> bool:
    """Return whether one more may stand on a cell."""
    cell = int(id) - FIRST_CELL
    return 0 <= cell < axes.cells and not (most and crowds.count(cell) >= most)


def reserve_cell(crowds: LiveOccupancy, id: Any) -> None:
    """Keep a place on a cell for one who will be born there."""
    crowds.take(int(id) - FIRST_CELL)


def leave_cell_if_on(crowds: LiveOccupancy, id: Any, row: int) -> None:
    """Let a row go from the cell on which it stands, if it does."""
    if id:
        crowds.leave(int(id) - FIRST_CELL, int(row))


def cell_number(id: Any) -> int:
    """Return the number of a cell by its id; below 0 for 0."""
    return int(id) - FIRST_CELL


def id_of_cell(cell: int) -> int:
    """Return the id of a cell."""
    return FIRST_CELL + int(cell)


def is_occupied_before(crowds: OccupancyIndex, cell: int) -> bool:
    """Return whether somebody stands on a cell."""
    return bool(crowds.starts[cell] < crowds.starts[cell + 1])


def is_occupied_now(crowds: LiveOccupancy, cell: int) -> bool:
    """Return the same as it is now."""
    return cell in crowds.here


def is_cell(axes: GridAxes, id: Any) -> bool:
    """Return whether an id is that of a cell."""
    return 0 <= cell_number(id) < axes.cells


def make_cell_id(slot: Any, generation: Any) -> int:
    """Return the id of a slot."""
    return int(generation) << 32 | int(slot)


def compare_nan_lowest(one: Any, other: Any) -> int:
    """Return 1 if a number is greater than another, -1 if it is less, and of equal ones 0; NaN is
    less than any."""
    if one > other:
        return 1
    return -1 if one < other else int(one == one) - int(other == other)


def compare_nan_highest(one: Any, other: Any) -> int:
    """Return 1 if a number is less than another, -1 if it is greater, and of equal ones 0; NaN is
    greater than any."""
    if one < other:
        return 1
    return -1 if one > other else int(one == one) - int(other == other)


def member_numbers(
    manager: Any, members: RowArray, hidden: RowArray | None = None
) -> NDArray[np.int64]:
    """Return which member of a group or query each row of a manager is, -1 for none and for those
    whom nobody sees; O(n)."""
    numbers = np.full(manager.data._n, -1, np.int64)
    numbers[members] = np.arange(len(members))
    if hidden is not None:
        numbers[hidden] = -1
    return numbers


def empty_cells(manager: Occupant) -> list[int]:
    """Return the cells on which no row stands, in their order; O(n + cells)."""
    starts, _ = manager._occupants()
    cells: list[int] = (starts[1:] == starts[:-1]).nonzero()[0].tolist()
    return cells


def live_active_rows(manager: Any) -> RowArray:
    """Return all rows of living entities, active ones, in their order; O(n)."""
    data = manager.data
    rows: RowArray = data._used_rows()
    active = getattr(data, "_n_active", None)
    if active is not None:
        rows = rows[rows < active]
    entities = getattr(manager, "_entities", None)
    if entities is None or data._entity_column.size == 0:
        return rows
    alive: RowArray = rows[entities._are_alive(data._entity_column[rows])]
    return alive


def live_active_handles(manager: Any) -> Any:
    """Return the entity of each row of `live_active_rows`, or its id if it is nobody's; O(n)."""
    rows = live_active_rows(manager)
    if hasattr(manager, "_entities"):
        return manager.data._entity_column[rows]
    return manager.id_of_many(rows)


class Choosing:
    """The rows of a component that one call of a kernel chooses among."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        self._handles: Any = None

    def choose(self, stem: Any, number: int, out: Any, word: Any, bits: Any) -> None:
        """Write for each row of a block the entity or id of a living row, each as likely, or 0 of
        none; otherwise as `draw_range`. O(rows), the first time O(n) as well."""
        if self._handles is None:
            self._handles = live_active_handles(self._manager)
        handles = self._handles
        draw_range(stem, number, len(handles), out.view(np.int64), word, bits)
        if len(handles) == 0:
            out[...] = 0
        else:
            handles.take(out.view(np.int64), out=out, mode="clip")
