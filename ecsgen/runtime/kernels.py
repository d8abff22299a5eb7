"""What kernels run on: the columns in blocks that stay in the cache, and their working memory.

In a block rows come last, `(*shape, rows)`: `position[0]` is one element of every row, and what is
one number per row goes with each element of a shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .buffers import Column

Block: TypeAlias = tuple[NDArray[Any], ...]

_CACHED: Final = 1 << 20
"""Bytes of a block's columns and working memory together: what a core's own cache holds."""


class Blocks:
    """Views of a kernel's columns and of its working memory, block after block.

    Good until the buffer moves or the number of rows changes.
    """

    __slots__ = ("nbytes", "rows", "views")

    def __init__(
        self, rows: int, columns: Sequence[NDArray[Any]], working: Sequence[Cells]
    ) -> None:
        self.rows = rows
        each = [cells_bytes(array.shape[:-1], array.dtype) for array in columns]
        each += [cells_bytes(cells[1], cells[0]) for cells in working]
        size = min(rows, block_rows(sum(each)))
        memory = [working_memory(cells, size) for cells in working]
        self.nbytes = sum(array.nbytes for array in memory)
        """Bytes of the working memory."""
        self.views: list[Block] = [
            (
                *(column[..., start : start + size] for column in columns),
                *(array[..., : rows - start] for array in memory),
            )
            for start in range(0, rows, size or 1)
        ]


Cells: TypeAlias = tuple[str, tuple[int, ...], bool]
"""Working memory of a kernel: dtype, shape per row, and whether a row's elements lie together."""


def cells_bytes(shape: tuple[int, ...], dtype: Any) -> int:
    """Return the bytes of one row."""
    return prod(shape) * int(np.dtype(dtype).itemsize)


def block_rows(row_bytes: int) -> int:
    """Return how many rows make a block: a power of two, from 1024 to 65536."""
    fitting = max(1024, min(65536, _CACHED // max(row_bytes, 1)))
    return 1 << (fitting.bit_length() - 1)


def working_memory(cells: Cells, rows: int) -> NDArray[Any]:
    """Return uninitialised memory of shape (*shape, rows)."""
    dtype, shape, together = cells
    if together:
        return rows_last(np.empty((rows, *shape), dtype))
    return np.empty((*shape, rows), dtype)


def rows_last(column: NDArray[Any]) -> NDArray[Any]:
    """Return a view of a column, shape (rows, *shape), as (*shape, rows)."""
    return np.moveaxis(column, 0, -1)


def planes(
    buffer: NDArray[np.uint8], first: Column, capacity: int, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return the columns of a split field, which follow each other, as (*shape, capacity)."""
    start = first.offset(capacity)
    size = prod(shape) * first.nbytes * capacity
    return buffer[start : start + size].view(first.dtype).reshape(*shape, capacity)


def put_where(target: NDArray[Any], mask: Any, values: Any) -> None:
    """Write values into a block where a mask is true; both fit it as numpy's broadcasting has it.

    Five times as fast as `np.copyto(target, values, where=mask)`.
    """
    if target.shape == np.shape(mask) and target.ndim == 1:
        np.putmask(target, mask, values)
        return
    masks = np.broadcast_to(mask, target.shape)
    given = np.broadcast_to(np.asarray(values, target.dtype), target.shape)
    if target.strides[-1] == target.itemsize:
        for place in np.ndindex(target.shape[:-1]):
            np.putmask(target[place], masks[place], given[place])
    else:  # a row's elements lie together: so shall those of the others
        axes = (target.ndim - 1, *range(target.ndim - 1))
        np.putmask(target.transpose(axes), masks.transpose(axes), given.transpose(axes))


def as_integers(values: Any, dtype: Any) -> NDArray[Any]:
    """Return floats as integers: cut towards zero, the range's end beyond it, 0 for NaN."""
    limits = np.iinfo(dtype)
    low, beyond = float(limits.min), float(limits.max + 1)  # powers of two, so exact
    given = np.asarray(values)
    fits = (given >= low) & (given < beyond)
    if fits.all():
        return given.astype(dtype)
    result = np.where(fits, given, 0).astype(dtype)
    np.copyto(result, limits.min, where=given < low)
    np.copyto(result, limits.max, where=given >= beyond)
    return result
