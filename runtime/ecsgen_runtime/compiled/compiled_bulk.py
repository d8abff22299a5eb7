"""What is done for many rows at once, in loops that wait for memory alone."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..bulk import Bulk
from ..handles import EntityArray
from ..placement import repeated_row
from .kernel import kernel

# --- Sets of rows as bits -------------------------------------------------------------

_SPREAD: Final = np.uint64(0x03F7_9D71_B4CB_0A89)
"""A de Bruijn sequence: shifted by 0 to 63 bits, it begins with six other bits each time."""
_PLACES: Final = np.argsort(
    (_SPREAD << np.arange(64, dtype=np.uint64)) >> np.uint64(58)
)
"""By how many bits it was, by these six."""


@kernel()
def distinct_rows(rows: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the rows below n, each once, in order; O(n)."""
    words = np.zeros((n >> 6) + 1, np.uint64)
    for k in range(len(rows)):
        words[rows[k] >> 6] |= np.uint64(1) << np.uint64(rows[k] & 63)
    found = np.empty(len(rows), np.intp)
    count = 0
    for number in range(len(words)):
        word = words[number]
        while word:
            lowest = word & (~word + np.uint64(1))
            found[count] = (number << 6) + _PLACES[lowest * _SPREAD >> np.uint64(58)]
            count += 1
            word ^= lowest
    return found[:count]


# --- Lookups in one pass, which wait for memory alone, and rows in order, four times
# as quick.

NO_ROW: Final = 0xFFFF_FFFF
_DENSE: Final = 16
"""Sets of more than one row in 16 are found through a mask, smaller ones by sorting."""


@kernel()
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
        row = rows_of[index] if index < size else np.uint32(NO_ROW)
        rows[k] = row if row < n and owners[row] == entity else NO_ROW
    return rows


@kernel()
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
        rows[k] = index if is_there else NO_ROW
    return rows


def distinct(rows: NDArray[np.intp], n: int, manager: str) -> NDArray[np.intp]:
    """Return the rows, ascending, or raise StaleInstanceError if one is twice there; O(k)."""
    if len(rows) < 2:
        return rows
    dense = len(rows) * _DENSE > n
    found: NDArray[np.intp] = distinct_rows(rows, n) if dense else np.unique(rows)
    if len(found) < len(rows):
        raise repeated_row(rows, manager)
    return found


# --- Rows that go with their owners ------------------------------------------------------

_PLAIN: Final = {"packed", "sparse", "one", "standing"}
"""Policies whose columns and map are all that there is of a row."""


@kernel()
def take_out(
    dead: NDArray[np.uint64],
    rows_of: NDArray[np.uint32],
    owners: NDArray[np.uint64],
    index_mask: int,
    n: int,
    buffer: NDArray[np.uint8],
    befores: NDArray[np.intp],
    sizes: NDArray[np.intp],
) -> int:
    """Let the dead have no row, and the last of the n rows fill the holes; return how many stay.

    `befores`, `sizes`: the bytes of a row in front of each column and in it.
    """
    mask, size, kept = np.uint64(index_mask), np.uint64(len(rows_of)), n
    gone = np.zeros((n >> 6) + 1, np.uint64)
    for entity in dead:
        index = entity & mask
        if index < size:
            row = np.int64(rows_of[index])
            if row < n and owners[row] == entity:
                gone[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
                rows_of[index] = NO_ROW
                kept -= 1
    capacity, source = len(owners), kept
    for number in range(((kept - 1) >> 6) + 1 if kept < n else 0):
        word = gone[number]
        while word:
            lowest = word & (~word + np.uint64(1))
            word ^= lowest
            hole = (number << 6) + _PLACES[lowest * _SPREAD >> np.uint64(58)]
            if hole >= kept:
                break
            while gone[source >> 6] >> np.uint64(source & 63) & np.uint64(1):
                source += 1
            rows_of[owners[source] & mask] = hole
            for column in range(len(sizes)):
                start, width = befores[column] * capacity, sizes[column]
                for k in range(width):
                    moved = buffer[start + source * width + k]
                    buffer[start + hole * width + k] = moved
            source += 1
    return kept


@cache
def widths(kind: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the bytes of a row in front of each column, and in it."""
    befores = [column.before for column in kind.LAYOUT]
    return np.array(befores), np.array([column.nbytes for column in kind.LAYOUT])


@cache
def is_plain(kind: Any) -> bool:
    """Whether rows of a manager are nothing but their columns and an entry of the map."""
    steps = {step for steps in kind._STEPS.values() for step in steps.split()}
    _, leaving, is_more = kind._REMOVAL
    is_by_index = "sparse" in steps and kind._MAY_BE_IN_C  # and not by visitors' slots
    return steps <= _PLAIN and is_by_index and not (leaving or is_more)


def remove_dead(manager: Any, dead: EntityArray) -> None:
    """Remove the rows of k distinct dead entities; O(n + k), without many steps."""
    kind: Any = type(manager)
    if not is_plain(kind):
        manager.remove_many(dead)
        return
    data = manager.data
    befores, sizes = widths(kind)
    mask = manager._entities._LAYOUT.INDEX_MASK
    try:
        kept = take_out(
            dead,
            manager._sparse,
            data._entity_column,
            mask,
            data._n,
            data._buffer,
            befores,
            sizes,
        )
        if kept < data._n:
            data._n = kept
            data._version += 1
            data._forget_rows()
    except BaseException:
        manager._break()
        raise


class CompiledBulk(Bulk):
    """What is done for many rows at once, compiled."""

    sparse_lookup = staticmethod(sparse_lookup)
    direct_lookup = staticmethod(direct_lookup)
    distinct = staticmethod(distinct)
    remove_dead = staticmethod(remove_dead)
