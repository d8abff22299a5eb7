"""Bulk operations compiled by numba, whose loops wait for memory alone."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..base.jit import jit
from .bulk import Bulk
from .placement import repeated_row_error

_SPREAD: Final = np.uint64(0x03F7_9D71_B4CB_0A89)
"""De Bruijn sequence: its first six bits after a shift by 0 to 63 bits differ each time."""
_PLACES: Final = np.argsort((_SPREAD << np.arange(64, dtype=np.uint64)) >> np.uint64(58))
"""Number of bits shifted, by these six."""


@jit()
def distinct_rows(rows: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the rows below n, each once, in order; O(n)."""
    words = np.zeros((n >> 6) + 1, np.uint64)
    for k in range(len(rows)):
        words[rows[k] >> 6] |= np.uint64(1) << np.uint64(rows[k] & 63)
    distinct = np.empty(len(rows), np.intp)
    count = 0
    for number in range(len(words)):
        word = words[number]
        while word:
            lowest = word & (~word + np.uint64(1))
            distinct[count] = (number << 6) + _PLACES[lowest * _SPREAD >> np.uint64(58)]
            count += 1
            word ^= lowest
    return distinct[:count]


_NIL: Final = 0xFFFF_FFFF
_DENSE: Final = 16
"""Sets of more than one row in 16 are found through a mask, smaller ones by sorting."""


@jit()
def sparse_lookup(
    rows_of: NDArray[np.uint32],
    owners: NDArray[np.uint64],
    entities: NDArray[np.uint64],
    index_mask: int,
) -> NDArray[np.intp]:
    """Return the row of each entity, NIL where it has none; `owners` are the rows in use.

    The owner's whole handle decides, so stale handles find nothing.
    """
    rows = np.empty(len(entities), np.intp)
    mask, size, n = np.uint64(index_mask), np.uint64(len(rows_of)), len(owners)
    for k in range(len(entities)):
        entity = entities[k]
        index = entity & mask
        row = rows_of[index] if index < size else np.uint32(_NIL)
        rows[k] = row if row < n and owners[row] == entity else _NIL
    return rows


@jit()
def direct_lookup(
    owners: NDArray[np.uint64], entities: NDArray[np.uint64], index_mask: int
) -> NDArray[np.intp]:
    """Return the row of each entity, its index, or NIL where it has none."""
    rows = np.empty(len(entities), np.intp)
    mask, n = np.uint64(index_mask), np.uint64(len(owners))
    for k in range(len(entities)):
        entity = entities[k]
        index = entity & mask
        is_there = entity != 0 and index < n and owners[index] == entity
        rows[k] = index if is_there else _NIL
    return rows


def sort_distinct(rows: NDArray[np.intp], n: int, manager: str) -> NDArray[np.intp]:
    """Return the rows, ascending, or raise StaleInstanceError if one is repeated; O(k)."""
    if len(rows) < 2:
        return rows
    dense = len(rows) * _DENSE > n
    distinct: NDArray[np.intp] = distinct_rows(rows, n) if dense else np.unique(rows)
    if len(distinct) < len(rows):
        raise repeated_row_error(rows, manager)
    return distinct


@jit()
def group_by(keys: NDArray[np.intp], count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where the members of each of `count` groups begin, shape (count + 1,), and the members
    group by group, ascending in each. `keys`: the group of each member. O(k + count)."""
    starts = np.zeros(count + 1, np.intp)
    for k in range(len(keys)):
        starts[np.uintp(keys[k]) + 1] += 1
    for group in range(count):
        starts[group + 1] += starts[group]
    members, ends = np.empty(len(keys), np.intp), starts[:-1].copy()
    for k in range(len(keys)):
        end = ends[np.uintp(keys[k])]
        members[end] = k
        ends[np.uintp(keys[k])] = end + 1
    return starts, members


class CompiledBulk(Bulk):
    """Compiled twin of Bulk."""

    sparse_lookup = staticmethod(sparse_lookup)
    direct_lookup = staticmethod(direct_lookup)
    sort_distinct = staticmethod(sort_distinct)
    group_by = staticmethod(group_by)
