"""Columns as tensors, and back: text is bytes in rows, objects go through codecs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

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


def as_cells(tensor: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a tensor as cells of a column of this type: text is stored as bytes in rows."""
    if dtype.kind == "S":
        return tensor.view(dtype)[..., 0]
    return tensor


def loaded_objects(
    saved: Saved, tensor: str, column: str, codecs: Codecs, count: int
) -> NDArray[np.object_]:
    """Return the objects that a codec makes of their bytes; None where it leaves them out, and
    for all `count` of them if they were not saved."""
    cells = np.full(count, None, np.object_)
    if tensor + LENGTHS in saved.arrays:
        lengths = saved.arrays[tensor + LENGTHS]
        values = decoded(codec_of(codecs, column), saved.arrays[tensor], lengths)
        for row, value in enumerate(values):
            cells[row] = value
    return cells
