"""Cells in a snapshot: whether each is a value of its field's type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..cell_types import CellType
from ..codecs import NOTHING
from ..columns import LENGTHS
from ..repeats import repeated_value
from ..saved import Saved
from .rows import cell_blocks

_ASCII: Final = 128


def check_cells(
    saved: Saved, tensor: str, type_: CellType, present: NDArray[np.bool_] | None
) -> None:
    """Refuse cells that are no values of a type; O(bytes). With holes, only those `present`.

    Numbers, handles and bytes can be anything.
    """
    array = saved.arrays[tensor]
    if type_.base == "bool":
        _check_bools(saved, tensor, array.view(np.uint8))
    elif type_.base == "enum":
        _check_members(saved, tensor, array, type_.members, present)
    elif type_.base == "flags":
        _check_flags(saved, tensor, array, type_.mask)
    elif type_.base == "str":
        _check_texts(saved, tensor, array)


def check_lengths(saved: Saved, tensor: str) -> None:
    """Refuse lengths of encoded objects that do not make up their bytes; O(n)."""
    lengths, size = saved.arrays[tensor + LENGTHS], len(saved.arrays[tensor])
    wrong = (lengths < NOTHING) | (lengths > size)
    if wrong.any():
        cell = int(wrong.argmax())
        saved.refuse(f"{lengths[cell]} of {size} bytes", tensor + LENGTHS, cell)
    some = lengths[lengths > 0]
    # floats first: so many of such lengths may be more than 64 bits hold
    total = float(some.sum(dtype=np.float64))
    if total > 2 * size + 1 or int(some.sum()) != size:
        saved.refuse(f"they do not make up {size} bytes", tensor + LENGTHS)


def check_unique_cells(
    saved: Saved, tensor: str, present: NDArray[np.bool_] | None
) -> None:
    """Refuse values that are there twice, NaN aside; O(n log n)."""
    array = saved.arrays[tensor]
    rows = np.arange(len(array)) if present is None else np.flatnonzero(present)
    repeated = repeated_value(array[rows])
    if repeated is not None:
        row = int(rows[repeated[0]])
        saved.refuse("another row has this value, which is unique", tensor, row)


def _check_bools(saved: Saved, tensor: str, array: NDArray[np.uint8]) -> None:
    for block in cell_blocks(len(array)):
        cells = array[block]
        if cells.max() > 1:
            _refuse_cell(saved, tensor, block, cells, cells > 1, "is no bool")


def _check_flags(saved: Saved, tensor: str, array: NDArray[Any], mask: int) -> None:
    others = array.dtype.type(~mask & ((1 << 8 * array.itemsize) - 1))
    for block in cell_blocks(len(array)):
        wrong = (array[block] & others) != 0
        if wrong.any():
            what = "has bits that are no flags"
            _refuse_cell(saved, tensor, block, array[block], wrong, what)


def _check_members(
    saved: Saved,
    tensor: str,
    array: NDArray[Any],
    members: Mapping[str, int],
    present: NDArray[np.bool_] | None,
) -> None:
    numbers = np.array(sorted(set(members.values())), array.dtype)
    top = len(numbers) - 1
    has_gaps = int(numbers[-1]) != top
    for block in cell_blocks(len(array)):
        cells = array[block]
        if not has_gaps and cells.max() <= top:
            continue
        wrong = numbers.take(numbers.searchsorted(cells), mode="clip") != cells
        if present is not None:
            wrong[~present[block]] = False
        if wrong.any():
            _refuse_cell(saved, tensor, block, cells, wrong, "is no member")


def _refuse_cell(
    saved: Saved,
    tensor: str,
    block: slice,
    cells: NDArray[Any],
    wrong: NDArray[np.bool_],
    what: str,
) -> None:
    """Refuse the first row with a wrong element, and name that."""
    at = int(wrong.reshape(-1).argmax())
    row = at // (wrong.size // len(wrong))
    saved.refuse(f"{int(cells.reshape(-1)[at])} {what}", tensor, block.start + row)


def _check_texts(saved: Saved, tensor: str, array: NDArray[np.uint8]) -> None:
    for block in cell_blocks(len(array)):
        characters = array[block]
        ended = characters == 0
        wrong = ended[:, :-1] & ~ended[:, 1:]
        if wrong.any():
            row = block.start + int(wrong.any(axis=1).argmax())
            saved.refuse("text with a NUL in it", tensor, row)
        if characters.max() >= _ASCII:
            _check_utf8(saved, tensor, block.start, characters)


def _check_utf8(
    saved: Saved, tensor: str, start: int, characters: NDArray[np.uint8]
) -> None:
    """Refuse rows that are not UTF-8: all are decoded at once, with a NUL behind each."""
    rows = np.flatnonzero((characters >= _ASCII).any(axis=1))
    size = characters.shape[1] + 1
    apart = np.zeros((len(rows), size), np.uint8)
    apart[:, :-1] = characters[rows]
    try:
        apart.tobytes().decode()
    except UnicodeDecodeError as error:
        row = start + int(rows[error.start // size])
        saved.refuse("text that is not UTF-8", tensor, row)
