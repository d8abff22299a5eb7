"""Reserved buffers: address space taken once, to which the system gives memory page by page."""

from __future__ import annotations

import mmap
import sys
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..columns.buffers import PAGE, Column, allocate, whole_pages
from ..errors import CapacityError

_NO_RESERVE: Final = 0x4000
"""MAP_NORESERVE of Linux, which the mmap module does not name: no swap space is set aside."""


def reserve_pages(row_bytes: int, capacity: int) -> NDArray[np.uint8]:
    """Return a zeroed buffer for `capacity` rows whose pages take no memory until they are touched.

    So on Linux; elsewhere the whole is allocated. CapacityError if the system refuses.
    """
    if sys.platform != "linux":
        return allocate(row_bytes, capacity)
    size = max(PAGE, whole_pages(row_bytes * capacity))
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    try:
        return np.frombuffer(mmap.mmap(-1, size, flags=flags), np.uint8)
    except (OSError, OverflowError) as error:
        raise CapacityError(
            f"no address space for {capacity} rows of {row_bytes} bytes"
        ) from error


def give_back(
    buffer: NDArray[np.uint8], column: Column, capacity: int, rows: int
) -> None:
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


def beyond_reserve(manager: str, capacity: int) -> CapacityError:
    """Return the error of more rows than are reserved."""
    return CapacityError(f"{manager} is full: {capacity} rows are all that is reserved")
