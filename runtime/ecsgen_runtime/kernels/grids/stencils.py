"""What cells ask of the cells around them, all at once: sums of shifted slices of a picture that
has a margin."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .grid_layout import GridLayout, neighbourhood_offsets
from .grid_manager import GridManager


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
        """How many places of a picture there are from the first cell to the last one."""
        places = (steps + np.array(self._margins, np.int64)) @ np.array(strides)
        self._parts = [slice(start, start + self._span) for start in places.tolist()]
        """Of a picture, from the first cell to the last one, as seen from each offset."""

    def count(self, column: NDArray[np.bool_]) -> NDArray[Any]:
        """Return for how many of the cells around each one a column is true; O(cells * reach)."""
        return self._added(column.view(np.uint8), np.min_scalar_type(len(self._parts)))

    @property
    def counts(self) -> NDArray[Any]:
        """How many cells are around each one."""
        return self.count(np.ones(self._cells, np.bool_))

    def sum(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return sums of a column over the cells around each one: floats in f64, in the order of
        offsets, then in their own type; integers in 64 bits."""
        if column.dtype.kind == "f":
            return self._added(column, np.float64).astype(column.dtype)
        wide = np.uint64 if column.dtype.kind == "u" else np.int64
        return self._added(column, wide)

    def mean(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the means, NaN of none; of integers in f64."""
        total, counts = self._added(column, np.float64), self.counts
        with np.errstate(all="ignore"):
            total /= counts
        total[counts == 0] = np.nan  # whatever sign 0 / 0 has
        return total.astype(column.dtype if column.dtype.kind == "f" else np.float64)

    def min(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the least values: NaN if one is, or of none; of integers 0."""
        return self._extreme(np.minimum, column)

    def max(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the greatest values; as `min` otherwise."""
        return self._extreme(np.maximum, column)

    # --- pictures --------------------------------------------------------------------------

    def _picture(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the cells as a picture with a margin: what is around axes that go around, and
        nothing outside of the others."""
        picture = np.zeros(self._shape, column.dtype)
        picture[self._inner] = column.reshape(picture[self._inner].shape)
        axes = zip(self._margins, self._picked, self._wrap, strict=True)
        for axis, (margin, picked, goes_around) in enumerate(axes):
            if goes_around and margin:
                lines, size = picture.swapaxes(axis, 0), picked.stop
                lines[:margin] = lines[size : size + margin]
                lines[size + margin :] = lines[margin : 2 * margin]
        return picture.reshape(-1)

    def _whole(self, kind: Any, value: Any = 0) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return an array of the shape of pictures, and the part of it that such slices match."""
        whole = np.full(self._shape, value, kind)
        return whole, whole.reshape(-1)[: self._span]

    def _added(self, column: NDArray[Any], kind: Any) -> NDArray[Any]:
        picture, (whole, total) = self._picture(column), self._whole(kind)
        for part in self._parts:
            np.add(total, picture[part], out=total, casting="unsafe")
        return whole[self._picked].reshape(-1)

    def _extreme(self, choose: np.ufunc, column: NDArray[Any]) -> NDArray[Any]:
        is_float = column.dtype.kind == "f"
        picture = self._picture(column)
        known = self._picture(np.ones(self._cells, np.bool_))
        whole, found = self._whole(column.dtype, np.nan if is_float else 0)
        is_first = np.ones(self._span, np.bool_)
        for part in self._parts:
            values, there = picture[part], known[part]
            better = np.where(is_first, values, choose(found, values))
            np.copyto(found, better, where=there)
            is_first &= ~there
        return whole[self._picked].reshape(-1)


_known = lru_cache(64)(Stencil)


def stencil_of(grid: GridManager, hood: str, radius: int) -> Stencil:
    """Return the cells in reach of each cell of a grid."""
    return _known(grid._layout, hood, radius)
