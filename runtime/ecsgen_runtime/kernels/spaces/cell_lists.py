"""Positions sorted by cells whose edge is the radius; cells without positions take no memory.

A position is in cell floor(x / edge) along each axis, modulo the number of cells where the axis is
wrapped. Cells have keys, consecutive for adjacent cells along the last axis.
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
"""Coordinates in f32 or f64, shape (axes, k)."""
CellNumbers = NDArray[np.int64]
EntityKeys = NDArray[np.uint64]
NO_KEYS: Final = np.empty(0, np.uint64)
"""Keys of one set, whose members ask each other."""

WIDER: Final = 1.001
"""Ratio of edge to radius: positions in reach are at most one cell apart, in spite of rounding."""
FARTHEST_CELL: Final = 2.0**61
"""Number up to which cells are told apart."""
_MOST: Final = 1 << 62
"""Maximal number of keys."""
SPARSE: Final = 4
"""Ratio of cells to positions up to which cells have a table."""
CELL_STEPS: Final = ((-1, 0, 1), (0,), (-1, 0), (-1, 0, 1))
"""Steps to the cells around a cell, by the number of cells of a wrapped axis, 0 of an open one."""


class CellGrid(NamedTuple):
    """Division of the axes into cells, with constants for comparisons in the positions' type."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    """Cells of a wrapped axis; 0 where it is open."""
    reach: Any
    """Square of the radius."""
    sizes: NDArray[Any]
    """Size of each axis and half of it: 1 and infinity where it is open; shape (2, axes)."""


class CellList(NamedTuple):
    """Positions in the order of their cells, those of one cell in their own order."""

    order: RowArray
    """Numbers of the positions in this order, shape (k,)."""
    keys: CellNumbers
    """Keys of the cells with positions, ascending, shape (cells,)."""
    starts: RowArray
    """Start of each cell's positions, shape (cells + 1,)."""
    table: RowArray | None
    """Start of any cell's positions, by key; None if there are too many cells."""

    def before(self, keys: CellNumbers) -> RowArray:
        """Return the numbers of positions in cells with smaller keys."""
        if self.table is not None:
            return self.table.take(keys)
        return self.starts[self.keys.searchsorted(keys)]


class Lattice(NamedTuple):
    """Numbers of cells along each axis, from 0 on; an open axis has a free one on each side."""

    counts: tuple[int, ...]
    spans: tuple[int, ...]

    @property
    def key_limit(self) -> int:
        """Upper limit of all keys, exclusive."""
        return min(prod(self.spans), _MOST)

    def keys(self, numbers: Sequence[Any]) -> Any:
        """Return the keys of cells. If there were too many, distant strips of cells share keys:
        their positions are never in reach, and no two strips around a cell are among them."""
        *outer, last = numbers
        keys: Any = 0
        for axis, axis_numbers in enumerate(outer):
            keys = keys * self.spans[axis] + axis_numbers
        if prod(self.spans) > _MOST:
            keys = keys % (_MOST // self.spans[-1])
        return keys * self.spans[-1] + last


def wrap_sizes(wrap: tuple[float, ...], kind: Any) -> NDArray[Any]:
    """Return the `sizes` that `CellGrid` has for a space."""
    return cell_grid(1.0, wrap, np.dtype(kind)).sizes


@lru_cache(16)
def cell_grid(radius: float, wrap: tuple[float, ...], dtype: np.dtype[Any]) -> CellGrid:
    """Return the cells for a radius, shared and read only; `wrap` has 0 for open axes."""
    edge, kind = WIDER * radius, dtype.type
    with np.errstate(all="ignore"):
        reach = np.square(kind(radius))
        sizes = [kind(size) if size else kind(1) for size in wrap]
        halves = [kind(size) / 2 if size else kind(inf) for size in wrap]
    if isinf(reach) or reach < np.finfo(kind).tiny:
        edge = inf  # the square of a distance is too imprecise to choose cells
    counts = [max(1, floor(min(size / edge, FARTHEST_CELL))) if size else 0 for size in wrap]
    edges = [size / count if count else edge for size, count in zip(wrap, counts, strict=True)]
    return CellGrid(tuple(edges), tuple(counts), reach, np.array([sizes, halves], kind))


def take_around(apart: NDArray[Any], size: Any, half: Any) -> None:
    """Wrap offsets along an axis to the shortest way, in place."""
    if half == inf:
        return
    far = (np.abs(apart) > half).nonzero()[0]
    if len(far):
        offsets = apart[far]
        offsets -= size * np.rint(offsets / size)
        apart[far] = offsets


def numbered(grid: CellGrid, *positions: Positions) -> tuple[Lattice, list[list[CellNumbers]]]:
    """Return a lattice, and each axis' cell numbers, shape (k,), of sets of finite positions."""
    numbers: list[list[CellNumbers]] = [[] for _ in positions]
    spans, counts = [], list(grid.counts)
    for axis, edge in enumerate(grid.edges):
        numbers_along = [_along(each[axis], edge, counts[axis]) for each in positions]
        low = 0 if counts[axis] else min(int(each.min(initial=0)) for each in numbers_along) - 1
        high = max(int(each.max(initial=0)) for each in numbers_along) + 1
        spans.append(counts[axis] or high - low + 1)
        for each, axis_numbers in zip(numbers, numbers_along, strict=True):
            each.append(axis_numbers - low if low else axis_numbers)
    if prod(spans) > _MOST:
        for axis in range(len(spans)):
            numbers_along, counts[axis], spans[axis] = _closed_up(
                [each[axis] for each in numbers], counts[axis]
            )
            for each, axis_numbers in zip(numbers, numbers_along, strict=True):
                each[axis] = axis_numbers
    return Lattice(tuple(counts), tuple(spans)), numbers


def _along(x: Positions, edge: float, count: int) -> CellNumbers:
    """Return the numbers of finite positions' cells along an axis."""
    with np.errstate(all="ignore"):
        cells = np.divide(x, edge, dtype=np.float64)
        np.floor(cells, out=cells)
        if count and len(cells) and not 0 <= cells.min() <= cells.max() < count:
            np.remainder(cells, count, out=cells)
            np.nan_to_num(cells, copy=False)  # for positions whose cell has no number
    if len(cells) and not -FARTHEST_CELL < cells.min() <= cells.max() < FARTHEST_CELL:
        np.clip(cells, -FARTHEST_CELL, FARTHEST_CELL, out=cells)
    return cells.astype(np.int64)


def _closed_up(along: list[CellNumbers], count: int) -> tuple[list[CellNumbers], int, int]:
    """Return numbers without wide gaps, which keep adjacent cells adjacent and no others; the
    number of cells now, if the axis wraps; and the span of numbers."""
    ends = np.array([0, count - 1] if count else [], np.int64)
    used = np.unique(np.concatenate([*along, ends]))
    numbers = np.zeros(len(used), np.int64)
    np.cumsum(np.minimum(np.diff(used), 2), out=numbers[1:])
    numbers += not count
    renumbered = [numbers[used.searchsorted(each)] for each in along]
    last = int(numbers[-1])
    return renumbered, last + 1 if count else 0, last + (1 if count else 2)


def sorted_cells(keys: CellNumbers, key_limit: int) -> CellList:
    """Return positions in the order of their cells' keys, all below `key_limit`; O(k log k)."""
    k = len(keys)
    bits = max(k - 1, 1).bit_length()
    if key_limit <= 1 << 63 - bits:
        # one number for key and position: distinct numbers sort fast
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
    return CellList(order, ordered[starts[:-1]], starts, _table(keys, key_limit))


def _table(keys: CellNumbers, key_limit: int) -> RowArray | None:
    """Return the number of positions before each cell; None if cells are far more."""
    if key_limit > SPARSE * len(keys):
        return None
    table = np.zeros(key_limit + 1, np.intp)
    np.cumsum(np.bincount(keys, minlength=key_limit), out=table[1:])
    return table


def runs_around(lattice: Lattice, numbers: Sequence[CellNumbers], members: CellList) -> RowArray:
    """Return the runs of consecutive positions in and around cells with these numbers along each
    axis: their starts and ends, shape (2, cells, runs); runs may be empty.

    Cells come by steps of -1, 0, 1 along each axis, the first one slowest, each once.
    """
    *outer, last = numbers
    strips, stretches = _strips(lattice, outer), _stretches(last, lattice.counts[-1])
    ends = np.zeros((2, len(last), len(strips) * len(stretches)), np.intp)
    run = 0
    for strip in strips:
        first = lattice.keys([*strip, np.zeros_like(last)])
        for cells, low, high in stretches:
            base = first[cells]
            ends[0, cells, run] = members.before(base + low)
            ends[1, cells, run] = members.before(base + high)
            run += 1
    return ends


def _strips(lattice: Lattice, outer: Sequence[CellNumbers]) -> list[list[CellNumbers]]:
    """Return the numbers, but for the last axis, of the cells around each cell."""
    strips: list[list[CellNumbers]] = [[]]
    for axis, cells in enumerate(outer):
        count = lattice.counts[axis]
        steps = CELL_STEPS[min(count, 3)]
        around = [_around(cells + step, count) if count else cells + step for step in steps]
        strips = [[*before, neighbour] for before in strips for neighbour in around]
    return strips


def _around(cells: CellNumbers, count: int) -> CellNumbers:
    """Wrap numbers of cells, which are at most one beyond the border, in place."""
    cells[cells < 0] = count - 1
    cells[cells == count] = 0
    return cells


def _stretches(cells: CellNumbers, count: int) -> list[tuple[Any, Any, Any]]:
    """Return stretches of consecutive cells around each cell: cells, first numbers and ends. Cells
    at a border have two stretches."""
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
    """Members by cell, those of one cell in the order of their arrival."""

    def __init__(
        self,
        positions: Positions,
        numbers: CellNumbers,
        names: EntityKeys,
        other_names: EntityKeys,
        radius: float,
        wrap: tuple[float, ...],
    ) -> None:
        self.positions = positions
        """Present positions of members, shape (axes, members); NaN for members in no cell."""
        self.n_members = positions.shape[1]
        """Number of members."""
        self._names, self._other_names = names, other_names
        self._numbers = numbers.tolist()
        grid = cell_grid(radius, wrap, positions.dtype)
        self._edges, self._counts, self._reach, self.sizes = grid
        self._around_axes = grid.sizes.T.tolist()
        steps = (CELL_STEPS[min(count, 3)] for count in self._counts)
        self._steps = list(product(*steps))
        self._cells: dict[tuple[int, ...], dict[int, None]] = {}
        self._cell_of: list[tuple[int, ...] | None] = [None] * positions.shape[1]
        with np.errstate(all="ignore"):
            for member, position in enumerate(positions.T.tolist()):
                self._enter(member, self._cell(position))

    def move(self, row: int, position: Sequence[Any]) -> None:
        """Move a row with a new position to its cell; to the end if it was in another cell."""
        member = self._numbers[row]
        if member < 0:
            return
        cell, before = self._cell(position), self._cell_of[member]
        self.positions[:, member] = np.nan if cell is None else position
        if cell != before:
            if before is not None:
                del self._cells[before][member]
            self._enter(member, cell)

    def leave(self, row: int) -> None:
        """Remove a row for good."""
        member = self._numbers[row]
        cell = self._cell_of[member] if member >= 0 else None
        if cell is not None:
            del self._cells[cell][member]
            self._cell_of[member] = None
        self._numbers[row] = -1

    def find(self, asker: int, position: Sequence[Any], out: RowArray) -> int:
        """Write the members in reach of a position, in their order; return their number."""
        around = [member for cell in self._around(position) for member in cell]
        if not around:
            return 0
        members = np.array(around)
        square = None
        for axis, x in enumerate(position):
            apart = self.positions[axis].take(members) - x
            take_around(apart, *self._around_axes[axis])
            square = apart * apart if square is None else square + apart * apart
        is_one, names = not len(self._names), self._other_names
        is_other = members != asker if is_one else names.take(members) != self._names[asker]
        near = members[(square <= self._reach) & is_other]
        out[: len(near)] = near
        return len(near)

    def _around(self, position: Sequence[Any]) -> Iterator[dict[int, None]]:
        """Yield the members of each cell around a position; none if it is not finite."""
        cell = self._cell(position)
        for step in self._steps if cell is not None else ():
            axes = zip(cell or (), step, self._counts, strict=True)
            neighbour = tuple((c + s) % count if count else c + s for c, s, count in axes)
            yield self._cells.get(neighbour, {})

    def _enter(self, member: int, cell: tuple[int, ...] | None) -> None:
        self._cell_of[member] = cell
        if cell is not None:
            self._cells.setdefault(cell, {})[member] = None

    def _cell(self, position: Sequence[Any]) -> tuple[int, ...] | None:
        if not all(map(isfinite, position)):
            return None
        axes = zip(position, self._edges, self._counts, strict=True)
        return tuple(cell_along(edge, count, x)[1] for x, edge, count in axes)


def cell_along(edge: Any, count: Any, x: Any) -> tuple[bool, int]:
    """Return True if a coordinate is inside of an axis, and its cell."""
    cell, is_within = float(np.floor(np.float64(x) / edge)), True
    if count > 0 and not 0.0 <= cell < count:
        cell, is_within = cell % float(count), False
    known = cell if cell == cell else 0.0
    return is_within, int(min(max(known, -FARTHEST_CELL), FARTHEST_CELL))


# Under the names of the compiled twins.
live_cell_list: Final = LiveCellList
find_neighbours_now: Final = LiveCellList.find
move_to_cell: Final = LiveCellList.move
remove_from_cells: Final = LiveCellList.leave
