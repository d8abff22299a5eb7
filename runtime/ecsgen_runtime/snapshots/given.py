"""Arrays that the user's `migrate` sets: what they hold, by their dtypes."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cell_types import CellType, cell_type
from .saved import Document

_HALF: Final = np.dtype(np.float16)


def given_array(name: str, values: ArrayLike, rows: int) -> NDArray[Any]:
    """Return a copy of values, one for each row, in the machine's byte order.

    Raises:
        TypeError: no field holds what they are.
        ValueError: their number is not that of the rows.
    """
    array = np.array(values)
    if array.ndim == 0 or len(array) != rows:
        given = "one value" if array.ndim == 0 else f"{len(array)} values"
        raise ValueError(f"{name}: {given} for {rows} rows")
    if array.dtype == _HALF:
        array = array.astype(np.float32)
    if rows == 0 and not isinstance(values, np.ndarray):
        return array  # numpy takes an empty list for floats, and it holds nothing
    kind, size = array.dtype.kind, array.dtype.itemsize
    is_known = kind in "biuSU" or (kind == "f" and size <= 8)
    if kind == "O":
        is_known = all(isinstance(value, bytes | None) for value in array.flat)
    if not is_known or (kind in "SUO" and array.ndim > 1) or 0 in array.shape[1:]:
        raise TypeError(f"{name}: no field holds {array.dtype} of shape {array.shape}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def given_cells(array: NDArray[Any]) -> tuple[str, NDArray[Any]]:
    """Return a field type for an array, and its cells as a snapshot has them.

    Raises UnicodeEncodeError for text that has no UTF-8.
    """
    kind = array.dtype.kind
    if kind == "O":
        return "object", array
    if kind == "U":
        texts = [text.encode() for text in array.tolist()]
        size = max(map(len, texts), default=0)
        array = np.array(texts, f"S{max(size, 1)}")
    if kind in "SU":
        name = "bytes" if kind == "S" else "str"
        size = max(array.dtype.itemsize, 1)
        cells = np.frombuffer(array.astype(f"S{size}").tobytes(), np.uint8)
        return f"{name}[{size}]", cells.reshape(len(array), size)
    scalar = "bool" if kind == "b" else f"{kind}{8 * array.dtype.itemsize}"
    shape = ",".join(map(str, array.shape[1:]))
    return scalar + (f"[{shape}]" if shape else ""), array


def shown_cells(kind: CellType, cells: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of a snapshot's cells as users see them: text as `S`."""
    copy = cells.copy()
    if kind.base in ("str", "bytes"):
        return copy.reshape(-1).view(f"S{kind.size}")
    return copy


def stored_cells(kind: CellType, cells: NDArray[Any]) -> NDArray[Any]:
    """Return what users saw as a snapshot has it."""
    if kind.base in ("str", "bytes"):
        return cells.view(np.uint8).reshape(len(cells), kind.size)
    return cells


def given_field(text: str, key: str) -> Document:
    """Return the document of a field of which only the type is known; its default is zero.

    `key`: where its cells are.
    """
    kind = cell_type(text, {})
    default: Any = {"object": None, "str": "", "bytes": [], "bool": False}.get(
        kind.base, 0
    )
    if kind.shape:
        flat = np.array([default] * prod(kind.shape))
        default = flat.reshape(kind.shape).tolist()
    return {
        "type": text,
        "default": default,
        "cold": False,
        "split": False,
        "unit": "",
        "given": True,
        "key": key,
    }
