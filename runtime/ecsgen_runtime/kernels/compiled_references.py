"""Lookup of the rows of entities for compiled loops."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..base.jit import jit
from ..managers.policies.lookup_maps import Mapped
from ..managers.policies.owners import entities_of
from ..tables.columns import owner_column
from . import arithmetic

_NIL: Final = 0xFFFF_FFFF
TABLE_FACTOR: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
"""Factor that spreads entities over a table: odd, without a pattern in its bits."""


def live_row_table(manager: Mapped) -> tuple[NDArray[np.uint64], NDArray[np.int64], np.uint64]:
    """Return the alive entities with rows, their first rows, and `shift`, as an open hash table.

    The search for an entity begins at slot `e * TABLE_FACTOR >> shift`, and ends at the entity or
    at 0. O(n).
    """
    rows = manager.first_rows()
    owners = owner_column(manager.data)[rows]
    alive = entities_of(manager).are_alive(owners)
    return open_table(owners[alive], rows[alive])


def open_table(
    owners: NDArray[np.uint64], rows: NDArray[np.intp]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], np.uint64]:
    """Return distinct numbers and their rows as an open hash table; O(k)."""
    bits = max(2, (2 * len(owners)).bit_length())
    return *_inserted(owners, rows, bits), np.uint64(64 - bits)


@jit()
def _inserted(
    owners: NDArray[np.uint64], rows: NDArray[np.intp], bits: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    keys, first_rows = np.zeros(1 << bits, np.uint64), np.full(1 << bits, _NIL, np.int64)
    for k in range(len(owners)):
        slot = np.int64(owners[k] * TABLE_FACTOR >> np.uint64(64 - bits))
        while keys[slot] != 0:
            slot = (slot + 1) % len(keys)
        keys[slot] = owners[k]
        first_rows[slot] = rows[k]
    return keys, first_rows


row_at: Final = jit()(arithmetic.row_at)


@jit()
def rows_of_block(rows: NDArray[np.intp], start: int, end: int) -> NDArray[np.intp]:
    """Return a slice of rows in the form that `row_at` reads."""
    if len(rows) > 1:
        return rows[start:end]
    first = np.empty(1, np.intp)
    first[0] = rows[0] + start
    return first
