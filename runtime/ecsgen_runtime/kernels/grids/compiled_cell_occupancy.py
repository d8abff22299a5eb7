"""What compiled kernels see of grids: cells in reach of a cell, who stands on them, and in turns as
it is now. The same under the same names as plain loops have it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...base.fast_typing import NamedTuple
from ...base.handles import RowArray
from ...base.jit import jit
from ...managers.policies.packed import Packed
from . import cell_occupancy as plain
from .grid_layout import GridLayout, neighbourhood_offsets
from .grid_manager import GridManager
from .occupants import Occupant

MOORE: Final = 0
VON_NEUMANN: Final = 1
AXES: Final = 2
FIRST: Final = np.uint64(1 << 32)

CellArray = NDArray[np.int32]


class GridAxes(NamedTuple):
    """A grid as kernels take it: three axes, the first ones of one cell where there are fewer."""

    cells: int
    x: int
    y: int
    z: int
    wraps_x: bool
    wraps_y: bool
    wraps_z: bool
    per_y: float
    """1 / y; multiplied in a fraction of the time that a division takes."""
    per_z: float


def grid_axes(grid: GridManager) -> GridAxes:
    """Return a grid as kernels take it."""
    return _axes_of(grid._layout)


@lru_cache(16)
def _axes_of(layout: GridLayout) -> GridAxes:
    more = 3 - len(layout.shape)
    sizes = (1,) * more + layout.shape
    (x, y, z), (a, b, c) = sizes, (False,) * more + layout.wrap
    return GridAxes(layout.cells, x, y, z, a, b, c, 1 / y, 1 / z)


CellNeighbourhood = NDArray[np.int32]
"""Those in reach of any cell, by offset: how many cells further on each is where no end of an axis
is in reach, its offset along three axes, and the least radius that it takes. The first column has
the greatest one. The last row says behind which column there are none of a radius. Shape
(6, 1 + k)."""


def cell_neighbourhood(
    grid: GridManager, hood: str, radius: Any, center: bool, *, nearest_first: bool = False
) -> CellNeighbourhood:
    """Return the offsets of the cells in reach: ascending, or those that are equally far."""
    return _reach_of(grid._layout, hood, int(radius), center, nearest_first)


def cell_neighbourhood_within(
    grid: GridManager, hood: str, radii: NDArray[Any], center: bool, *, nearest_first: bool = False
) -> CellNeighbourhood:
    """Return the same for any of the radii, shape (n,); O(n)."""
    radius = int(radii.max()) if len(radii) else -1
    return cell_neighbourhood(grid, hood, radius, center, nearest_first=nearest_first)


@lru_cache(16)
def _reach_of(
    layout: GridLayout, hood: str, radius: int, center: bool, nearest_first: bool
) -> CellNeighbourhood:
    steps = neighbourhood_offsets(layout, hood, radius, center)
    if nearest_first:
        steps = steps[np.argsort((steps * steps).sum(axis=1), kind="stable")]
    far = np.abs(steps)
    reach = np.zeros((6, 1 + len(steps)), np.int32)
    reach[0, 0] = max(-1, min(radius, layout.cells))
    reach[0, 1:] = steps @ np.array(layout.strides)
    reach[4 - steps.shape[1] : 4, 1:] = steps.T
    reach[4, 1:] = far.sum(axis=1) if hood == "von_neumann" else far.max(axis=1)
    reach[5, reach[4, 1:]] = np.arange(1, reach.shape[1])
    np.maximum.accumulate(reach[5], out=reach[5])
    return reach


@jit(forceinline=True)
def _low(place: Any, size: Any, wraps: Any, radius: Any) -> Any:
    return max(-radius, -((size - 1) // 2)) if wraps else max(-radius, -place)


@jit(forceinline=True)
def _high(place: Any, size: Any, wraps: Any, radius: Any) -> Any:
    return min(radius, size // 2) if wraps else min(radius, size - 1 - place)


@jit(forceinline=True)
def _moved(place: Any, size: Any, wraps: Any) -> Any:
    """Return a place on an axis that is less than its size outside of it; below 0 if it does not go
    around."""
    if wraps:
        if place < 0:
            return place + size
        return place - size if place >= size else place
    return place if place < size else -1


@jit(forceinline=True)
def _places(axes: Any, cell: Any) -> Any:
    """Return where a cell is along each axis. Exact: below 2^31 the error of a quotient is less
    than half a step is of it."""
    strip = np.int64((np.float64(cell) + 0.5) * axes.per_z)
    z = np.int64(cell) - strip * axes.z
    if axes.x == 1:
        return 0, strip, z
    plane = np.int64((np.float64(strip) + 0.5) * axes.per_y)
    return plane, strip - plane * axes.y, z


@jit(forceinline=True)
def _is_amid(place: Any, size: Any, radius: Any) -> Any:
    """Return whether no end of an axis is in reach."""
    return size == 1 or radius <= place < size - radius


@jit(forceinline=True)
def reached_cells(
    axes: GridAxes,
    cell: int,
    reach: CellNeighbourhood,
    found: CellArray,
    steps: Any = None,
    radius: Any = None,
) -> int:
    """Write the cells in reach of a cell, by offset, none of one below 0; return how many.

    `steps`: which columns they are of `reach`, too. `radius`: its own, if each has one.
    """
    if cell < 0:
        return 0
    x, y, z = _places(axes, cell)
    most: Any = np.int64(reach[0, 0])
    last: Any = np.int64(reach.shape[1] - 1)
    met = 0
    if radius is not None:
        most = np.int64(max(-1, min(radius, most)))
        last = np.int64(reach[5, max(0, min(most, last))])
    if _is_amid(z, axes.z, most) and _is_amid(y, axes.y, most) and _is_amid(x, axes.x, most):
        for k in range(1, last + 1):
            found[met] = cell + reach[0, k]
            if steps is not None:
                steps[met] = k
            met += 1 if radius is None else reach[4, k] <= most
        return met
    for k in range(1, last + 1):
        i = _moved(x + reach[1, k], axes.x, axes.wraps_x)
        j = _moved(y + reach[2, k], axes.y, axes.wraps_y)
        place = _moved(z + reach[3, k], axes.z, axes.wraps_z)
        found[met] = (i * axes.y + j) * axes.z + place
        if steps is not None:
            steps[met] = k
        is_met = (i | j | place) >= 0
        met += is_met if radius is None else is_met & (reach[4, k] <= most)
    return met


@jit()
def cells_near(
    axes: GridAxes, cell: int, hood: int, radius: int, center: bool, found: CellArray
) -> int:
    """Write the same of a radius that is not known before."""
    if cell < 0 or radius < 0:
        return 0
    x, y, z = _places(axes, cell)
    met = 0
    for i in range(
        _low(x, axes.x, axes.wraps_x, radius), _high(x, axes.x, axes.wraps_x, radius) + 1
    ):
        left = _left(hood, radius, i)
        strip = _moved(x + i, axes.x, axes.wraps_x) * axes.y
        for j in range(
            _low(y, axes.y, axes.wraps_y, left), _high(y, axes.y, axes.wraps_y, left) + 1
        ):
            rest = _left(hood, left, j)
            line = (strip + _moved(y + j, axes.y, axes.wraps_y)) * axes.z
            low = _low(z, axes.z, axes.wraps_z, rest)
            high = _high(z, axes.z, axes.wraps_z, rest)
            for k in range(low, high + 1):
                found[met] = line + _moved(z + k, axes.z, axes.wraps_z)
                met += center or i != 0 or j != 0 or k != 0
    return met


@jit(forceinline=True)
def _left(hood: Any, radius: Any, step: Any) -> Any:
    """Return how far it goes along the other axes after a step along one."""
    if hood == AXES:
        return radius if step == 0 else 0
    return radius - abs(step) if hood == VON_NEUMANN else radius


NO_STRIP: Final[Any] = np.int64(-(1 << 62))


@jit(forceinline=True)
def strip_shift(axes: GridAxes, strip: int, i: int, j: int, radius: int) -> Any:
    """Return how many cells further on the strip is that is so many steps along the axes before the
    last one; `NO_STRIP` if there is none, or steps would meet one twice."""
    x, y, _ = _places(axes, strip * axes.z)
    if axes.wraps_x:
        if i != 0 and axes.x <= 2 * radius:
            return NO_STRIP
    elif not 0 <= x + i < axes.x:
        return NO_STRIP
    if axes.wraps_y:
        if j != 0 and axes.y <= 2 * radius:
            return NO_STRIP
    elif not 0 <= y + j < axes.y:
        return NO_STRIP
    plane, line = _moved(x + i, axes.x, axes.wraps_x), y + j
    other = plane * axes.y + _moved(line, axes.y, axes.wraps_y)
    return (other - strip) * axes.z


@jit(forceinline=True)
def coordinate_along(axes: GridAxes, cell: Any, axis: Any) -> Any:
    """Return where a cell is along an axis, the last of which is 2."""
    return _places(axes, cell)[axis]


@jit(forceinline=True)
def distance_along(axes: GridAxes, one: Any, other: Any, axis: Any) -> Any:
    """Return how far another cell is along an axis, the short way: in (-s/2, s/2] around."""
    size, wraps = axes.z, axes.wraps_z
    if axis == 1:
        size, wraps = axes.y, axes.wraps_y
    elif axis == 0:
        size, wraps = axes.x, axes.wraps_x
    apart = coordinate_along(axes, other, axis) - coordinate_along(axes, one, axis)
    if wraps:
        if 2 * apart > size:
            apart -= size
        elif 2 * apart <= -size:
            apart += size
    return apart


@jit(forceinline=True)
def _along(place: Any, size: Any, wraps: Any) -> Any:
    """Return a place on an axis; -1 outside of one that does not go around."""
    if wraps:
        return place % size
    return place if 0 <= place < size else -1


@jit()
def cell_at(axes: GridAxes, x: int, y: int, z: int) -> Any:
    """Return the id of the cell at a place, 0 outside of axes that do not go around."""
    i = _along(x, axes.x, axes.wraps_x)
    j = _along(y, axes.y, axes.wraps_y)
    k = _along(z, axes.z, axes.wraps_z)
    if i < 0 or j < 0 or k < 0:
        return np.uint64(0)
    return FIRST + np.uint64((i * axes.y + j) * axes.z + k)


# --- who stands where, before the kernel ---------------------------------------------------


OccupancyIndex = NDArray[np.intp]
"""Rows by cell: those of cell k are `crowds[crowds[k] : crowds[k + 1]]`. One array, of which numba
counts no references where others would be a tuple's."""


def occupancy_index(manager: Occupant) -> OccupancyIndex:
    """Return who stands where before the kernel."""
    crowd, stamp = manager.data._cell_occupants, manager._stamp
    if crowd.order is None or crowd.stamp != stamp:
        cells = len(manager._grid)
        crowds = np.zeros(cells + 1 + manager.data._n, np.intp)
        _sort_all(*_told(manager), crowds, cells)
        crowd.order, crowd.stamp = (crowds[: cells + 1], crowds), stamp
    return crowd.order[1]


_ALL_ROWS: Final = np.zeros(1, np.intp)


def selectable_rows(manager: Any) -> tuple[int, RowArray]:
    """Return how many rows of living entities there are, active ones, and these, of which only the
    first is there if they follow each other; O(1) if nobody came or went, else O(n)."""
    data = manager.data
    if isinstance(manager, Packed) and manager._are_all_alive():  # type: ignore[attr-defined]
        return getattr(data, "_n_active", data._n), _ALL_ROWS
    rows = plain.live_active_rows(manager)
    return len(rows), rows


_Handles = NDArray[np.uint64]
_NOBODY: Final = np.empty(0, np.uint64)


def _told(manager: Occupant) -> tuple[_Handles, _Handles, _Handles, np.uint64]:
    """Return the cell of each row and its owner, who lives, and the bits of an entity's index."""
    data = manager.data
    ids = data._cell_ids[: data._n]
    entities = getattr(manager, "_entities", None)
    if entities is None:
        return ids, _NOBODY, _NOBODY, np.uint64(0)
    owners = data._entity_column[: data._n]  # type: ignore[attr-defined]  # of owned rows
    return ids, owners, entities._handles, np.uint64(entities._LAYOUT.INDEX_MASK)


@jit(forceinline=True)
def _stands(owners: Any, handles: Any, mask: Any, row: Any) -> Any:
    """Return whether the owner of a row is alive, if that has to be asked."""
    return len(owners) == 0 or handles[owners[row] & mask] == owners[row]


@jit()
def _sort_all(
    ids: NDArray[np.uint64],
    owners: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    mask: Any,
    crowds: OccupancyIndex,
    cells: int,
) -> None:
    for row in range(len(ids)):
        cell = np.int64(ids[row] - FIRST)
        if 0 <= cell < cells and _stands(owners, handles, mask, row):
            crowds[cell + 1] += 1
    crowds[0] = cells + 1
    for place in range(cells):
        crowds[place + 1] += crowds[place]
    for row in range(len(ids)):
        cell = np.int64(ids[row] - FIRST)
        if 0 <= cell < cells and _stands(owners, handles, mask, row):
            crowds[crowds[cell]] = row
            crowds[cell] += 1
    for place in range(cells, 0, -1):  # each is where the next one begins now
        crowds[place] = crowds[place - 1]
    crowds[0] = cells + 1


@jit(forceinline=True)
def max_occupants(crowds: Any, cells: Any) -> Any:
    """Return how many rows there may be on all cells together."""
    return max(cells, len(crowds) - cells - 1)


@jit(forceinline=True)
def occupants_before(
    crowds: Any, cells: Any, count: Any, own: Any, owner: Any, owners: Any, found: Any
) -> Any:
    """Write the rows on cells in their order, without row `own` and those of an entity; return how
    many. `owners`: nothing where rows are nobody's."""
    met = 0
    for k in range(count):
        for place in range(crowds[cells[k]], crowds[cells[k] + 1]):
            row = crowds[place]
            found[met] = row
            met += row != own if len(owners) == 0 else owners[row] != owner
    return met


@jit(forceinline=True)
def occupants_here_before(
    crowds: Any, cell: Any, own: Any, owner: Any, owners: Any, found: Any
) -> Any:
    """Write those on one cell, none of one below 0."""
    return occupants_before(crowds, (cell,), 1 if cell >= 0 else 0, own, owner, owners, found)


@jit(forceinline=True)
def first_occupant_before(crowds: Any, id: Any, count: Any) -> Any:
    """Return the first row on a cell by its id; -1 without one, or on what is no cell."""
    cell = np.int64(id - FIRST)
    if not 0 <= cell < count or crowds[cell] == crowds[cell + 1]:
        return -1
    return crowds[crowds[cell]]


# --- as it is now --------------------------------------------------------------------------


LiveOccupancy = NDArray[np.int32]
"""Who stands on each cell now, in the order in which they came there.

The first of its lines tells how many cells there are, and on how many nobody stands. Then each cell
has one: the first row on it, -1 for nobody; how many stand on it, those among them who will be born
there, or less its place among the empty cells; of these, the one in that place. Then, where more
than one may stand on a cell, each row: who came before it, of the first one the last, and behind.
"""
FIRST_ROW: Final = 0
COUNT: Final = 1
EMPTY: Final = 2
BEFORE: Final = 0
BEHIND: Final = 1


def live_occupancy(manager: Occupant, follows_empty: bool) -> LiveOccupancy:
    """Return who stands where, as rows that take turns change it. `follows_empty`: so does the list
    of cells on which nobody stands."""
    cells = len(manager._grid)
    rows = 0 if manager.data._CELL_CAPACITY == 1 else manager.data._n
    crowds = np.empty((1 + cells + rows, 3 if follows_empty else 2), np.int32)
    _link_all(*_told(manager), crowds, cells)
    return crowds


@jit()
def _link_all(
    ids: NDArray[np.uint64],
    owners: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    mask: Any,
    crowds: LiveOccupancy,
    cells: int,
) -> None:
    crowds[0, 0], crowds[0, 1] = cells, 0
    for line in range(1, cells + 1):
        crowds[line, FIRST_ROW], crowds[line, COUNT] = -1, 0
    for row in range(len(ids)):
        cell = np.int64(ids[row] - FIRST)
        if 0 <= cell < cells and _stands(owners, handles, mask, row):
            _append(crowds, cell + 1, row)
            crowds[cell + 1, COUNT] += 1
    if crowds.shape[1] <= EMPTY:
        return
    free = 0
    for place in range(cells):
        crowds[1 + free, EMPTY] = place
        if crowds[1 + place, COUNT] == 0:
            crowds[1 + place, COUNT] = -free
            free += 1
    crowds[0, 1] = free


@jit(forceinline=True)
def _append(crowds: Any, line: Any, row: Any) -> None:
    """Let a row be the last one on a cell."""
    first, rows = crowds[line, FIRST_ROW], crowds[0, 0] + 1
    if len(crowds) == rows:  # one at most stands on a cell
        crowds[line, FIRST_ROW] = row
    elif first < 0:
        crowds[line, FIRST_ROW] = row
        crowds[rows + row, BEFORE], crowds[rows + row, BEHIND] = row, -1
    else:
        last = crowds[rows + first, BEFORE]
        crowds[rows + last, BEHIND], crowds[rows + first, BEFORE] = row, row
        crowds[rows + row, BEFORE], crowds[rows + row, BEHIND] = last, -1


@jit(forceinline=True)
def occupants_now(
    crowds: Any, cells: Any, count: Any, own: Any, owner: Any, owners: Any, found: Any
) -> Any:
    """Write the rows on cells in their order, without row `own` and those of an entity; return how
    many. `owners`: nothing where rows are nobody's."""
    met, rows = 0, crowds[0, 0] + 1
    if len(crowds) == rows:
        for k in range(count):
            row = crowds[1 + cells[k], FIRST_ROW]
            found[met] = row
            is_other = row != own if len(owners) == 0 else owners[row] != owner
            met += row >= 0 and is_other
        return met
    for k in range(count):
        row = crowds[1 + cells[k], FIRST_ROW]
        while row >= 0:
            found[met] = row
            met += row != own if len(owners) == 0 else owners[row] != owner
            row = crowds[rows + row, BEHIND]
    return met


@jit(forceinline=True)
def occupants_here_now(
    crowds: Any, cell: Any, own: Any, owner: Any, owners: Any, found: Any
) -> Any:
    """Write those on one cell, none of one below 0."""
    return occupants_now(crowds, (cell,), 1 if cell >= 0 else 0, own, owner, owners, found)


@jit(forceinline=True)
def first_occupant_now(crowds: Any, id: Any, count: Any) -> Any:
    """Return who came first to a cell by its id; -1 without one, or on what is no cell."""
    cell = np.int64(id - FIRST)
    return np.int64(crowds[1 + cell, FIRST_ROW]) if 0 <= cell < count else -1


@jit(forceinline=True)
def enter_cell(crowds: Any, cell: Any, row: Any) -> None:
    """Let a row come to a cell."""
    _append(crowds, 1 + cell, row)
    _fill(crowds, 1 + cell)


@jit(forceinline=True)
def leave_cell(crowds: Any, cell: Any, row: Any) -> None:
    """Let a row go from a cell."""
    _unlink(crowds, cell, row)
    _empty(crowds, cell)


@jit(forceinline=True)
def _unlink(crowds: Any, cell: Any, row: Any) -> None:
    rows = crowds[0, 0] + 1
    if len(crowds) == rows:
        crowds[1 + cell, FIRST_ROW] = -1
        return
    first, behind = crowds[1 + cell, FIRST_ROW], crowds[rows + row, BEHIND]
    before = crowds[rows + row, BEFORE]
    if row == first:
        crowds[1 + cell, FIRST_ROW] = behind
        if behind >= 0:
            crowds[rows + behind, BEFORE] = before
    else:
        crowds[rows + before, BEHIND] = behind
        crowds[rows + (first if behind < 0 else behind), BEFORE] = before


@jit(forceinline=True)
def _empty(crowds: Any, cell: Any) -> None:
    """Count one less; a cell that nobody is left on is the last of the empty ones."""
    crowds[1 + cell, COUNT] -= 1
    if crowds.shape[1] > EMPTY and crowds[1 + cell, COUNT] == 0:
        free = crowds[0, 1]
        crowds[1 + cell, COUNT], crowds[1 + free, EMPTY] = -free, cell
        crowds[0, 1] = free + 1


@jit(forceinline=True)
def _fill(crowds: Any, line: Any) -> None:
    """Count one more; the last of the empty cells takes the place of one that is not any more."""
    if crowds[line, COUNT] > 0 or crowds.shape[1] <= EMPTY:
        crowds[line, COUNT] += 1
        return
    place, free = -crowds[line, COUNT], crowds[0, 1] - 1
    last = crowds[1 + free, EMPTY]
    crowds[1 + place, EMPTY], crowds[1 + last, COUNT] = last, -place
    crowds[0, 1], crowds[line, COUNT] = free, 1


@jit(forceinline=True)
def move_to_free_cell(
    crowds: LiveOccupancy, axes: GridAxes, row: int, old: Any, new: Any, most: int
) -> Any:
    """Let a row go to a cell, unless it is full or none; return where it stands.

    `most`: how many may stand on a cell; 0: any number.
    """
    cell, before = np.int64(new - FIRST), np.int64(old - FIRST)
    if cell == before or not 0 <= cell < axes.cells:
        return old
    if most > 0 and crowds[1 + cell, COUNT] >= most:
        return old
    if before >= 0:
        _unlink(crowds, before, row)
    enter_cell(crowds, cell, row)
    if before >= 0:
        _empty(crowds, before)
    return new


@jit(forceinline=True)
def cell_has_capacity(crowds: LiveOccupancy, axes: GridAxes, id: Any, most: Any) -> Any:
    """Return whether one more may stand on a cell."""
    cell = np.int64(id - FIRST)
    return 0 <= cell < axes.cells and not (most > 0 and crowds[1 + cell, COUNT] >= most)


@jit(forceinline=True)
def reserve_cell(crowds: LiveOccupancy, id: Any) -> None:
    """Keep a place on a cell for one who will be born there."""
    _fill(crowds, np.int64(id - FIRST) + 1)


@jit(forceinline=True)
def leave_cell_if_on(crowds: LiveOccupancy, id: Any, row: int) -> None:
    """Let a row go from the cell on which it stands, if it does."""
    if id != 0:
        leave_cell(crowds, np.int64(id - FIRST), row)


@jit(forceinline=True)
def cell_number(id: Any) -> Any:
    """Return the number of a cell by its id; below 0 for 0."""
    return np.int64(np.uint64(id) - FIRST)


@jit(forceinline=True)
def id_of_cell(cell: Any) -> Any:
    """Return the id of a cell."""
    return FIRST + np.uint64(cell)


@jit(forceinline=True)
def is_occupied_before(crowds: OccupancyIndex, cell: Any) -> Any:
    """Return whether somebody stands on a cell."""
    return crowds[cell] < crowds[cell + 1]


@jit(forceinline=True)
def is_occupied_now(crowds: LiveOccupancy, cell: Any) -> Any:
    """Return the same as it is now."""
    return crowds[1 + cell, FIRST_ROW] >= 0


@jit(forceinline=True)
def count_empty(crowds: LiveOccupancy) -> Any:
    """Return on how many cells nobody stands now."""
    return np.int64(crowds[0, 1])


@jit(forceinline=True)
def empty_cell(crowds: LiveOccupancy, place: Any) -> Any:
    """Return one of them."""
    return crowds[1 + place, EMPTY]


@jit(forceinline=True)
def is_cell(axes: GridAxes, id: Any) -> Any:
    """Return whether an id is that of a cell."""
    return 0 <= np.int64(id - FIRST) < axes.cells


@jit(forceinline=True)
def make_cell_id(slot: Any, generation: Any) -> Any:
    """Return the id of a slot."""
    return np.uint64(generation) << np.uint64(32) | np.uint64(slot)


compare_nan_lowest: Final = jit(forceinline=True)(plain.compare_nan_lowest)
compare_nan_highest: Final = jit(forceinline=True)(plain.compare_nan_highest)


@jit()
def members_alone(numbers: NDArray[np.int64], found: CellArray, count: int) -> int:
    """Write of rows which members they are, those that are none left out; return how many."""
    kept = 0
    for k in range(count):
        found[kept] = numbers[found[k]]
        kept += found[kept] >= 0
    return kept


def empty_cells(manager: Occupant) -> CellArray:
    """Return the cells on which no row stands, in their order; O(n + cells)."""
    return np.array(plain.empty_cells(manager), np.int32)
