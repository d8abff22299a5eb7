"""Columns as tensors, and back: text is bytes in rows, objects go through codecs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .documents import NOTHING, Codecs, SnapshotContent, codec_of, encoded_value
from .writing import TensorGroup, single

LENGTHS: Final = "._lengths"
"""Suffix of the names of tensors with lengths of encoded objects."""


def object_parts(
    tensor: str, column: str, cells: NDArray[np.object_], codecs: Codecs
) -> Iterator[TensorGroup]:
    """Yield the bytes that a codec makes of all cells, one after the other, and their lengths.

    What the codec raises passes through.
    """
    codec = codec_of(codecs, column)
    if codec is None:
        return
    parts = [
        None if value is None else encoded_value(column, codec, value) for value in cells.tolist()
    ]
    encoded = b"".join(part for part in parts if part is not None)
    lengths = (NOTHING if part is None else len(part) for part in parts)
    yield single(tensor, np.frombuffer(encoded, np.uint8))
    yield single(tensor + LENGTHS, np.fromiter(lengths, np.int64, len(parts)))


def as_cells(tensor: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a tensor as cells of a column of this type: text is stored as bytes in rows, times
    as integers."""
    if dtype.kind in "mM":
        return tensor.view(dtype)
    return tensor.view(dtype)[..., 0] if dtype.kind == "S" else tensor


def loaded_objects(
    saved: SnapshotContent, tensor: str, column: str, codecs: Codecs, count: int
) -> NDArray[np.object_]:
    """Return the objects that a codec makes of their bytes; None where it leaves them out, and
    for all `count` of them if they were not saved."""
    cells = np.full(count, None, np.object_)
    codec, start = codec_of(codecs, column), 0
    if codec is not None and tensor + LENGTHS in saved.arrays:
        encoded: memoryview[Any] = saved.arrays[tensor].data
        for row, length in enumerate(saved.arrays[tensor + LENGTHS].tolist()):
            if length != NOTHING:
                cells[row] = codec[1](bytes(encoded[start : start + length]))
                start += length
    return cells
