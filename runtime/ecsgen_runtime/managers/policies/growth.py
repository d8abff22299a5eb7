"""growth: {reserve: N}: address space for N rows is taken once, and used page by page.

Growing never moves a row, so views stay good; more than N rows are a CapacityError.
"""

from __future__ import annotations

import mmap
import sys
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...base.errors import CapacityError
from ...base.specialisation import NO_SLOTS
from ...tables.buffers import PAGE, Column, allocate, round_up_pages
from ...tables.columns import Rows

_NO_RESERVE: Final = 0x4000
"""MAP_NORESERVE of Linux, which the mmap module does not name: no swap space is set aside."""


def reserve_pages(row_bytes: int, capacity: int) -> NDArray[np.uint8]:
    """Return a zeroed buffer for `capacity` rows whose pages take no memory until they are touched.

    So on Linux; elsewhere the whole is allocated. CapacityError if the system refuses.
    """
    if sys.platform != "linux":
        return allocate(row_bytes, capacity)
    size = max(PAGE, round_up_pages(row_bytes * capacity))
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    try:
        return np.frombuffer(mmap.mmap(-1, size, flags=flags), np.uint8)
    except (OSError, OverflowError) as error:
        raise CapacityError(f"no address space for {capacity} rows of {row_bytes} bytes") from error


def give_back(buffer: NDArray[np.uint8], column: Column, capacity: int, rows: int) -> None:
    """Give the whole pages of a column behind its first `rows` rows back; they are zeros then.

    Where the buffer is an ordinary allocation nothing happens.
    """
    pages = getattr(buffer.base, "obj", None)
    if sys.platform != "linux" or not isinstance(pages, mmap.mmap):
        return
    start = column.offset(capacity)
    first = -(-(start + column.nbytes * rows) // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (start + column.nbytes * capacity) // mmap.PAGESIZE * mmap.PAGESIZE
    if first < end:
        pages.madvise(mmap.MADV_DONTNEED, first, end - first)


def untouched_objects(capacity: int) -> NDArray[np.object_]:
    """Return `capacity` cells of None that take no memory until they are written.

    np.empty writes None into every cell; an array that an iterator allocates for its output is
    left zeroed, which numpy reads as None.
    """
    length = np.broadcast_to(np.int8(0), capacity)
    with np.nditer(
        [length, None],
        flags=["refs_ok", "zerosize_ok"],
        op_flags=[["readonly"], ["writeonly", "allocate"]],
        op_dtypes=[None, np.dtype(np.object_)],
    ) as cells:
        objects: NDArray[np.object_] = cells.operands[1]
    return objects


class ReservedRows(Rows):
    """Rows in a buffer of fixed address space, whose pages take memory as they are touched."""

    __slots__ = NO_SLOTS

    def _new_buffer(self, capacity: int) -> NDArray[np.uint8]:
        return reserve_pages(self.ROW_BYTES, capacity)

    def _new_objects(self, capacity: int) -> NDArray[np.object_]:
        return untouched_objects(capacity)

    def _check_room(self, rows: int) -> None:
        if rows > self._allocated:
            raise CapacityError(
                f"{self.MANAGER} is full: {self._allocated} rows are all that is reserved"
            )

    def _allocate(
        self, capacity: int, borrowed: tuple[object, ...] = (), is_counted: bool = False
    ) -> None:
        self._check_room(capacity)

    def lie_smallest(self, rows: int, buffer: NDArray[np.uint8] | None) -> bool:
        self.reserve_rows(rows)
        return False

    def _shrink(self, is_counted: bool = False) -> None:
        """Give the pages behind the last row back to the system. Rows stay in place."""
        for column in self.LAYOUT:
            rows = self._held_rows_of(column.name)
            give_back(self._buffer, column, self._allocated, rows)

    def _nbytes(self) -> int:
        """Return the bytes of the columns up to the last row, and of objects' columns.

        The rest of the reserve is not counted. Pages of it that were once in use stay
        with the process until it shrinks.
        """
        stored = sum(c.nbytes * self._held_rows_of(c.name) for c in self.LAYOUT)
        return stored + sum(cells.nbytes for cells in self.saved_objects().values())
