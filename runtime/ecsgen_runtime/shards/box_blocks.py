"""A box cut into equal blocks, one for each rank."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import index, truediv
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.handles import RowArray


class BoxBlocks:
    """A box of 1 to 3 dimensions, cut into equal blocks, one per rank.

    `ranks`: their number, or one number per axis. Points outside belong to the nearest block,
    or with `periodic` to the block into which they wrap.

    Raises:
        ValueError: not 1 to 3 dimensions, a box without volume, fewer than one rank.
    """

    __slots__ = ("_high", "_low", "_periodic", "_width", "shape", "size")

    def __init__(
        self, low: ArrayLike, high: ArrayLike, ranks: Any, *, periodic: bool = False
    ) -> None:
        self._low = np.atleast_1d(np.asarray(low, np.float64))
        self._high = np.atleast_1d(np.asarray(high, np.float64))
        axes = len(self._low)
        if self._low.ndim != 1 or self._low.shape != self._high.shape or axes > 3:
            raise ValueError("Blocks: wanted two corners of 1 to 3 dimensions")
        if not (self._low < self._high).all() or np.isinf(self._high - self._low).any():
            raise ValueError("Blocks: the box has no volume")
        self.shape: tuple[int, ...] = (
            tuple(map(index, ranks))
            if np.ndim(ranks)
            else _shape(index(ranks), (self._high - self._low).tolist())
        )
        """Number of blocks along each axis."""
        if len(self.shape) != axes or min(self.shape) < 1:
            raise ValueError(f"Blocks: {ranks} ranks along {axes} axes")
        self.size = int(np.prod(self.shape))
        """Number of blocks."""
        self._periodic = periodic
        self._width = (self._high - self._low) / self.shape

    def __repr__(self) -> str:
        blocks = " x ".join(map(str, self.shape))
        low, high = self._low.tolist(), self._high.tolist()
        return f"<{type(self).__name__}: {blocks} between {low} and {high}>"

    def owner(self, points: ArrayLike) -> RowArray:
        """Return the rank of the block of each point, shape (n,); O(n)."""
        array = self._points(points)
        ranks: RowArray | None = None
        for axis, count in enumerate(self.shape):
            if count == 1:
                continue
            cells = self._cells(self._along(array, axis), axis)
            if ranks is not None:
                cells += ranks * count
            ranks = cells
        return np.zeros(len(array), np.intp) if ranks is None else ranks

    def borders(self, points: ArrayLike, radius: float, rank: int) -> tuple[RowArray, RowArray]:
        """Return points near other ranks' blocks: rows, and these ranks, both shape (k,).

        Has every point within `radius` of a block of another rank than `rank`, and none that
        is farther along an axis; points may be anywhere. By rank, then row. O(n) for each block
        in reach.
        """
        array = self._points(points)
        if not radius >= 0:
            raise ValueError(f"Blocks: radius {radius}, wanted 0 or more")
        near_slices = [self._near(array, radius, axis) for axis in range(len(self.shape))]
        rows, ranks = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        for other in range(self.size):
            if other == rank:
                continue
            is_near = np.True_
            indices = np.unravel_index(other, self.shape)
            for near, slice_index in zip(near_slices, indices, strict=True):
                is_near = is_near & near(int(slice_index))
            near_rows = np.broadcast_to(is_near, len(array)).nonzero()[0]
            rows.append(near_rows)
            ranks.append(np.full(len(near_rows), other))
        return np.concatenate(rows), np.concatenate(ranks)

    def _points(self, points: ArrayLike) -> NDArray[Any]:
        array = np.asarray(points)
        axes = len(self.shape)
        if array.ndim == 1 and axes == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != axes:
            raise ValueError(f"Blocks: points of shape {array.shape}, wanted (n, {axes})")
        return array

    def _along(self, points: NDArray[Any], axis: int) -> NDArray[np.float64]:
        """Return coordinates along an axis, a new array; wrapped into the box if it is periodic."""
        coordinates = points[:, axis].astype(np.float64)
        low, high = float(self._low[axis]), float(self._high[axis])
        if self._periodic:
            outside = ((coordinates < low) | (coordinates >= high)).nonzero()[0]
            if len(outside):
                coordinates[outside] = low + np.mod(coordinates[outside] - low, high - low)
        return coordinates

    def _cells(self, coordinates: NDArray[np.float64], axis: int) -> RowArray:
        """Return the slice of an axis for each point: the nearest slice if it is outside."""
        cells = coordinates - float(self._low[axis])
        cells /= float(self._width[axis])
        np.fmax(cells, 0, out=cells)  # 0 for NaN as well
        np.fmin(cells, self.shape[axis] - 1, out=cells)
        return cells.astype(np.intp)

    def _near(self, points: NDArray[Any], radius: float, axis: int) -> Callable[[int], Any]:
        """Return a function from a slice of an axis to the mask of points within the radius."""
        if self.shape[axis] == 1:
            return lambda slice_index: np.True_
        coordinates = self._along(points, axis)
        slices, low, width = self._cells(coordinates, axis), float(self._low[axis]), self._width
        length = float(self._high[axis]) - low

        @cache
        def near(slice_index: int) -> NDArray[np.bool_]:
            start = low + slice_index * float(width[axis]) - radius
            end = low + (slice_index + 1) * float(width[axis]) + radius
            is_near = (coordinates >= start) & (coordinates <= end)
            if self._periodic:
                is_near |= (coordinates - length >= start) | (coordinates + length <= end)
            is_near |= slices == slice_index
            return is_near

        return near


def _shape(ranks: int, lengths: list[float]) -> tuple[int, ...]:
    """Return the cut into `ranks` blocks whose longest edges are shortest."""
    if ranks < 1:
        raise ValueError(f"Blocks: {ranks} ranks")
    cuts = _cuts(ranks, len(lengths))
    return min(cuts, key=lambda cut: max(map(truediv, lengths, cut)))


def _cuts(ranks: int, axes: int) -> list[tuple[int, ...]]:
    if axes == 1:
        return [(ranks,)]
    return [
        (count, *rest)
        for count in range(ranks, 0, -1)
        if ranks % count == 0
        for rest in _cuts(ranks // count, axes - 1)
    ]
