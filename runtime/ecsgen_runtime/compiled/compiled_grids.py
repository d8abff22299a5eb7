"""What compiled kernels see of grids: cells in reach of a cell, who stands on them, and in turns as
it is now. The same under the same names as plain loops have it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..grids.cells import GridManager
from ..grids.crowds import empty_cells as plain_empty_cells
from ..grids.standing import Standing
from ..policies.destroy import Callback, Gc
from ..typed import NamedTuple
from .kernel import kernel

MOORE: Final = 0
VON_NEUMANN: Final = 1
AXES: Final = 2
FIRST: Final = np.uint64(1 << 32)

CellArray = NDArray[np.int32]


class Axes(NamedTuple):
    """A grid as kernels take it: three axes, the first ones of one cell where there are fewer."""

    cells: int
    x: int
    y: int
    z: int
    wraps_x: bool
    wraps_y: bool
    wraps_z: bool


def axes_of(grid: GridManager) -> Axes:
    """Return a grid as kernels take it."""
    layout, more = grid._layout, 3 - len(grid._layout.shape)
    sizes = (1,) * more + layout.shape
    (x, y, z), (a, b, c) = sizes, (False,) * more + layout.wrap
    return Axes(layout.cells, x, y, z, a, b, c)


@kernel()
def most_in_reach(axes: Axes, radius: int) -> int:
    """Return how many cells there may be in reach of one, itself among them."""
    span = 2 * max(radius, 0) + 1
    most: int = min(axes.x, span) * min(axes.y, span) * min(axes.z, span)
    return most


@kernel(forceinline=True)
def _low(place: Any, size: Any, wraps: Any, radius: Any) -> Any:
    return max(-radius, -((size - 1) // 2)) if wraps else max(-radius, -place)


@kernel(forceinline=True)
def _high(place: Any, size: Any, wraps: Any, radius: Any) -> Any:
    return min(radius, size // 2) if wraps else min(radius, size - 1 - place)


@kernel(forceinline=True)
def _moved(place: Any, size: Any) -> Any:
    if place < 0:
        return place + size
    return place - size if place >= size else place


@kernel()
def cells_near(
    axes: Axes, cell: int, hood: int, radius: int, center: bool, found: CellArray
) -> int:
    """Write the cells in reach of a cell, by offset, none of one below 0; return how many."""
    met = 0
    if cell < 0 or radius < 0:
        return met
    z = cell % axes.z
    y = cell // axes.z % axes.y
    x = cell // (axes.z * axes.y)
    for i in range(
        _low(x, axes.x, axes.wraps_x, radius),
        _high(x, axes.x, axes.wraps_x, radius) + 1,
    ):
        left = radius
        if hood == VON_NEUMANN:
            left = radius - abs(i)
        elif hood == AXES and i != 0:
            left = 0
        strip = _moved(x + i, axes.x) * axes.y
        for j in range(
            _low(y, axes.y, axes.wraps_y, left),
            _high(y, axes.y, axes.wraps_y, left) + 1,
        ):
            rest = left
            if hood == VON_NEUMANN:
                rest = left - abs(j)
            elif hood == AXES and (i != 0 or j != 0):
                rest = 0
            line = (strip + _moved(y + j, axes.y)) * axes.z
            low = _low(z, axes.z, axes.wraps_z, rest)
            high = _high(z, axes.z, axes.wraps_z, rest)
            for k in range(low, high + 1):
                found[met] = line + _moved(z + k, axes.z)
                met += center or i != 0 or j != 0 or k != 0
    return met


NO_STRIP: Final = -(1 << 62)


@kernel()
def strip_shift(axes: Axes, strip: int, i: int, j: int, radius: int) -> int:
    """Return how many cells further on the strip is that is so many steps along the axes before the
    last one; `NO_STRIP` if there is none, or steps would meet one twice."""
    x, y = strip // axes.y, strip % axes.y
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
    other: int = _moved(x + i, axes.x) * axes.y + _moved(y + j, axes.y)
    return (other - strip) * axes.z


@kernel(forceinline=True)
def place_along(axes: Axes, cell: Any, axis: Any) -> Any:
    """Return where a cell is along an axis, the last of which is 2."""
    if axis == 2:
        return cell % axes.z
    if axis == 1:
        return cell // axes.z % axes.y
    return cell // (axes.z * axes.y)


@kernel(forceinline=True)
def apart_along(axes: Axes, one: Any, other: Any, axis: Any) -> Any:
    """Return how far another cell is along an axis, the short way: in (-s/2, s/2] around."""
    size, wraps = axes.z, axes.wraps_z
    if axis == 1:
        size, wraps = axes.y, axes.wraps_y
    elif axis == 0:
        size, wraps = axes.x, axes.wraps_x
    apart = place_along(axes, other, axis) - place_along(axes, one, axis)
    if wraps:
        if 2 * apart > size:
            apart -= size
        elif 2 * apart <= -size:
            apart += size
    return apart


@kernel(forceinline=True)
def _along(place: Any, size: Any, wraps: Any) -> Any:
    """Return a place on an axis; -1 outside of one that does not go around."""
    if wraps:
        return place % size
    return place if 0 <= place < size else -1


@kernel()
def cell_at(axes: Axes, x: int, y: int, z: int) -> Any:
    """Return the id of the cell at a place, 0 outside of axes that do not go around."""
    i = _along(x, axes.x, axes.wraps_x)
    j = _along(y, axes.y, axes.wraps_y)
    k = _along(z, axes.z, axes.wraps_z)
    if i < 0 or j < 0 or k < 0:
        return np.uint64(0)
    return FIRST + np.uint64((i * axes.y + j) * axes.z + k)


# --- who stands where, before the kernel ---------------------------------------------------


class Crowds(NamedTuple):
    """Rows by cell: those of cell k are `rows[starts[k] : starts[k + 1]]`."""

    starts: NDArray[np.intp]
    rows: NDArray[np.intp]


def crowds_of(manager: Standing) -> Crowds:
    """Return who stands where before the kernel."""
    crowd, stamp = manager.data._crowd, manager._stamp
    if crowd.order is None or crowd.stamp != stamp:
        starts = np.zeros(len(manager._grid) + 1, np.intp)
        rows = np.empty(manager.data._n, np.intp)
        count = _sort_all(*_told(manager), starts, rows)
        crowd.order, crowd.stamp = (starts, rows[:count]), stamp
    return Crowds(*crowd.order)


_Handles = NDArray[np.uint64]
_NOBODY: Final = np.empty(0, np.uint64)


def _told(manager: Standing) -> tuple[_Handles, _Handles, _Handles, np.uint64]:
    """Return the cell of each row and its owner, who lives, and the bits of an entity's index."""
    data = manager.data
    ids = data._place_column[: data._n]
    entities = getattr(manager, "_entities", None)
    is_followed = isinstance(manager, (Gc, Callback))  # else rows of the dead stay
    if entities is None or (is_followed and entities._is_clean):
        return ids, _NOBODY, _NOBODY, np.uint64(0)
    owners = data._entity_column[: data._n]  # type: ignore[attr-defined]  # of owned rows
    return ids, owners, entities._handles, np.uint64(entities._LAYOUT.INDEX_MASK)


@kernel(forceinline=True)
def _stands(owners: Any, handles: Any, mask: Any, row: Any) -> Any:
    """Return whether the owner of a row is alive, if that has to be asked."""
    return len(owners) == 0 or handles[owners[row] & mask] == owners[row]


@kernel()
def _sort_all(
    ids: NDArray[np.uint64],
    owners: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    mask: Any,
    starts: NDArray[np.intp],
    rows: NDArray[np.intp],
) -> int:
    """Sort rows by cell; return how many stand anywhere."""
    cells = len(starts) - 1
    for row in range(len(ids)):
        cell = np.int64(ids[row] - FIRST)
        if 0 <= cell < cells and _stands(owners, handles, mask, row):
            starts[cell + 1] += 1
    for place in range(cells):
        starts[place + 1] += starts[place]
    for row in range(len(ids)):
        cell = np.int64(ids[row] - FIRST)
        if 0 <= cell < cells and _stands(owners, handles, mask, row):
            rows[starts[cell]] = row
            starts[cell] += 1
    for place in range(cells, 0, -1):  # each is where the next one begins now
        starts[place] = starts[place - 1]
    starts[0] = 0
    return int(starts[cells])


@kernel()
def rows_before(
    crowds: Crowds,
    cells: CellArray,
    count: int,
    own: int,
    owner: Any,
    owners: NDArray[np.uint64],
    found: CellArray,
) -> int:
    """Write the rows on cells in their order, without row `own` and those of an entity; return how
    many. `owners`: nothing where rows are nobody's."""
    met = 0
    for k in range(count):
        for place in range(crowds.starts[cells[k]], crowds.starts[cells[k] + 1]):
            row = crowds.rows[place]
            found[met] = row
            met += row != own if len(owners) == 0 else owners[row] != owner
    return met


@kernel()
def first_before(crowds: Crowds, id: Any, count: int) -> int:
    """Return the first row on a cell by its id; -1 without one, or on what is no cell."""
    cell = np.int64(id - FIRST)
    if not 0 <= cell < count or crowds.starts[cell] == crowds.starts[cell + 1]:
        return -1
    return int(crowds.rows[crowds.starts[cell]])


# --- as it is now --------------------------------------------------------------------------


class CrowdsNow(NamedTuple):
    """Who stands on each cell now, in the order in which they came there: lists whose first one's
    `before` is the last one."""

    first: CellArray
    """The first row on each cell, -1 for nobody."""
    counts: CellArray
    """How many stand on it, those among them who will be born there."""
    before: CellArray
    behind: CellArray
    empty: CellArray
    """The cells on which nobody stands, if they are asked for."""
    spots: CellArray
    """Where each stands among these, -1 for none."""
    free: CellArray
    """How many these are, shape (1,)."""


def crowds_now(manager: Standing, follows_empty: bool) -> CrowdsNow:
    """Return who stands where, as rows that take turns change it. `follows_empty`: so does the list
    of cells on which nobody stands."""
    cells, n = len(manager._grid), manager.data._n
    listed = cells if follows_empty else 0
    crowds = CrowdsNow(
        np.empty(cells, np.int32),
        np.zeros(cells, np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(listed, np.int32),
        np.empty(listed, np.int32),
        np.zeros(1, np.int32),
    )
    _link_all(crowds, *_told(manager))
    return crowds


@kernel()
def _link_all(
    crowds: CrowdsNow,
    ids: NDArray[np.uint64],
    owners: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    mask: Any,
) -> None:
    cells = len(crowds.first)
    crowds.first[:] = -1
    for row in range(len(ids)):
        cell = np.int64(ids[row] - FIRST)
        if not (0 <= cell < cells and _stands(owners, handles, mask, row)):
            continue
        first = crowds.first[cell]
        crowds.behind[row] = -1
        crowds.counts[cell] += 1
        if first < 0:
            crowds.first[cell], crowds.before[row] = row, row
        else:
            last = crowds.before[first]
            crowds.behind[last], crowds.before[row], crowds.before[first] = (
                row,
                last,
                row,
            )
    free = 0
    for place in range(len(crowds.spots)):
        is_empty = crowds.counts[place] == 0
        crowds.spots[place] = free if is_empty else -1
        crowds.empty[free] = place
        free += is_empty
    crowds.free[0] = free


@kernel()
def rows_now(
    crowds: CrowdsNow,
    cells: CellArray,
    count: int,
    own: int,
    owner: Any,
    owners: NDArray[np.uint64],
    found: CellArray,
) -> int:
    """Write the rows on cells in their order, without row `own` and those of an entity; return how
    many. `owners`: nothing where rows are nobody's."""
    met = 0
    for k in range(count):
        row = crowds.first[cells[k]]
        while row >= 0:
            found[met] = row
            met += row != own if len(owners) == 0 else owners[row] != owner
            row = crowds.behind[row]
    return met


@kernel()
def first_now(crowds: CrowdsNow, id: Any, count: int) -> int:
    """Return who came first to a cell by its id; -1 without one, or on what is no cell."""
    cell = np.int64(id - FIRST)
    return int(crowds.first[cell]) if 0 <= cell < count else -1


@kernel()
def enter_cell(crowds: CrowdsNow, cell: Any, row: int) -> None:
    """Let a row come to a cell."""
    first = crowds.first[cell]
    crowds.behind[row] = -1
    if first < 0:
        crowds.first[cell], crowds.before[row] = row, row
    else:
        last = crowds.before[first]
        crowds.behind[last], crowds.before[row], crowds.before[first] = row, last, row
    _fill(crowds, cell)


@kernel()
def leave_cell(crowds: CrowdsNow, cell: Any, row: int) -> None:
    """Let a row go from a cell."""
    _unlink(crowds, cell, row)
    _empty(crowds, cell)


@kernel()
def _unlink(crowds: CrowdsNow, cell: Any, row: int) -> None:
    first, before, behind = crowds.first[cell], crowds.before[row], crowds.behind[row]
    if row == first:
        crowds.first[cell] = behind
        if behind >= 0:
            crowds.before[behind] = before
    else:
        crowds.behind[before] = behind
        crowds.before[first if behind < 0 else behind] = before


@kernel()
def _empty(crowds: CrowdsNow, cell: Any) -> None:
    """Count one less; a cell that nobody is left on is the last of the empty ones."""
    crowds.counts[cell] -= 1
    if len(crowds.spots) > 0 and crowds.counts[cell] == 0:
        crowds.spots[cell] = crowds.free[0]
        crowds.empty[crowds.free[0]] = cell
        crowds.free[0] += 1


@kernel()
def _fill(crowds: CrowdsNow, cell: Any) -> None:
    """Count one more; the last of the empty cells takes the place of one that is not any more."""
    crowds.counts[cell] += 1
    if len(crowds.spots) > 0 and crowds.spots[cell] >= 0:
        place = crowds.spots[cell]
        crowds.free[0] -= 1
        last = crowds.empty[crowds.free[0]]
        crowds.empty[place], crowds.spots[last] = last, place
        crowds.spots[cell] = -1


@kernel()
def gone_to(
    crowds: CrowdsNow, axes: Axes, row: int, old: Any, new: Any, most: int
) -> Any:
    """Let a row go to a cell, unless it is full or none; return where it stands.

    `most`: how many may stand on a cell; 0: any number.
    """
    cell, before = np.int64(new - FIRST), np.int64(old - FIRST)
    if cell == before or not 0 <= cell < axes.cells:
        return old
    if most > 0 and crowds.counts[cell] >= most:
        return old
    if before >= 0:
        _unlink(crowds, before, row)
    enter_cell(crowds, cell, row)
    if before >= 0:
        _empty(crowds, before)
    return new


@kernel(forceinline=True)
def gone_at_once(axes: Axes, old: Any, new: Any) -> Any:
    """Return where a row stands that goes to a cell, unless that is none."""
    return new if 0 <= np.int64(new - FIRST) < axes.cells else old


@kernel(forceinline=True)
def has_room(crowds: CrowdsNow, axes: Axes, id: Any, most: Any) -> Any:
    """Return whether one more may stand on a cell."""
    cell = np.int64(id - FIRST)
    return 0 <= cell < axes.cells and not (most > 0 and crowds.counts[cell] >= most)


@kernel()
def take_cell(crowds: CrowdsNow, id: Any) -> None:
    """Keep a place on a cell for one who will be born there."""
    _fill(crowds, np.int64(id - FIRST))


@kernel()
def leave_if_on(crowds: CrowdsNow, id: Any, row: int) -> None:
    """Let a row go from the cell on which it stands, if it does."""
    if id != 0:
        leave_cell(crowds, np.int64(id - FIRST), row)


@kernel(forceinline=True)
def cell_of(id: Any) -> Any:
    """Return the number of a cell by its id; below 0 for 0."""
    return np.int64(np.uint64(id) - FIRST)


@kernel(forceinline=True)
def id_of_cell(cell: Any) -> Any:
    """Return the id of a cell."""
    return FIRST + np.uint64(cell)


@kernel(forceinline=True)
def is_on_before(crowds: Crowds, cell: Any) -> Any:
    """Return whether somebody stands on a cell."""
    return crowds.starts[cell] < crowds.starts[cell + 1]


@kernel(forceinline=True)
def is_on_now(crowds: CrowdsNow, cell: Any) -> Any:
    """Return the same as it is now."""
    return crowds.first[cell] >= 0


@kernel(forceinline=True)
def count_empty(crowds: CrowdsNow) -> Any:
    """Return on how many cells nobody stands now."""
    return np.int64(crowds.free[0])


@kernel(forceinline=True)
def empty_cell(crowds: CrowdsNow, place: Any) -> Any:
    """Return one of them."""
    return crowds.empty[place]


@kernel(forceinline=True)
def is_cell(axes: Axes, id: Any) -> Any:
    """Return whether an id is that of a cell."""
    return 0 <= np.int64(id - FIRST) < axes.cells


@kernel(forceinline=True)
def id_from(slot: Any, generation: Any) -> Any:
    """Return the id of a slot."""
    return np.uint64(generation) << np.uint64(32) | np.uint64(slot)


@kernel(forceinline=True)
def ranks_above(one: Any, other: Any) -> Any:
    """Return 1 if a number is greater than another, -1 if it is less, and of equal ones 0; NaN is
    less than any."""
    if one > other:
        return 1
    if one < other:
        return -1
    return int(one == one) - int(other == other)


@kernel(forceinline=True)
def ranks_below(one: Any, other: Any) -> Any:
    """Return 1 if a number is less than another, -1 if it is greater, and of equal ones 0; NaN is
    greater than any."""
    if one < other:
        return 1
    if one > other:
        return -1
    return int(one == one) - int(other == other)


@kernel()
def members_alone(numbers: NDArray[np.int64], found: CellArray, count: int) -> int:
    """Write of rows which members they are, those that are none left out; return how many."""
    kept = 0
    for k in range(count):
        found[kept] = numbers[found[k]]
        kept += found[kept] >= 0
    return kept


def empty_cells(manager: Standing) -> CellArray:
    """Return the cells on which no row stands, in their order; O(n + cells)."""
    return np.array(plain_empty_cells(manager), np.int32)
