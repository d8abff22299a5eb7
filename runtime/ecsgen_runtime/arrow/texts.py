"""Text and bytes of Arrow as cells of columns, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..convert.base import Field


def byte_cells(array: Any) -> NDArray[Any]:
    """Return values of one length without nulls as a view, dtype S; O(1)."""
    size, start = array.type.byte_width, array.offset
    return np.frombuffer(array.buffers()[1], f"S{size}")[start : start + len(array)]


def text_cells(pa: Any, array: Any, field: Field, start: int) -> NDArray[Any]:
    """Return text, or bytes, without nulls in the dtype of a field; O(n).

    Raises:
        ValueError: a value is too long, or text with a NUL; the rows begin at `start`.
    """
    offsets, text = _characters(pa, array)
    lengths = np.diff(offsets)
    size = field.dtype.itemsize
    bad = lengths > size
    if field.wanted.startswith("str"):
        nuls = (text == 0).nonzero()[0] + offsets[0]
        bad[offsets.searchsorted(nuls, "right") - 1] = True
    if bad.any():
        _blame(array, field, int(bad.argmax()), start)
    cells = np.zeros((len(array), size), np.uint8)
    cells[np.arange(size) < lengths[:, None]] = text
    return cells.view(field.dtype).reshape(-1)


def _characters(pa: Any, array: Any) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return where each value begins and ends, and the bytes of all."""
    types, type = pa.types, array.type
    if types.is_string_view(type):
        array = array.cast(pa.large_string())
    elif types.is_binary_view(type):
        array = array.cast(pa.large_binary())
    type = array.type
    is_large = types.is_large_string(type) or types.is_large_binary(type)
    _, places, text = array.buffers()
    offsets = np.frombuffer(places, np.int64 if is_large else np.int32)
    offsets = offsets[array.offset : array.offset + len(array) + 1]
    if text is None:  # all are empty
        return offsets, np.empty(0, np.uint8)
    return offsets, np.frombuffer(text, np.uint8)[offsets[0] : offsets[-1]]


def _blame(array: Any, field: Field, place: int, start: int) -> None:
    """Raise the error of a value that does not fit."""
    try:
        field.cell(array[place].as_py())
    except (TypeError, ValueError) as error:
        message = f"{error} (at position {start + place})"
        raise type(error)(message) from None
