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

    `ranks`: how many, or one number per axis. Points outside belong to the nearest block,
    and with `periodic` to the one that they are in again.

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
        """How many blocks there are along each axis."""
        if len(self.shape) != axes or min(self.shape) < 1:
            raise ValueError(f"Blocks: {ranks} ranks along {axes} axes")
        self.size = int(np.prod(self.shape))
        """How many blocks there are."""
        self._periodic = periodic
        self._width = (self._high - self._low) / self.shape

    def __repr__(self) -> str:
        blocks = " x ".join(map(str, self.shape))
        low, high = self._low.tolist(), self._high.tolist()
        return f"<{type(self).__name__}: {blocks} between {low} and {high}>"

    def owner(self, points: ArrayLike) -> RowArray:
        """Return the rank of the block of each point, shape (n,); O(n)."""
        given = self._points(points)
        ranks: RowArray | None = None
        for axis, count in enumerate(self.shape):
            if count == 1:
                continue
            cells = self._cells(self._along(given, axis), axis)
            if ranks is not None:
                cells += ranks * count
            ranks = cells
        return np.zeros(len(given), np.intp) if ranks is None else ranks

    def borders(self, points: ArrayLike, radius: float, rank: int) -> tuple[RowArray, RowArray]:
        """Return which points are near which other ranks' blocks: rows, and ranks, both (k,).

        Every point within the radius of a block of another rank than `rank`, and none that
        is farther from it than that along an axis; points may be anywhere. By rank, then
        row. O(n) for each block in reach.
        """
        given = self._points(points)
        if not radius >= 0:
            raise ValueError(f"Blocks: radius {radius}, wanted 0 or more")
        slices = [self._near(given, radius, axis) for axis in range(len(self.shape))]
        rows, ranks = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        for other in range(self.size):
            if other == rank:
                continue
            chosen = np.True_
            places = np.unravel_index(other, self.shape)
            for near, place in zip(slices, places, strict=True):
                chosen = chosen & near(int(place))
            found = np.broadcast_to(chosen, len(given)).nonzero()[0]
            rows.append(found)
            ranks.append(np.full(len(found), other))
        return np.concatenate(rows), np.concatenate(ranks)

    def _points(self, points: ArrayLike) -> NDArray[Any]:
        given = np.asarray(points)
        axes = len(self.shape)
        if given.ndim == 1 and axes == 1:
            given = given[:, None]
        if given.ndim != 2 or given.shape[1] != axes:
            raise ValueError(f"Blocks: points of shape {given.shape}, wanted (n, {axes})")
        return given

    def _along(self, points: NDArray[Any], axis: int) -> NDArray[np.float64]:
        """Return where points are along an axis, in a new array: inside, if it is periodic."""
        at = points[:, axis].astype(np.float64)
        low, high = float(self._low[axis]), float(self._high[axis])
        if self._periodic:
            outside = ((at < low) | (at >= high)).nonzero()[0]
            if len(outside):
                at[outside] = low + np.mod(at[outside] - low, high - low)
        return at

    def _cells(self, at: NDArray[np.float64], axis: int) -> RowArray:
        """Return in which slice of an axis points are: the nearest one if they are outside."""
        cells = at - float(self._low[axis])
        cells /= float(self._width[axis])
        np.fmax(cells, 0, out=cells)  # so is NaN
        np.fmin(cells, self.shape[axis] - 1, out=cells)
        return cells.astype(np.intp)

    def _near(self, points: NDArray[Any], radius: float, axis: int) -> Callable[[int], Any]:
        """Return what tells which points are within the radius of a slice of an axis."""
        if self.shape[axis] == 1:
            return lambda place: np.True_
        at = self._along(points, axis)
        cell, low, width = self._cells(at, axis), float(self._low[axis]), self._width
        length = float(self._high[axis]) - low

        @cache
        def near(place: int) -> NDArray[np.bool_]:
            start = low + place * float(width[axis]) - radius
            end = low + (place + 1) * float(width[axis]) + radius
            found = (at >= start) & (at <= end)
            if self._periodic:
                found |= (at - length >= start) | (at + length <= end)
            found |= cell == place
            return found

        return near


def _shape(ranks: int, lengths: list[float]) -> tuple[int, ...]:
    """Return the cut into so many blocks whose longest edges are shortest."""
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
