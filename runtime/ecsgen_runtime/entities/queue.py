"""A queue of freed indices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class IndexQueue:
    """First in, first out: indices below 2**32 going round, one at a time or in bulk by slices."""

    __slots__ = ("_cells", "_head", "_mask", "_ring", "count")

    # `_head` counts what was taken; where that is in the cells, the mask tells.

    def __init__(self) -> None:
        self.count = 0
        self._head = 0
        self._place(np.empty(64, np.uint32))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._ring.nbytes

    @property
    def pushed(self) -> int:
        """How many were ever appended. O(1)."""
        return self._head + self.count

    def push(self, index: int) -> None:
        """Append one. O(1) amortised."""
        count = self.count
        if count > self._mask:
            self._grow(count + 1)
        self._cells[(self._head + count) & self._mask] = index
        self.count = count + 1

    def pop(self) -> int:
        """Take the first one, which must exist. O(1)."""
        head, count = self._head, self.count
        self._head, self.count = head + 1, count - 1
        return self._cells[head & self._mask]

    def reserve(self, count: int) -> None:
        """Make room for `count` indices in all, so that pushing them can't fail."""
        if count > self._mask + 1:
            self._grow(count)

    def push_many(self, indices: NDArray[np.int64]) -> None:
        """Append all, in order. O(k) amortised."""
        self.reserve(self.count + len(indices))
        _fill(self._ring, (self._head + self.count) & self._mask, indices)
        self.count += len(indices)

    def first(self, n: int) -> NDArray[np.int64]:
        """The first n, which must exist, without taking them. O(n)."""
        indices = np.empty(n, np.int64)
        start = self._head & self._mask
        front = self._ring[start : start + n]
        indices[: len(front)] = front
        indices[len(front) :] = self._ring[: n - len(front)]
        return indices

    def drop(self, n: int) -> None:
        """Take the first n, which must exist. O(1)."""
        head, count = self._head, self.count
        self._head, self.count = head + n, count - n

    def put_back(self, indices: NDArray[np.int64]) -> None:
        """Insert all at the front, in order: they are the next to be popped. O(k) amortised."""
        self.reserve(self.count + len(indices))
        head, count = self._head - len(indices), self.count + len(indices)
        _fill(self._ring, head & self._mask, indices)
        self._head, self.count = head, count  # at once: no interrupt comes between

    def put_first(self, index: int) -> None:
        """Insert one at the front: it is the next to be popped. O(1), without memory if there is
        room."""
        head, count = self._head - 1, self.count + 1
        if count > self._mask + 1:
            self._grow(count)
        self._cells[head & self._mask] = index
        self._head, self.count = head, count

    def _grow(self, count: int) -> None:
        cells = np.empty(1 << (count - 1).bit_length(), np.uint32)
        indices = self.first(self.count)
        _fill(cells, self._head & (len(cells) - 1), indices)
        self._place(cells)

    def _place(self, cells: NDArray[np.uint32]) -> None:
        own: memoryview[int] = cells.data
        # at once: no interrupt comes between
        self._ring, self._cells, self._mask = cells, own, len(own) - 1


def _fill(cells: NDArray[np.uint32], start: int, indices: NDArray[np.int64]) -> None:
    """Write indices from a place on, those that have no room there to the beginning."""
    room = len(cells) - start
    cells[start : start + len(indices)] = indices[:room]
    cells[: max(0, len(indices) - room)] = indices[room:]
