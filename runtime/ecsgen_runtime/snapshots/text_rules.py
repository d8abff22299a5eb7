"""Text and bytes of one size as those of another; a cell is a row of bytes, padded with zeros."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .cell_types import CellType
from .number_rules import BadCellError

Bytes = NDArray[np.uint8]


def as_text(cells: Bytes, old: CellType, new: CellType) -> Bytes:
    """Return text or bytes, shape (n, N), in another size and as what the new type says."""
    if old.base == "bytes" and new.base == "str":
        _check_text(cells, new)
    if new.size < old.size:
        _check_tail(cells, old, new)
        return cells[:, : new.size].copy()
    padded = np.zeros((len(cells), new.size), np.uint8)
    padded[:, : old.size] = cells
    return padded


def _check_tail(cells: Bytes, old: CellType, new: CellType) -> None:
    """Raise BadCellError for the first cell of which more than zeros would go."""
    bad = cells[:, new.size :].any(axis=1)
    if bad.any():
        row = int(bad.argmax())
        _refuse(cells, row, old, f"does not fit {new.text}")


def _check_text(cells: Bytes, new: CellType) -> None:
    """Raise BadCellError for the first cell that is not UTF-8, or has a NUL in it."""
    bytes_ = CellType("", "bytes")
    inner = ((cells[:, :-1] == 0) & (cells[:, 1:] != 0)).any(axis=1)
    other = (cells >= 128).any(axis=1)
    for row in np.flatnonzero(inner | other).tolist():
        if inner[row]:
            _refuse(cells, row, bytes_, f"has a NUL, which {new.text} takes not")
        try:
            cells[row].tobytes().decode()
        except UnicodeDecodeError:
            _refuse(cells, row, bytes_, "is not UTF-8")


def _refuse(cells: Bytes, row: int, old: CellType, why: str) -> None:
    value = cells[row].tobytes().rstrip(b"\0")
    shown = repr(value.decode(errors="replace")) if old.base == "str" else repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:56]}…{shown[-1]}"
    raise BadCellError(row, f"{shown} {why}")
