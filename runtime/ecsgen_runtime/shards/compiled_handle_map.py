"""Compiled twins of `handle_map`: slots of entities, rows by slot, and tables of pairs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..base.handles import EntityArray, RowArray
from ..base.jit import jit
from ..tables.compiled_bulk import CompiledBulk, distinct_rows
from .handle_map import EMPTY, FACTOR, NO_SLOT, TOMBSTONE, ShardedBulk, Table

_FACTOR: Final = np.uint64(FACTOR)
_EMPTY: Final = np.uint64(EMPTY)
_TOMBSTONE: Final = np.uint64(TOMBSTONE)
_NO_SLOT: Final = np.uint64(NO_SLOT)
_ONE: Final = np.uint64(1)
_TWO: Final = np.uint64(2)


@jit()
def shift_of(table: Table) -> Any:
    """Return the number of bits by which hashes are shifted right."""
    shift, pairs = 64, len(table) >> 1
    while pairs > 1:
        shift, pairs = shift - 1, pairs >> 1
    return np.uint64(shift)


@jit()
def offset_of(table: Table, key: Any, shift: Any) -> Any:
    """Return the offset of a key in the table, or of the empty pair where it would be; O(1)."""
    last = np.uint64(len(table) - 1)
    offset = key * _FACTOR >> shift << _ONE
    while table[offset] != key and table[offset] != _EMPTY:
        offset = offset + _TWO & last
    return offset


@jit()
def find_slots(table: Table, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return the slot of each key, or -1; O(k)."""
    slots = np.empty(len(keys), np.intp)
    shift = shift_of(table)
    for k in range(len(keys)):
        slots[k] = np.intp(table[offset_of(table, keys[k], shift) + _ONE])
    return slots


@jit()
def insert_keys(table: Table, keys: NDArray[np.uint64], slots: NDArray[np.intp]) -> bool:
    """Insert keys unless one is there or repeated; return True if inserted; O(k)."""
    shift, offsets = shift_of(table), np.empty(len(keys), np.uint64)
    for k in range(len(keys)):
        key = keys[k]
        offset = offset_of(table, key, shift)
        if table[offset] == key:
            for inserted in range(k):
                table[offsets[inserted]] = _EMPTY
                table[offsets[inserted] + _ONE] = _NO_SLOT
            return False
        offsets[k] = offset
        table[offset] = key
        table[offset + _ONE] = np.uint64(slots[k])
    return True


@jit()
def erase_keys(table: Table, keys: NDArray[np.uint64]) -> int:
    """Erase distinct keys that are there; return how many pairs became empty again; O(k)."""
    shift, last = shift_of(table), np.uint64(len(table) - 1)
    n_emptied = 0
    for k in range(len(keys)):
        offset = offset_of(table, keys[k], shift)
        goes_on = table[offset + _TWO & last] != _EMPTY
        table[offset] = _TOMBSTONE if goes_on else _EMPTY
        table[offset + _ONE] = _NO_SLOT
        n_emptied += not goes_on
    return n_emptied


_NIL: Final = 0xFFFF_FFFF


@jit()
def slots_of(cells: EntityArray, table: Table, es: EntityArray, mask: int) -> tuple[RowArray, bool]:
    """Return the slots of entities that are alive here or have rows here, and True if all are
    alive; O(k)."""
    slots = np.empty(len(es), np.intp)
    shift = shift_of(table)
    bits, size, alive = np.uint64(mask), np.uint64(len(cells)), True
    for k in range(len(es)):
        e = es[k]
        index = e & bits
        if index >= size or cells[index] != e:
            slot = table[offset_of(table, e, shift) + _ONE]
            if slot != _NO_SLOT:
                index = slot
            alive &= slot != _NO_SLOT and cells[slot] == e
        slots[k] = np.intp(index)
    return slots, alive


@jit()
def are_local(cells: EntityArray, table: Table, es: EntityArray, mask: int) -> NDArray[np.bool_]:
    """Return a mask of entities that are alive here; O(k)."""
    is_here = np.empty(len(es), np.bool_)
    shift = shift_of(table)
    bits, size = np.uint64(mask), np.uint64(len(cells))
    for k in range(len(es)):
        e = es[k]
        index = e & bits
        if index >= size or cells[index] != e:
            index = table[offset_of(table, e, shift) + _ONE]
        is_here[k] = index < size and cells[index] == e
    return is_here


@jit()
def rows_in(
    rows_of: NDArray[np.uint32], owners: EntityArray, es: EntityArray, slots: RowArray
) -> RowArray:
    """Return the row of each entity, whose slot is known, NIL where it has none; O(k)."""
    rows = np.empty(len(es), np.intp)
    size, n = np.uint64(len(rows_of)), len(owners)
    for k in range(len(es)):
        slot = np.uint64(slots[k])
        row = rows_of[slot] if slot < size else np.uint32(_NIL)
        rows[k] = row if row < n and owners[row] == es[k] else _NIL
    return rows


@jit()
def lookup_with_foreign(
    rows_of: NDArray[np.uint32], owners: EntityArray, table: Table, es: EntityArray, mask: int
) -> RowArray:
    """Return the row of each entity, made here or not, NIL where it has none; O(k)."""
    rows = np.empty(len(es), np.intp)
    shift = shift_of(table)
    bits, size, n = np.uint64(mask), np.uint64(len(rows_of)), len(owners)
    for k in range(len(es)):
        e = es[k]
        index = e & bits
        row: Any = rows_of[index] if index < size else np.uint32(_NIL)
        if row >= n or owners[row] != e:
            slot = table[offset_of(table, e, shift) + _ONE]
            row = rows_of[slot] if slot < size else np.uint32(_NIL)
            if row >= n or owners[row] != e:
                row = np.uint32(_NIL)
        rows[k] = row
    return rows


@jit()
def all_distinct_below(indices: NDArray[np.integer[Any]], bound: int) -> bool:
    """Return True if no number below `bound` is repeated; O(bound)."""
    seen = np.zeros(bound, np.uint8)
    for k in range(len(indices)):
        if seen[indices[k]]:
            return False
        seen[indices[k]] = 1
    return True


class CompiledShardedBulk(CompiledBulk, ShardedBulk):
    """Bulk operations that only worlds with shards have, compiled."""

    slots_of = staticmethod(slots_of)
    are_local = staticmethod(are_local)
    rows_in = staticmethod(rows_in)
    lookup_with_foreign = staticmethod(lookup_with_foreign)
    find_slots = staticmethod(find_slots)
    insert_keys = staticmethod(insert_keys)
    erase_keys = staticmethod(erase_keys)
    all_distinct_below = staticmethod(all_distinct_below)
    ascending = staticmethod(distinct_rows)
