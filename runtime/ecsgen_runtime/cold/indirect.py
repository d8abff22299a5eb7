"""Indirect cold data: a second buffer, in which only some instances have a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..columns.buffers import copied_if_view, items
from ..convert.base import Field
from ..handles import NIL, RowArray

_FEW: Final = 32
"""Up to so many elements of a cell are compared one after the other, for all rows at once."""


def default_cell(field: Field, stored: bytes) -> NDArray[Any]:
    """Return a field's default, given as the bytes of its cell, as an array of the cell's shape."""
    return np.frombuffer(stored, field.dtype).reshape(field.shape)


def differing(
    columns: Mapping[str, NDArray[Any]],
    defaults: Mapping[str, NDArray[Any]],
    count: int,
) -> NDArray[np.bool_]:
    """Return which of `count` new rows have a cell that is not the default; O(count).

    Cells are compared bit for bit, so that -0.0 is not 0.0 and a NaN is itself. Objects differ
    from the default unless they are None.
    """
    mask = np.zeros(count, np.bool_)
    for name, default in defaults.items():
        other = _other_cells(_bits(columns[name]), _bits(default))
        if other.any():
            mask |= other
    return mask


def count_differing(
    columns: Mapping[str, NDArray[Any]],
    defaults: Mapping[str, NDArray[Any]],
    count: int,
) -> int:
    """Return how many of `count` new rows have a cell that is not the default; O(count)."""
    return int(np.count_nonzero(differing(columns, defaults, count)))


def _other_cells(bits: NDArray[Any], default: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which cells differ from the default, shape (count,), or (1,) if all are the same.

    Element by element of a cell: `any` over the few elements of each cell takes far longer.
    """
    if default.ndim == 0:
        return np.atleast_1d(bits != default)
    if bits.ndim <= default.ndim:
        return np.array([(bits != default).any()])
    whole = np.broadcast_to(bits, (len(bits), *default.shape))
    if default.size > _FEW:
        found: NDArray[np.bool_] = (whole != default).any(
            axis=tuple(range(1, whole.ndim))
        )
        return found
    other = np.zeros(len(bits), np.bool_)
    for place in np.ndindex(default.shape):
        other |= whole[(slice(None), *place)] != default[place]
    return other


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return scalars as integers of their size; text as it is; objects as whether they are some."""
    if array.dtype.kind == "O":
        some = (value is not None for value in array.flat)
        return np.fromiter(some, np.bool_, array.size).reshape(array.shape)
    return array if array.dtype.kind == "S" else array.view(f"u{array.itemsize}")


def picked(
    values: NDArray[Any], shape: tuple[int, ...], wanted: RowArray
) -> NDArray[Any]:
    """Return the wanted rows of values that broadcast to `shape`, or what is the same for all."""
    by_row = values.ndim == len(shape) and len(values) == shape[0]
    if not by_row:
        return values
    if values.ndim == 1 or values.shape != shape or not values.flags.c_contiguous:
        return values[wanted]
    cells = items(values).take(wanted)
    return cells.view(values.dtype).reshape(-1, *shape[1:])


def without_views(
    columns: dict[str, NDArray[Any]], buffer: NDArray[np.uint8]
) -> dict[str, NDArray[Any]]:
    """Return the columns, with copies of those that may be views of the buffer."""
    return {name: copied_if_view(values, buffer) for name, values in columns.items()}


def follow(
    places: NDArray[np.uint32], cold_rows: NDArray[np.uint32], dst: RowArray
) -> None:
    """Tell the cold rows at `places`, NIL for none, that their instances are at `dst` now; O(k)."""
    held = places != NIL
    cold_rows[places[held]] = dst[held]


def spread(
    values: NDArray[Any],
    cold_rows: NDArray[np.uint32],
    default: NDArray[Any],
    count: int,
) -> NDArray[Any]:
    """Return a cold field's value in each of `count` rows; O(count)."""
    column = np.full(count, default, default.dtype)
    column[cold_rows] = values
    return column
