"""Elements of shapes at indices that are computed: read, written, and sent to, for whole blocks.

Arrays have their rows last. There is an index for each other axis, a number or one per row; of
indices outside of the shape, negative ones too, 0 is read, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.handles import NIL, RowArray


def take_items(values: NDArray[Any], *indices: Any) -> NDArray[Any]:
    """Return an element of each row, (rows,), or one number if neither depends on rows; O(rows)."""
    inside, positions = _inside(values.shape, indices)
    if values.ndim > len(indices):
        positions.append(np.arange(values.shape[-1]) if values.shape[-1] != 1 else 0)
    return np.where(inside, values[tuple(positions)], np.zeros((), values.dtype))


def put_items(target: NDArray[Any], values: Any, mask: Any, *indices: Any) -> None:
    """Write one element of each row for which `mask` is true; O(rows)."""
    inside, positions = _inside(target.shape, indices)
    count = target.shape[-1]
    rows = np.broadcast_to(inside & mask, count).nonzero()[0]
    elements = [np.broadcast_to(position, count)[rows] for position in positions]
    target[(*elements, rows)] = np.broadcast_to(values, count)[rows]


def item_cells(column: NDArray[Any]) -> NDArray[Any]:
    """Return a view of a whole column, flat as it lies in memory."""
    return column.ravel(order="K")


def item_targets(column: NDArray[Any], rows: RowArray, *indices: Any) -> RowArray:
    """Return where an element of each row is in `item_cells`, NIL for none; O(rows)."""
    inside, positions = _inside(column.shape, indices)
    strides = [stride // column.itemsize for stride in column.strides]
    target = rows * strides[-1]
    for position, stride in zip(positions, strides, strict=False):
        target = target + position * stride
    is_none = (rows == NIL) | ~np.broadcast_to(inside, rows.shape)
    return np.where(is_none, NIL, target)


def _inside(shape: Sequence[int], indices: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return where all indices are inside of the shape, and indices that are 0 elsewhere."""
    inside: Any = np.True_
    positions: list[Any] = []
    for index, size in zip(indices, shape, strict=False):
        fits = (index >= 0) & (index < size)
        positions.append(np.where(fits, index, 0))
        inside = inside & fits
    return inside, positions
