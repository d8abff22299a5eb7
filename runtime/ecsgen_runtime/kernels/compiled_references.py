"""What compiled loops need to find the rows that entities lead to."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..base.jit import jit
from ..managers.policies.lookup_maps import Mapped
from . import arithmetic

_NIL: Final = 0xFFFF_FFFF
TABLE_FACTOR: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
"""Spreads entities over a table: odd, and no pattern in its bits."""


def live_row_table(manager: Mapped) -> tuple[NDArray[np.uint64], NDArray[np.int64], np.uint64]:
    """Return who is alive of those who have rows, and their first rows, as an open table; O(n).

    Of each entity the search begins at the place `e * TABLE_FACTOR >> shift`, where `shift`
    is the last thing returned, and goes on until the entity is there, or 0.
    """
    rows = manager._first_rows()
    owners = manager.data._entity_column[rows]
    alive = manager._entities._are_alive(owners)
    return open_table(owners[alive], rows[alive])


def open_table(
    owners: NDArray[np.uint64], rows: NDArray[np.intp]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], np.uint64]:
    """Return distinct numbers and their rows as such a table; O(k)."""
    bits = max(2, (2 * len(owners)).bit_length())
    return *_entered(owners, rows, bits), np.uint64(64 - bits)


@jit()
def _entered(
    owners: NDArray[np.uint64], rows: NDArray[np.intp], bits: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    keys, found = np.zeros(1 << bits, np.uint64), np.full(1 << bits, _NIL, np.int64)
    for k in range(len(owners)):
        place = np.int64(owners[k] * TABLE_FACTOR >> np.uint64(64 - bits))
        while keys[place] != 0:
            place = (place + 1) % len(keys)
        keys[place] = owners[k]
        found[place] = rows[k]
    return keys, found


row_at: Final = jit()(arithmetic.row_at)


@jit()
def rows_of_block(rows: NDArray[np.intp], start: int, end: int) -> NDArray[np.intp]:
    """Return some of the rows, in the same form."""
    if len(rows) > 1:
        return rows[start:end]
    first = np.empty(1, np.intp)
    first[0] = rows[0] + start
    return first
