"""Columns as tensors, and back: text is bytes in rows, objects go through codecs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..columns.buffers import Column
from .codecs import Codecs, codec_of, decoded, encoded
from .saved import Saved
from .writing import Part, single

LENGTHS: Final = "._lengths"
"""What the name of a tensor with the lengths of encoded objects ends with."""


def object_parts(
    tensor: str, column: str, cells: NDArray[np.object_], codecs: Codecs
) -> Iterator[Part]:
    """Return what a codec makes of a column: its bytes, and their lengths."""
    found = encoded(column, codec_of(codecs, column), cells)
    if found is not None:
        yield single(tensor, found[0])
        yield single(tensor + LENGTHS, found[1])


def loaded_column(
    saved: Saved, name: str, column: Column, codecs: Codecs
) -> NDArray[Any]:
    """Return the cells of a column: a view of a tensor, or objects made of one."""
    if column.dtype.hasobject:
        return loaded_objects(saved, name, name, codecs)
    return as_cells(saved.arrays[name], column.dtype)


def as_cells(tensor: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a tensor as cells of a column of this type: text is stored as bytes in rows."""
    if dtype.kind == "S":
        return tensor.view(dtype)[..., 0]
    return tensor


def loaded_objects(
    saved: Saved, tensor: str, column: str, codecs: Codecs
) -> NDArray[np.object_]:
    """Return the objects that a codec makes of their bytes; None where it leaves them out."""
    lengths = saved.arrays[tensor + LENGTHS]
    values = decoded(codec_of(codecs, column), saved.arrays[tensor], lengths)
    cells = np.empty(len(lengths), np.object_)
    for row, value in enumerate(values):
        cells[row] = value
    return cells
