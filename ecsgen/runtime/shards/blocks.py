"""A box cut into equal blocks, one for each rank."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..handles import RowArray


class BoxBlocks:
    """A box of 1 to 3 dimensions, cut into equal blocks, one per rank.

    `ranks`: how many, or one number per axis. Points outside belong to the nearest block,
    and with `periodic` to the one that they are in again.

    Raises:
        ValueError: not 1 to 3 dimensions, a box without volume, fewer than one rank.
    """

    __slots__ = ("_high", "_low", "_periodic", "_width", "shape", "size")

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        ranks: Any,
        *,
        periodic: bool = False,
    ) -> None:
        self._low = np.atleast_1d(np.asarray(low, np.float64))
        self._high = np.atleast_1d(np.asarray(high, np.float64))
        axes = len(self._low)
        if self._low.ndim != 1 or self._low.shape != self._high.shape or axes > 3:
            raise ValueError("Blocks: wanted two corners of 1 to 3 dimensions")
        if not (self._low < self._high).all() or not np.isfinite(self._high).all():
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
        return self._rank(self._cells(self._points(points)))

    def borders(
        self, points: ArrayLike, radius: float, rank: int
    ) -> tuple[RowArray, RowArray]:
        """Return which points are near which other ranks' blocks: rows, and ranks, both (k,).

        Every point within the radius of a block of another rank than `rank`, and none that
        is farther from it than that along an axis; points may be anywhere. By rank, then
        row. O(n) for each block in reach.
        """
        given = self._points(points)
        if not radius >= 0:
            raise ValueError(f"Blocks: radius {radius}, wanted 0 or more")
        rows, ranks = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        near = [self._near(given, radius, axis) for axis in range(len(self.shape))]
        for other in range(self.size):
            if other == rank:
                continue
            place = np.unravel_index(other, self.shape)
            chosen = near[0][int(place[0])]
            for axis in range(1, len(self.shape)):
                chosen = chosen & near[axis][int(place[axis])]
            found = chosen.nonzero()[0]
            rows.append(found)
            ranks.append(np.full(len(found), other))
        return np.concatenate(rows), np.concatenate(ranks)

    def _points(self, points: ArrayLike) -> NDArray[np.float64]:
        given = np.asarray(points, np.float64)
        axes = len(self.shape)
        if given.ndim == 1 and axes == 1:
            given = given[:, None]
        if given.ndim != 2 or given.shape[1] != axes:
            raise ValueError(
                f"Blocks: points of shape {given.shape}, wanted (n, {axes})"
            )
        if self._periodic:
            inside = self._low + np.mod(given - self._low, self._high - self._low)
            given = np.where((given >= self._low) & (given < self._high), given, inside)
        return given

    def _cells(self, points: NDArray[np.float64]) -> list[RowArray]:
        cells = np.floor((points - self._low) / self._width)
        last = np.array(self.shape) - 1
        whole = np.clip(np.nan_to_num(cells), 0, last).astype(np.intp)
        return [whole[:, axis] for axis in range(len(self.shape))]

    def _rank(self, cells: list[RowArray]) -> RowArray:
        ranks = np.zeros(len(cells[0]), np.intp)
        for count, cell in zip(self.shape, cells, strict=True):
            ranks = ranks * count + cell
        return ranks

    def _near(
        self, points: NDArray[np.float64], radius: float, axis: int
    ) -> list[NDArray[np.bool_]]:
        """Return which points are within the radius of each slice along an axis."""
        at, low = points[:, axis], float(self._low[axis])
        width, count = float(self._width[axis]), self.shape[axis]
        length = float(self._high[axis]) - low
        cell = self._cells(points)[axis]
        found = []
        for place in range(count):
            start, end = low + place * width, low + (place + 1) * width
            near = (at >= start - radius) & (at <= end + radius)
            if self._periodic:
                near |= (at - length >= start - radius) | (at + length <= end + radius)
            found.append(near | (cell == place))
        return found


def _shape(ranks: int, lengths: list[float]) -> tuple[int, ...]:
    """Return the cut into so many blocks whose longest edges are shortest."""
    if ranks < 1:
        raise ValueError(f"Blocks: {ranks} ranks")
    best, shape = float("inf"), (ranks,) + (1,) * (len(lengths) - 1)
    for cut in _cuts(ranks, len(lengths)):
        edge = max(length / count for length, count in zip(lengths, cut, strict=True))
        if edge < best:
            best, shape = edge, cut
    return shape


def _cuts(ranks: int, axes: int) -> list[tuple[int, ...]]:
    if axes == 1:
        return [(ranks,)]
    return [
        (count, *rest)
        for count in range(ranks, 0, -1)
        if ranks % count == 0
        for rest in _cuts(ranks // count, axes - 1)
    ]
