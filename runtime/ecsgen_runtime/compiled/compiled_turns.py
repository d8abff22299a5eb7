"""Cells of places as they are now, for compiled loops: lists of members, in buckets of which each
has those of several cells. So no table grows, however far members go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..handles import RowArray
from ..spaces.cell_order import FARTHEST_CELL, CellNumbers, PlaceNames, Places, grid_of
from ..typed import NamedTuple
from .kernel import kernel

_FACTORS: Final = (
    np.uint64(0x9E37_79B9_7F4A_7C15),
    np.uint64(0xC2B2_AE3D_27D4_EB4F),
    np.uint64(0x1656_67B1_9E37_79F9),
)


class TurnCells(NamedTuple):
    """Members by the cells in which they are, those of one cell in the order in which they came."""

    places: Places
    """Where members are now, shape (axes, members); NaN of those who are in no cell."""
    sizes: NDArray[Any]
    """The size of each axis, and half of it: 1 and infinity where it is open; shape (2, axes)."""
    reach: Any
    numbers: CellNumbers
    """Which member each row of the manager is; -1 for none."""
    own_names: PlaceNames
    names: PlaceNames
    edges: NDArray[np.float64]
    counts: CellNumbers
    """Cells around a wrapped axis, 0 where it is open: of three axes, 1 along one more."""
    cells: CellNumbers
    """The cell of each member, shape (members, 3)."""
    is_in: NDArray[np.bool_]
    """Whether it is in any."""
    before: CellNumbers
    """Who came into the bucket before each, -1 for nobody, and who after it."""
    behind: CellNumbers
    first: CellNumbers
    """Who came first into each bucket, -1 for nobody, and who last; shape (buckets,)."""
    last: CellNumbers


def turn_cells(
    places: Places,
    numbers: CellNumbers,
    names: PlaceNames,
    other_names: PlaceNames,
    radius: float,
    wrap: Sequence[float],
) -> TurnCells:
    """Return the cells of what `turn_given` returns; O(k)."""
    grid, count = grid_of(radius, wrap, places.dtype.type), places.shape[1]
    more = 3 - len(wrap)
    buckets = 1 << max(2, (2 * count).bit_length())
    nobody = (np.full(size, -1) for size in (count, count, buckets, buckets))
    cells = TurnCells(
        places,
        grid.sizes,
        grid.reach,
        numbers,
        names,
        other_names,
        np.array([np.inf] * more + list(grid.edges)),
        np.array([1] * more + list(grid.counts)),
        np.zeros((count, 3), np.int64),
        np.zeros(count, np.bool_),
        *nobody,
    )
    _enter_all(cells)
    return cells


@kernel()
def _enter_all(cells: TurnCells) -> None:
    axes = len(cells.places)
    for member in range(cells.places.shape[1]):
        is_known = True
        for axis in range(axes):
            x = cells.places[axis, member]
            is_known = is_known and np.isfinite(x)
            if is_known:
                place = 3 - axes + axis
                cells.cells[member, place] = _cell_along(
                    cells.edges[place], cells.counts[place], x
                )
        if is_known:
            _link(cells, member)


@kernel()
def move_to(cells: TurnCells, row: int, place: Sequence[Any]) -> None:
    """Let a row, which has another place now, go to its cell; to the end if that is another."""
    member = cells.numbers[row]
    if member >= 0:
        axes = len(place)
        is_known = True
        for axis in range(axes):
            is_known = is_known and np.isfinite(place[axis])
        for axis in range(axes):
            cells.places[axis, member] = place[axis] if is_known else np.nan
        x = y = z = 0
        if is_known:
            if axes == 3:
                x = _cell_along(cells.edges[0], cells.counts[0], place[0])
            y = _cell_along(cells.edges[1], cells.counts[1], place[axes - 2])
            z = _cell_along(cells.edges[2], cells.counts[2], place[axes - 1])
        cell, is_in = cells.cells[member], cells.is_in[member]
        is_same = is_known and cell[0] == x and cell[1] == y and cell[2] == z
        if is_in and not is_same:
            _unlink(cells, member)
        if is_known and not (is_in and is_same):
            cell[0], cell[1], cell[2] = x, y, z
            _link(cells, member)


@kernel()
def near_now(cells: TurnCells, own: int, place: Sequence[Any], found: RowArray) -> int:
    """Write which members are in reach of a place, in their order; return how many.

    No arrays are passed on: that would take longer than the search.
    """
    axes = len(place)
    counts, edges, buckets = cells.counts, cells.edges, len(cells.first)
    name, met = cells.own_names[own], 0
    is_known = True
    for axis in range(axes):
        is_known = is_known and np.isfinite(place[axis])
    x = y = z = 0
    if is_known:
        if axes == 3:
            x = _cell_along(edges[0], counts[0], place[0])
        y = _cell_along(edges[1], counts[1], place[axes - 2])
        z = _cell_along(edges[2], counts[2], place[axes - 1])
    for i in range(_begin(counts[0]), _end(counts[0]) if is_known else -1):
        a = _around(counts[0], x + i)
        for j in range(_begin(counts[1]), _end(counts[1])):
            b = _around(counts[1], y + j)
            for k in range(_begin(counts[2]), _end(counts[2])):
                c = _around(counts[2], z + k)
                member = cells.first[_bucket(buckets, a, b, c)]
                while member >= 0:
                    is_here = (
                        cells.cells[member, 1] == b and cells.cells[member, 2] == c
                    )
                    if is_here and cells.cells[member, 0] == a:
                        square = place[0] - place[0]
                        for axis in range(axes):
                            apart = cells.places[axis, member] - place[axis]
                            if abs(apart) > cells.sizes[1, axis]:
                                size = cells.sizes[0, axis]
                                apart = apart - size * np.rint(apart / size)
                            square = square + apart * apart
                        found[met] = member
                        is_other = cells.names[member] != name
                        met += (square <= cells.reach) & is_other
                    member = cells.behind[member]
    return met


@kernel()
def _cell_along(edge: float, count: int, x: Any) -> int:
    cell = np.floor(np.float64(x) / edge)
    if count > 0 and not 0.0 <= cell < count:
        cell = cell % np.float64(count)
    known = cell if cell == cell else 0.0
    return int(min(max(known, -FARTHEST_CELL), FARTHEST_CELL))


@kernel()
def _begin(count: int) -> int:
    """Return the first step to the cells around one; the last one is before `_end`."""
    return 0 if count == 1 else -1


@kernel()
def _end(count: int) -> int:
    return 1 if 0 < count < 3 else 2


@kernel()
def _around(count: int, cell: int) -> int:
    return cell % count if count > 0 else cell


@kernel()
def _bucket(buckets: int, x: int, y: int, z: int) -> int:
    mixed = np.uint64(np.int64(x)) * _FACTORS[0] ^ np.uint64(np.int64(y)) * _FACTORS[1]
    mixed = (mixed ^ np.uint64(np.int64(z)) * _FACTORS[2]) * _FACTORS[0]
    return int((mixed >> np.uint64(32)) & np.uint64(buckets - 1))


@kernel()
def _bucket_of(cells: TurnCells, member: int) -> int:
    cell = cells.cells[member]
    return int(_bucket(len(cells.first), cell[0], cell[1], cell[2]))


@kernel()
def _link(cells: TurnCells, member: int) -> None:
    """Put a member to the end of those in its cell's bucket."""
    bucket = _bucket_of(cells, member)
    last = cells.last[bucket]
    cells.before[member], cells.behind[member] = last, -1
    if last >= 0:
        cells.behind[last] = member
    else:
        cells.first[bucket] = member
    cells.last[bucket] = member
    cells.is_in[member] = True


@kernel()
def _unlink(cells: TurnCells, member: int) -> None:
    bucket = _bucket_of(cells, member)
    before, behind = cells.before[member], cells.behind[member]
    if before >= 0:
        cells.behind[before] = behind
    else:
        cells.first[bucket] = behind
    if behind >= 0:
        cells.before[behind] = before
    else:
        cells.last[bucket] = before
    cells.is_in[member] = False
