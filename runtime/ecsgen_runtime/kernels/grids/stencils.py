"""Aggregates of the cells around each cell, as sums of shifted slices of an array with margins, and
columns shifted by each offset, for what is asked of a row and a cell around together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property, lru_cache
from itertools import compress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..blocks import put_where
from .grid_layout import GridLayout, distances_at, neighbourhood_offsets, shortest_moves
from .grid_manager import GridManager

_Mask = NDArray[np.bool_]


_MOST_KEPT: Final = 1 << 24
"""Greatest number of bytes of memory that is kept for the next call."""


class _Loan:
    """An array of which others take views; it is given back when no one has the loan."""

    def __init__(self, free: list[NDArray[Any]], shape: Sequence[int], kind: np.dtype[Any]) -> None:
        self._is_kept = False  # without memory for the array it ends at once
        self._free, self.array = free, free.pop() if free else np.empty(shape, kind)
        self._is_kept = self.array.nbytes <= _MOST_KEPT  # at exit the module may be gone first

    def __del__(self) -> None:
        if self._is_kept:
            self._free.append(self.array)


class CellsAround:
    """Values of the cells around each row: an array (*shape, rows) for each offset, or True for
    all. `loan`: whose memory they share."""

    def __init__(self, arrays: Sequence[Any], loan: _Loan | None = None) -> None:
        self._arrays, self._loan = arrays, loan

    def __getitem__(self, index: Any) -> CellsAround:
        """Return the values of some rows; the index may begin with `...`."""
        picked = index[-1] if isinstance(index, tuple) else index
        arrays = [array if array is True else array[..., picked] for array in self]
        return CellsAround(arrays, self._loan)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._arrays)


class Stencil:
    """The cells in reach of each cell of a grid."""

    def __init__(self, layout: GridLayout, hood: str, radius: int) -> None:
        shape, self._wrap = layout
        steps = neighbourhood_offsets(layout, hood, radius, center=False)
        self._moves = moves = shortest_moves(layout, steps)
        """Offsets to the same cells within the margins, shape (k, axes)."""
        self._cells = layout.cells
        self._picked = tuple(slice(0, size) for size in shape)
        self._margins = np.abs(moves).max(axis=0, initial=0).tolist()
        self._shape = tuple(
            size + 2 * margin for size, margin in zip(shape, self._margins, strict=True)
        )
        self._inner = tuple(
            slice(m, m + size) for m, size in zip(self._margins, shape, strict=True)
        )
        strides = GridLayout(self._shape, self._wrap).strides
        self._span = 1 + sum((s - 1) * t for s, t in zip(shape, strides, strict=True))
        """Number of items of a padded array from the first cell to the last one."""
        starts = (moves + np.array(self._margins, np.int64)) @ np.array(strides)
        self._parts = [slice(start, start + self._span) for start in starts.tolist()]
        """Slice of a padded array from the first cell to the last one, shifted by each offset."""
        self.offsets = np.ascontiguousarray(steps.T)
        """Offsets of the cells around, shape (axes, k)."""
        self.distances = distances_at(steps, hood)
        """Distances of the cells around, shape (k,)."""
        self.steps = [step[:, None] for step in steps]
        """Offset of each of the cells around, shape (axes, 1)."""
        self.ways = [*self.distances]
        """Distance of each of the cells around."""
        self._some: dict[bytes, Stencil] = {}
        self._free: dict[tuple[Any, ...], list[NDArray[Any]]] = {}
        """Memory for the next call: what the system has to give anew costs more than to use it."""

    def only(self, picked: NDArray[np.bool_]) -> Stencil:
        """Return the stencil with some of the offsets, shape (k,); made once."""
        key = picked.tobytes()
        if key not in self._some:
            self._some[key] = stencil = copy(self)
            stencil.__dict__.pop("inside", None)
            stencil._moves = self._moves[picked]
            for name in ("_parts", "steps", "ways"):
                setattr(stencil, name, [*compress(getattr(self, name), picked.tolist())])
        return self._some[key]

    def around(self, column: NDArray[Any]) -> CellsAround:
        """Return the values of a column, shape (*shape, cells), at the cells around each cell, 0
        where there is none. They share memory; O(cells * reach along all axes but the first)."""
        shape, line = column.shape[:-1], self._cells // self._picked[0].stop
        margined = self._padded(column)
        padded = margined.array
        starts = (self._moves + np.array(self._margins, np.int64)).tolist()
        corners = list(dict.fromkeys((*corner,) for _, *corner in starts))
        # margins along the first axis alone: a shift along it is a slice
        sizes = self._shape[0], *(size.stop for size in self._picked[1:])
        loan = self._borrow((len(corners), *shape, *sizes), column.dtype)
        shifted = loan.array
        for box, corner in zip(shifted, corners, strict=True):
            ends = zip(corner, sizes[1:], strict=True)
            inner: Any = (..., slice(None), *(slice(first, first + size) for first, size in ends))
            box[...] = padded[inner]
        flat = shifted.reshape(len(corners), *shape, sizes[0] * line)
        return CellsAround(
            [
                flat[corners.index((*corner,))][..., first * line : first * line + self._cells]
                for first, *corner in starts
            ],
            loan,
        )

    @cached_property
    def inside(self) -> CellsAround:
        """True where there is a cell at each offset from each cell."""
        if all(self._wrap):
            return CellsAround([True] * len(self._parts))
        return self.around(np.ones(self._cells, np.bool_))

    def count(self, column: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the number of cells around each cell where a column is true; O(cells * reach)."""
        return self._added(column.view(np.uint8), np.min_scalar_type(len(self._parts)))

    @property
    def counts(self) -> NDArray[Any]:
        """Number of cells around each cell."""
        return self.count(np.ones(self._cells, np.bool_))

    def sum(self, column: NDArray[Any], where: _Mask | None = None) -> NDArray[Any]:
        """Return sums of a column over the cells around each cell: floats in f64, in the order of
        offsets, then in their own type; integers in 64 bits. `where`: of these cells alone."""
        if column.dtype.kind == "f":
            return self._added(column, np.float64, where).astype(column.dtype, copy=False)
        wide = np.uint64 if column.dtype.kind == "u" else np.int64
        return self._added(column, wide, where)

    def mean(self, column: NDArray[Any], where: _Mask | None = None) -> NDArray[Any]:
        """Return the means, NaN for none; those of integers in f64. `where`: as for `sum`."""
        total = self._added(column, np.float64, where)
        counts = self.counts if where is None else self.count(where)
        divide_by_counts(total, counts)
        return total.astype(column.dtype if column.dtype.kind == "f" else np.float64, copy=False)

    def min(self, column: NDArray[Any], where: _Mask | None = None) -> NDArray[Any]:
        """Return the least values: NaN if one is NaN; NaN, or 0 for integers, for none."""
        return self._extreme(np.minimum, column, where)

    def max(self, column: NDArray[Any], where: _Mask | None = None) -> NDArray[Any]:
        """Return the greatest values; as `min` otherwise."""
        return self._extreme(np.maximum, column, where)

    def _borrow(self, shape: tuple[int, ...], kind: np.dtype[Any]) -> _Loan:
        return _Loan(self._free.setdefault((shape, kind), []), shape, kind)

    def _padded(self, column: NDArray[Any], outside: Any = 0, where: _Mask | None = None) -> _Loan:
        """Return the cells as a padded array: margins repeat cells of axes that wrap, and have one
        value outside of others, as cells have where a mask is false."""
        loan = self._borrow((*column.shape[:-1], *self._shape), column.dtype)
        padded = loan.array
        if not all(self._wrap):
            padded[...] = outside
        picked: Any = (..., *self._inner)
        inside = padded[picked]
        if where is not None:
            memory = self._borrow(column.shape, np.dtype(f"i{column.itemsize}"))
            column = chosen_values(column, where, outside, memory.array)
        inside[...] = column.reshape(inside.shape)
        axes = zip(self._margins, self._picked, self._wrap, strict=True)
        for axis, (margin, picked, wraps) in enumerate(axes, -len(self._shape)):
            if wraps and margin:
                lines, size = padded.swapaxes(axis, 0), picked.stop
                lines[:margin] = lines[size : size + margin]
                lines[size + margin :] = lines[margin : 2 * margin]
        return loan

    def _folded(
        self, fold: np.ufunc, column: NDArray[Any], kind: Any, first: Any, where: _Mask | None
    ) -> NDArray[Any]:
        """Return what a fold makes of `first` and of the values around each cell."""
        margined = self._padded(column, first, where)
        padded, loan = margined.array.reshape(-1), self._borrow(self._shape, np.dtype(kind))
        loan.array[...] = first
        total = loan.array.reshape(-1)[: self._span]  # what the shifted slices match
        for part in self._parts:
            fold(total, padded[part], out=total, casting="unsafe")
        return loan.array[self._picked].flatten()

    def _added(self, column: NDArray[Any], kind: Any, where: _Mask | None = None) -> NDArray[Any]:
        return self._folded(np.add, column, kind, 0, where)

    def _extreme(self, choose: np.ufunc, column: NDArray[Any], where: _Mask | None) -> NDArray[Any]:
        neutral = extreme_of_none(choose, column.dtype)
        chosen = self._folded(choose, column, column.dtype, neutral, where)
        if where is not None or not (all(self._wrap) and self._parts):
            counts = self.counts if where is None else self.count(where)
            put_where(chosen, counts == 0, np.nan if column.dtype.kind == "f" else 0)
        return chosen


_FEW: Final = 16
"""Rows to one that is left out, from which on these get back what they had before."""

# Of a block, one offset after the other: masks are arrays or True.


def both_masks(mask: Any, test: Any, out: NDArray[np.bool_]) -> Any:
    """Return where a mask and a test are true, in `out` or as the test."""
    if mask is True and np.shape(test) == out.shape:
        return test
    return np.logical_and(mask, test, out=out)


def count_some(counts: NDArray[np.uint8], mask: Any) -> None:
    """Count where a mask is true."""
    counts += np.uint8(1) if mask is True else mask.view(np.uint8)


def fold_some(
    fold: np.ufunc, total: NDArray[Any], values: Any, mask: Any, memory: NDArray[Any]
) -> None:
    """Add values to a total, or keep the lesser or greater ones, where a mask is true. `memory`:
    integers as wide as the values, one for each."""
    if mask is True:
        fold(total, values, out=total)
    elif (len(mask) - np.count_nonzero(mask)) * _FEW < len(mask):  # at the border of a grid
        rows = np.logical_not(mask).nonzero()[0]
        before = total[..., rows]
        fold(total, values, out=total)
        total[..., rows] = before
    else:
        neutral = 0 if fold is np.add else extreme_of_none(fold, values.dtype)
        fold(total, chosen_values(values, mask, neutral, memory), out=total)


def chosen_values(values: Any, mask: _Mask, other: Any, memory: NDArray[Any]) -> NDArray[Any]:
    """Return values where a mask is true, another one elsewhere, in memory of integers as wide.
    `np.where` takes two to four times as long."""
    bits, differing = values.view(memory.dtype), values.dtype.type(other).view(memory.dtype)
    if differing:
        bits = np.bitwise_xor(bits, differing, out=memory)
    np.multiply(bits, mask, out=memory)
    if differing:
        memory ^= differing
    return memory.view(values.dtype)


def fold_floats(
    fold: np.ufunc,
    total: NDArray[Any],
    nans: NDArray[np.bool_],
    values: Any,
    mask: Any,
    memory: NDArray[Any],
) -> None:
    """Keep the lesser or greater floats where a mask is true: `fold` passes over NaN. `nans`
    becomes true where a value is NaN; `memory`: integers as wide as the values."""
    if np.isnan(np.minimum.reduce(values, axis=None)):
        nans |= np.isnan(values) & mask
    if mask is not True:
        memory[...] = np.subtract(mask.view(np.int8), 1)  # no bits, or all: NaN
        memory |= values.view(memory.dtype)
        values = memory.view(values.dtype)
    fold(total, values, out=total)


def extreme_of_none(choose: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """Return the value that changes no minimum, or no maximum."""
    least = choose is np.maximum
    if dtype.kind == "f":
        return dtype.type(-np.inf if least else np.inf)
    return dtype.type(np.iinfo(dtype).min if least else np.iinfo(dtype).max)


def divide_by_counts(total: NDArray[np.float64], counts: NDArray[Any]) -> None:
    """Make means of sums; NaN for none."""
    with np.errstate(all="ignore"):
        total /= counts
    put_where(total, counts == 0, np.nan)  # whatever sign 0 / 0 has


_known = lru_cache(64)(Stencil)


def stencil_of(grid: GridManager, hood: str, radius: int) -> Stencil:
    """Return the cells in reach of each cell of a grid."""
    return _known(grid.grid_layout, hood, radius)
