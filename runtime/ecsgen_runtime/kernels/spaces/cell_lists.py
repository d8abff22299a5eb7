"""Cells of the edge of a radius, in which places are sorted; those without places take no room.

A place is in cell floor(x / edge) along each axis, modulo the number of cells where the axis is
wrapped. Cells have keys: those side by side along the last axis follow each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import floor, inf, isfinite, isinf, prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...base.fast_typing import NamedTuple
from ...base.handles import RowArray

Positions = NDArray[Any]
"""f32 or f64, shape (axes, k)."""
CellNumbers = NDArray[np.int64]
EntityKeys = NDArray[np.uint64]
NO_KEYS: Final = np.empty(0, np.uint64)
"""Of one set, whose members ask each other."""

WIDER: Final = 1.001
"""Edges over the radius, so that no two places in reach are further than a cell apart, rounded
as they may be."""
FARTHEST_CELL: Final = 2.0**61
"""Where cells are not told apart any more."""
_MOST: Final = 1 << 62
"""The most keys."""
SPARSE: Final = 4
"""So many times more cells than places are too many for a table."""
CELL_STEPS: Final = ((-1, 0, 1), (0,), (-1, 0), (-1, 0, 1))
"""To cells around one, by how many there are along a wrapped axis; first along an open one."""


class CellGrid(NamedTuple):
    """How each axis is cut into cells, and what places are compared with, in their type."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    """Cells around a wrapped axis; 0 where it is open."""
    reach: Any
    """The square of the radius."""
    sizes: NDArray[Any]
    """The size of each axis with its half: 1 and infinity where it is open; shape (2, axes)."""


class CellList(NamedTuple):
    """Places in the order of their cells, those of one cell in their own order."""

    order: RowArray
    """Which place comes k-th, shape (k,)."""
    keys: CellNumbers
    """Of the cells with places in them, ascending, shape (cells,)."""
    starts: RowArray
    """Where the places of each begin, shape (cells + 1,)."""
    table: RowArray | None
    """Where those of any cell begin, by key, if there are not too many."""

    def before(self, keys: CellNumbers) -> RowArray:
        """Return how many places are in cells with smaller keys."""
        if self.table is not None:
            return self.table.take(keys)
        return self.starts[self.keys.searchsorted(keys)]


class Lattice(NamedTuple):
    """The numbers that cells have along each axis, from 0 on; those of an open axis have one free
    number on each side."""

    counts: tuple[int, ...]
    spans: tuple[int, ...]

    @property
    def most(self) -> int:
        """What all keys are below."""
        return min(prod(self.spans), _MOST)

    def keys(self, numbers: Sequence[Any]) -> Any:
        """Return the keys of cells.

        If there were too many, strips of cells that are far from each other share theirs: their
        places are never in reach, and no two strips around a cell are among them.
        """
        *outer, last = numbers
        found = outer[0]
        for axis, one in enumerate(outer[1:], 1):
            found = found * self.spans[axis] + one
        if prod(self.spans) > _MOST:
            found = found % (_MOST // self.spans[-1])
        return found * self.spans[-1] + last


def cell_grid(radius: float, wrap: Sequence[float], kind: Any) -> CellGrid:
    """Return the cells for a radius in a space, for all to read; `wrap` has 0 for open axes."""
    return _grid_of(radius, tuple(wrap), kind)


@lru_cache(16)
def _grid_of(radius: float, wrap: tuple[float, ...], kind: Any) -> CellGrid:
    edge = WIDER * radius
    with np.errstate(all="ignore"):
        reach = np.square(kind(radius))
        sizes = [kind(size) if size else kind(1) for size in wrap]
        halves = [kind(size) / 2 if size else kind(inf) for size in wrap]
    if isinf(reach) or reach < np.finfo(kind).tiny:
        edge = inf  # what is in reach does not tell how far off it is
    counts = [max(1, floor(min(size / edge, FARTHEST_CELL))) if size else 0 for size in wrap]
    edges = [size / count if count else edge for size, count in zip(wrap, counts, strict=True)]
    return CellGrid(tuple(edges), tuple(counts), reach, np.array([sizes, halves], kind))


def take_around(apart: NDArray[Any], size: Any, half: Any) -> None:
    """Take offsets along an axis of a size the short way around."""
    if half == inf:
        return
    far = (np.abs(apart) > half).nonzero()[0]
    if len(far):
        some = apart[far]
        some -= size * np.rint(some / size)
        apart[far] = some


def numbered(grid: CellGrid, *places: Positions) -> tuple[Lattice, list[list[CellNumbers]]]:
    """Return how cells are numbered, and for each of several sets of finite places the numbers
    of their cells along each axis, shape (k,)."""
    found: list[list[CellNumbers]] = [[] for _ in places]
    spans, counts = [], list(grid.counts)
    for axis, edge in enumerate(grid.edges):
        along = [_along(each[axis], edge, counts[axis]) for each in places]
        low = 0 if counts[axis] else min(int(each.min(initial=0)) for each in along) - 1
        high = max(int(each.max(initial=0)) for each in along) + 1
        spans.append(counts[axis] or high - low + 1)
        for each, one in zip(found, along, strict=True):
            each.append(one - low if low else one)
    if prod(spans) > _MOST:
        for axis in range(len(spans)):
            along, counts[axis], spans[axis] = _closed_up(
                [each[axis] for each in found], counts[axis]
            )
            for each, one in zip(found, along, strict=True):
                each[axis] = one
    return Lattice(tuple(counts), tuple(spans)), found


def _along(x: Positions, edge: float, count: int) -> CellNumbers:
    """Return which cells along an axis finite places are in."""
    with np.errstate(all="ignore"):
        cells = np.divide(x, edge, dtype=np.float64)
        np.floor(cells, out=cells)
        if count and len(cells) and not 0 <= cells.min() <= cells.max() < count:
            np.remainder(cells, count, out=cells)
            np.nan_to_num(cells, copy=False)  # of places whose cell has no number
    if len(cells) and not -FARTHEST_CELL < cells.min() <= cells.max() < FARTHEST_CELL:
        np.clip(cells, -FARTHEST_CELL, FARTHEST_CELL, out=cells)
    return cells.astype(np.int64)


def _closed_up(along: list[CellNumbers], count: int) -> tuple[list[CellNumbers], int, int]:
    """Return numbers without wide gaps: cells side by side still are, others are not. With how
    many cells there are now, if they go around, and how many numbers."""
    ends = np.array([0, count - 1] if count else [], np.int64)
    used = np.unique(np.concatenate([*along, ends]))
    numbers = np.zeros(len(used), np.int64)
    np.cumsum(np.minimum(np.diff(used), 2), out=numbers[1:])
    numbers += not count
    found = [numbers[used.searchsorted(each)] for each in along]
    last = int(numbers[-1])
    return found, last + 1 if count else 0, last + (1 if count else 2)


def sorted_cells(keys: CellNumbers, most: int) -> CellList:
    """Return places in the order of the keys of their cells, which are below `most`; O(k log k)."""
    k = len(keys)
    bits = max(k - 1, 1).bit_length()
    if most <= 1 << 63 - bits:
        # one number for both: no two are alike, and these sort quickly
        together = keys << bits
        together |= np.arange(k)
        together.sort()
        order = (together & (1 << bits) - 1).astype(np.intp, copy=False)
        ordered = np.right_shift(together, bits, out=together)
    else:
        order = keys.argsort(kind="stable")
        ordered = keys[order]
    firsts = (ordered[1:] != ordered[:-1]).nonzero()[0]
    starts = np.empty(len(firsts) + 1 + (k > 0), np.intp)
    starts[0] = 0
    np.add(firsts, 1, out=starts[1 : len(firsts) + 1])
    starts[-1] = k
    return CellList(order, ordered[starts[:-1]], starts, _table(keys, most))


def _table(keys: CellNumbers, most: int) -> RowArray | None:
    """Return how many places are in cells before each, unless cells are far more than places."""
    if most > SPARSE * len(keys):
        return None
    table = np.zeros(most + 1, np.intp)
    np.cumsum(np.bincount(keys, minlength=most), out=table[1:])
    return table


def runs_around(lattice: Lattice, numbers: Sequence[CellNumbers], members: CellList) -> RowArray:
    """Return the runs of places in and around cells with these numbers along each axis: where the
    slices of places that follow each other begin and end, shape (2, cells, runs); some are empty.

    Cells come by steps of -1, 0, 1 along each axis, the first one slowest, each once.
    """
    *outer, last = numbers
    strips, stretches = _strips(lattice, outer), _stretches(last, lattice.counts[-1])
    ends = np.zeros((2, len(last), len(strips) * len(stretches)), np.intp)
    run = 0
    for strip in strips:
        first = lattice.keys([*strip, 0])
        for cells, low, high in stretches:
            base = first[cells]
            ends[0, cells, run] = members.before(base + low)
            ends[1, cells, run] = members.before(base + high)
            run += 1
    return ends


def _strips(lattice: Lattice, outer: Sequence[CellNumbers]) -> list[list[CellNumbers]]:
    """Return the numbers, but for the last axis, of the cells around each cell."""
    found: list[list[CellNumbers]] = [[]]
    for axis, cells in enumerate(outer):
        count = lattice.counts[axis]
        steps = CELL_STEPS[min(count, 3)]
        around = [_around(cells + step, count) if count else cells + step for step in steps]
        found = [[*before, one] for before in found for one in around]
    return found


def _around(cells: CellNumbers, count: int) -> CellNumbers:
    """Take the numbers of cells, which are one beyond the border at most, around."""
    cells[cells < 0] = count - 1
    cells[cells == count] = 0
    return cells


def _stretches(cells: CellNumbers, count: int) -> list[tuple[Any, Any, Any]]:
    """Return cells that follow each other, of those before and behind each cell: for which cells,
    the first one and the end. Those at a border have two such stretches."""
    everywhere = slice(None)
    if not count:
        return [(everywhere, cells - 1, cells + 2)]
    if count == 1:
        return [(everywhere, cells, cells + 1)]
    first, final = (cells == 0).nonzero()[0], (cells == count - 1).nonzero()[0]
    low, high = cells - 1, cells + 2
    low[first], high[first], high[final] = count - 1, count, count
    border = np.concatenate([first, final[: 0 if count == 2 else None]])
    again = np.ones(len(border), np.int64)
    again[: len(first)] = min(count - 1, 2)
    return [(everywhere, low, high), (border, 0, again)]


class LiveCellList:
    """Members by the cells in which they are, those of one cell in the order in which they came."""

    def __init__(
        self,
        places: Positions,
        numbers: CellNumbers,
        names: EntityKeys,
        other_names: EntityKeys,
        radius: float,
        wrap: Sequence[float],
    ) -> None:
        self.places = places
        """Where members are now, shape (axes, members); NaN of those who are in no cell."""
        self.most = places.shape[1]
        """How many members there are."""
        self._names, self._other_names = names, other_names
        self._numbers = numbers.tolist()
        grid = cell_grid(radius, wrap, places.dtype.type)
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

    def leave(self, row: int) -> None:
        """Let a row be nowhere from now on."""
        member = self._numbers[row]
        cell = self._cell_of[member] if member >= 0 else None
        if cell is not None:
            del self._cells[cell][member]
            self._cell_of[member] = None
        self._numbers[row] = -1

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
        is_one, names = not len(self._names), self._other_names
        is_other = members != own if is_one else names.take(members) != self._names[own]
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
live_cell_list: Final = LiveCellList
find_neighbours_now: Final = LiveCellList.find
move_to_cell: Final = LiveCellList.move
remove_from_cells: Final = LiveCellList.leave
