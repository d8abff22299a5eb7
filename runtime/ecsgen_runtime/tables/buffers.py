"""Buffers: one allocation for all columns of a manager, and a warning if views of it remain."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Iterable
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..base.errors import CapacityError, StaleViewWarning
from ..base.fast_typing import NamedTuple
from ..base.handles import NIL, RowArray
from ..package import outside_level
from ..values.field_types import Field

CACHE_LINE: Final = 64
"""Columns start on cache lines, so the capacity is a multiple of 64 rows."""

_MANY: Final = 64
"""Number of rows from which on they are filled faster as items."""

PAGE: Final = 4096
"""Buffers are whole pages: the granularity of a page allocator."""


class Column(NamedTuple):
    """Name, type and offset of a column."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """Shape of one cell: `()` for scalars."""
    nbytes: int
    """Bytes per row."""
    tags: tuple[str, ...]
    bytes_before: int
    """Bytes per row of all columns in front of this one."""

    def offset(self, capacity: int) -> int:
        """Return the column's first byte in a buffer of `capacity` rows."""
        return self.bytes_before * capacity


def split_columns(name: str, shape: tuple[int, ...]) -> list[str]:
    """Return the columns of a split field, one for each element."""
    count = prod(shape)
    ends: Iterable[object] = "xyzw"[:count] if count <= 4 else range(count)
    return [f"{name}_{end}" for end in ends]


def round_up_rows(rows: int) -> int:
    """Round up to a capacity: a multiple of 64 rows, within the range of rows."""
    capacity = -(-rows // CACHE_LINE) * CACHE_LINE
    if capacity >= NIL:
        raise CapacityError(f"{rows} rows are more than a manager can number")
    return capacity


def grown_capacity(allocated: int, rows: int) -> int:
    """Return a capacity for `rows`: at least double the present one."""
    return round_up_rows(max(rows, min(2 * allocated, NIL - CACHE_LINE)))


def round_up_pages(size: int) -> int:
    """Return bytes, rounded up to whole pages."""
    return -(-size // PAGE) * PAGE


def allocate(row_bytes: int, capacity: int) -> NDArray[np.uint8]:
    """Return a zeroed buffer for `capacity` rows: whole pages, starting on a cache line."""
    size = round_up_pages(row_bytes * capacity)
    return _aligned(np.zeros(size + CACHE_LINE, np.uint8))


def unfilled(size: int) -> NDArray[np.uint8]:
    """Return a buffer that starts on a cache line; its bytes are whatever they are."""
    return _aligned(np.empty(size + CACHE_LINE, np.uint8))


def _aligned(raw: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return all but one cache line of a buffer, from the first cache line on."""
    start = -int(raw.__array_interface__["data"][0]) % CACHE_LINE
    return raw[start : len(raw) - CACHE_LINE + start]


def copy_rows(
    layout: tuple[Column, ...],
    old: NDArray[np.uint8],
    held: int,
    new: NDArray[np.uint8],
    capacity: int,
    n: int,
) -> None:
    """Copy the first n rows of every column from a buffer of `held` rows to one of `capacity`."""
    if n == 0:
        return
    there, here = new.data, old.data  # few bytes are copied in half numpy's time
    for column in layout:
        size = column.nbytes * n
        source, target = column.bytes_before * held, column.bytes_before * capacity
        there[target : target + size] = here[source : source + size]


def cell_view(column: NDArray[Any]) -> memoryview[Any]:
    """Return the scalars of a column as a memoryview: one cell in half numpy's time."""
    return column.data if column.ndim == 1 else column.reshape(-1).data


def item_view(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of shaped cells as one opaque item per row: moves in half the time."""
    nbytes = prod(column.shape[1:]) * column.itemsize
    return column.reshape(-1).view(item_type(nbytes))


@cache
def item_type(nbytes: int) -> np.dtype[Any]:
    """Return the type of one opaque item of so many bytes."""
    return np.dtype(f"u{nbytes}" if nbytes in (1, 2, 4, 8) else f"V{nbytes}")


def pack_cell(field: Field, cell: Any) -> int:
    """Return the elements of one cell of 1, 2, 4 or 8 bytes as the unsigned integer in `items`."""
    elements = np.array(cell, field.dtype)
    return int(elements.view(f"u{elements.nbytes}")[0])


def put_cells(column: NDArray[Any], rows: slice | RowArray, values: NDArray[Any]) -> None:
    """Fill shaped cells of a column with checked values.

    One value for many rows goes in as an item: numpy's loop over a few elements takes ten times
    as long.
    """
    count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    if values.ndim == column.ndim or count < _MANY:
        column[rows] = values
    else:
        try:
            cell = np.ascontiguousarray(np.broadcast_to(values, column.shape[1:]))
        except MemoryError:  # the slower way takes no memory
            column[rows] = values
            return
        items = item_view(column)
        items[rows] = cell.reshape(-1).view(items.dtype)


def read_only(view: NDArray[Any]) -> NDArray[Any]:
    """Make a view that the caller alone has read-only, and return it."""
    view.flags.writeable = False
    return view


def copied_if_view(array: NDArray[Any], buffer: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the array, or a copy of it if it may be a view of the buffer."""
    return array.copy() if np.may_share_memory(array, buffer) else array


def nested(values: Iterable[Any], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the flat values of one cell as (nested) tuples of its shape."""
    cell = tuple(values)
    for size in reversed(shape[1:]):
        cell = tuple(zip(*[iter(cell)] * size, strict=True))
    return cell


def is_same_view(column: NDArray[Any], values: object) -> bool:
    """Return whether `values` is the column itself, written already, as in `data.x *= 2`."""
    return (
        isinstance(values, np.ndarray)
        and values.base is column.base  # refutes most in a tenth of the time of the rest
        and values.dtype == column.dtype
        and values.shape == column.shape
        and values.__array_interface__["data"] == column.__array_interface__["data"]
        and values.strides == column.strides
    )


def _references(buffer: NDArray[np.uint8]) -> int:
    """Count the references to a buffer, and to the memory under it and its views."""
    return sys.getrefcount(buffer) + sys.getrefcount(buffer.base)


def _count(buffer: NDArray[np.uint8]) -> int:
    return _references(buffer)


def _unshared() -> int:
    """Return that count for a buffer that only a manager has, and passes on."""
    buffer = allocate(1, CACHE_LINE)
    return _count(buffer)


_UNSHARED: Final = _unshared()


def warn_if_viewed(buffer: NDArray[np.uint8], manager: str, borrowed: tuple[object, ...]) -> None:
    """Warn, at the first line outside the package, if someone still holds a view of `buffer`.

    The caller has the last reference to `buffer`; every view of it is one reference more
    to its base. Views among `borrowed`, the arguments of the running call, are forgiven.
    """
    seen = {id(view) for view in borrowed if getattr(view, "base", None) is buffer.base}
    held = _UNSHARED + len(seen)
    if _references(buffer) > held:
        gc.collect()  # the compilation of a kernel leaves cycles that hold its arguments
    views = _references(buffer) - held
    if views > 0:
        warnings.warn(
            f"{manager}: the buffer moved, and {views} view(s) of the old one are still held; "
            "take the columns from `data` again",
            StaleViewWarning,
            stacklevel=outside_level(),
        )
