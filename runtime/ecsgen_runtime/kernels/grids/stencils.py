"""Aggregates of the cells around each cell, as sums of shifted slices of an array with margins."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .grid_layout import GridLayout, neighbourhood_offsets
from .grid_manager import GridManager

_Mask = NDArray[np.bool_]


class Stencil:
    """The cells in reach of each cell of a grid."""

    def __init__(self, layout: GridLayout, hood: str, radius: int) -> None:
        shape, self._wrap = layout
        steps = neighbourhood_offsets(layout, hood, radius, center=False)
        self._cells = layout.cells
        self._picked = tuple(slice(0, size) for size in shape)
        self._margins = np.abs(steps).max(axis=0, initial=0).tolist()
        self._shape = tuple(
            size + 2 * margin for size, margin in zip(shape, self._margins, strict=True)
        )
        self._inner = tuple(
            slice(m, m + size) for m, size in zip(self._margins, shape, strict=True)
        )
        strides = GridLayout(self._shape, self._wrap).strides
        self._span = 1 + sum((s - 1) * t for s, t in zip(shape, strides, strict=True))
        """Number of items of a padded array from the first cell to the last one."""
        starts = (steps + np.array(self._margins, np.int64)) @ np.array(strides)
        self._parts = [slice(start, start + self._span) for start in starts.tolist()]
        """Slice of a padded array from the first cell to the last one, shifted by each offset."""
        self.offsets = np.ascontiguousarray(steps.T)
        """Offsets of the cells around, shape (axes, k)."""
        self.distances = np.sqrt((self.offsets * self.offsets).sum(axis=0).astype(np.float64))
        """Distances of the cells around, shape (k,)."""
        self._some: dict[bytes, Stencil] = {}

    def only(self, picked: NDArray[np.bool_]) -> Stencil:
        """Return the stencil with some of the offsets, shape (k,); made once."""
        key = picked.tobytes()
        if key not in self._some:
            self._some[key] = stencil = copy(self)
            stencil._parts = list(compress(self._parts, picked.tolist()))
        return self._some[key]

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
        column = _masked(column, where)
        if column.dtype.kind == "f":
            return self._added(column, np.float64).astype(column.dtype)
        wide = np.uint64 if column.dtype.kind == "u" else np.int64
        return self._added(column, wide)

    def mean(self, column: NDArray[Any], where: _Mask | None = None) -> NDArray[Any]:
        """Return the means, NaN for none; those of integers in f64. `where`: as for `sum`."""
        total = self._added(_masked(column, where), np.float64)
        counts = self.counts if where is None else self.count(where)
        with np.errstate(all="ignore"):
            total /= counts
        total[counts == 0] = np.nan  # whatever sign 0 / 0 has
        return total.astype(column.dtype if column.dtype.kind == "f" else np.float64)

    def min(self, column: NDArray[Any], where: _Mask | None = None) -> NDArray[Any]:
        """Return the least values: NaN if one is NaN; NaN, or 0 for integers, for none."""
        return self._extreme(np.minimum, column, where)

    def max(self, column: NDArray[Any], where: _Mask | None = None) -> NDArray[Any]:
        """Return the greatest values; as `min` otherwise."""
        return self._extreme(np.maximum, column, where)

    def _padded(self, column: NDArray[Any], outside: Any = 0) -> NDArray[Any]:
        """Return the cells as a padded array: margins repeat cells of axes that wrap, and have one
        value outside of others."""
        padded = np.full(self._shape, outside, column.dtype)
        padded[self._inner] = column.reshape(padded[self._inner].shape)
        axes = zip(self._margins, self._picked, self._wrap, strict=True)
        for axis, (margin, picked, wraps) in enumerate(axes):
            if wraps and margin:
                lines, size = padded.swapaxes(axis, 0), picked.stop
                lines[:margin] = lines[size : size + margin]
                lines[size + margin :] = lines[margin : 2 * margin]
        return padded.reshape(-1)

    def _padded_array(self, kind: Any, value: Any = 0) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return a padded array, and the part of it that the shifted slices match."""
        array = np.full(self._shape, value, kind)
        return array, array.reshape(-1)[: self._span]

    def _added(self, column: NDArray[Any], kind: Any) -> NDArray[Any]:
        padded, (array, total) = self._padded(column), self._padded_array(kind)
        for part in self._parts:
            np.add(total, padded[part], out=total, casting="unsafe")
        return array[self._picked].reshape(-1)

    def _extreme(self, choose: np.ufunc, column: NDArray[Any], where: _Mask | None) -> NDArray[Any]:
        is_float, least = column.dtype.kind == "f", choose is np.maximum
        neutral: Any = -np.inf if least else np.inf
        if not is_float:
            neutral = np.iinfo(column.dtype).min if least else np.iinfo(column.dtype).max
        if where is not None:
            column = np.where(where, column, column.dtype.type(neutral))
        padded = self._padded(column, neutral)
        array, extremes = self._padded_array(column.dtype, neutral)
        for part in self._parts:
            choose(extremes, padded[part], out=extremes)
        chosen = array[self._picked].reshape(-1)
        if where is not None or not (all(self._wrap) and self._parts):
            counts = self.counts if where is None else self.count(where)
            chosen[counts == 0] = np.nan if is_float else 0
        return chosen


def _masked(column: NDArray[Any], where: _Mask | None) -> NDArray[Any]:
    """Return a column with 0 where a mask is false."""
    return column if where is None else np.where(where, column, column.dtype.type(0))


_known = lru_cache(64)(Stencil)


def stencil_of(grid: GridManager, hood: str, radius: int) -> Stencil:
    """Return the cells in reach of each cell of a grid."""
    return _known(grid.grid_layout, hood, radius)
