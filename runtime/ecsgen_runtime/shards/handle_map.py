"""Hash maps from handles and ids to slots, and lookups in them, for many keys at once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..base.handles import NIL, EntityArray, RowArray
from ..tables.buffers import unfilled
from ..tables.bulk import Bulk, sparse_lookup
from ..values.array_coercion import all_distinct_below, are_stored_handles

# A table is pairs of a key and a slot, interleaved, so that both lie in one cache line;
# it has a power of two of pairs, at most half of which are ever taken. The probe of a key
# begins at its hash, goes on pair by pair, and ends at a pair that never had a key. Pairs
# without a key have the slot NO_SLOT, which is also the result for unknown keys.

EMPTY: Final = 0
TOMBSTONE: Final = 1
"""Keys that no handle or id has: generations begin with 1."""
NO_SLOT: Final = (1 << 64) - 1
"""The slot -1."""
FACTOR: Final = 0x9E37_79B9_7F4A_7C15
"""2^64 over the golden ratio: spreads keys that follow each other (Fibonacci hashing)."""
_FEW: Final = 16
"""Number of keys that are probed one by one in the time of a round for all of them."""

Table = NDArray[np.uint64]


def find_slots(table: Table, keys: EntityArray) -> RowArray:
    """Return the slot of each key, or -1; O(k)."""
    offsets = _probe_offsets(table, keys)
    probed = table.take(offsets)
    hits = probed == keys
    if hits.all():
        offsets += 1
        return table.take(offsets).view(np.intp)
    slots = table.take(offsets + 1).view(np.intp)
    missed = (~hits).nonzero()[0]
    slots[missed] = -1
    left, last = missed[probed[missed] != EMPTY], len(table) - 1
    while len(left) > _FEW:
        offsets[left] = next_offsets = offsets[left] + 2 & last
        probed = table.take(next_offsets)
        hits = probed == keys[left]
        slots[left[hits]] = table.take(next_offsets[hits] + 1).view(np.intp)
        left = left[~hits & (probed != EMPTY)]
    for number in left.tolist():
        offset = _probe_on(table, keys.item(number), offsets.item(number))
        slots[number] = table.view(np.intp).item(offset + 1)
    return slots


def insert_keys(table: Table, keys: EntityArray, slots: RowArray) -> bool:
    """Insert keys unless one is there or repeated; return True if inserted; O(k).

    There must be room, and no two slots may be the same. Tombstones keep their pairs.
    """
    offsets, last = _probe_offsets(table, keys), len(table) - 1
    probed = table.take(offsets)
    left = (probed != EMPTY).nonzero()[0]
    probed = probed[left]
    while len(left) > _FEW:
        if (probed == keys[left]).any():
            return False
        offsets[left] = next_offsets = offsets[left] + 2 & last
        probed = table.take(next_offsets)
        goes_on = probed != EMPTY
        left, probed = left[goes_on], probed[goes_on]
    for number in left.tolist():
        key, offset = keys.item(number), offsets.item(number)
        if table.item(offset) != key:
            offsets[number] = offset = _probe_on(table, key, offset)
        if table.item(offset) == key:
            return False
    values = slots.view(np.uint64)
    table[offsets] = keys
    table[offsets + 1] = values
    left = (table.take(offsets + 1) != values).nonzero()[0]
    while len(left) > _FEW:  # keys that lost their pair to another key
        if (table.take(offsets[left]) == keys[left]).any():
            return _rollback_insert(table, np.delete(offsets, left))
        offsets[left] = next_offsets = offsets[left] + 2 & last
        free = table.take(next_offsets) == EMPTY
        moved, next_offsets = left[free], next_offsets[free]
        table[next_offsets], table[next_offsets + 1] = keys[moved], values[moved]
        lost = table.take(next_offsets + 1) != values[moved]
        left = np.concatenate((left[~free], moved[lost]))
    for done, number in enumerate(left.tolist()):
        key, offset = keys.item(number), offsets.item(number)
        if table.item(offset) != key:
            offsets[number] = offset = _probe_on(table, key, offset)
        if table.item(offset) == key:
            return _rollback_insert(table, np.delete(offsets, left[done:]))
        table[offset], table[offset + 1] = key, values[number]
    return True


def _rollback_insert(table: Table, offsets: RowArray) -> bool:
    """Empty pairs that were empty before."""
    table[offsets], table[offsets + 1] = EMPTY, NO_SLOT
    return False


def erase_keys(table: Table, keys: EntityArray) -> int:
    """Erase distinct keys that are there; return how many pairs became empty again; O(k)."""
    offsets, last = _probe_offsets(table, keys), len(table) - 1
    left = (table.take(offsets) != keys).nonzero()[0]
    while len(left) > _FEW:
        offsets[left] = next_offsets = offsets[left] + 2 & last
        left = left[table.take(next_offsets) != keys[left]]
    for number in left.tolist():
        offsets[number] = _probe_on(table, keys.item(number), offsets.item(number))
    goes_on = table.take(offsets + 2 & last) != EMPTY
    table[offsets] = goes_on  # TOMBSTONE where a probe goes on, else EMPTY
    table[offsets + 1] = NO_SLOT
    return len(keys) - int(np.count_nonzero(goes_on))


def _probe_on(table: Table, key: int, offset: int) -> int:
    """Return the offset of a key on its probe behind `offset`, or of the probe's end."""
    last = len(table) - 1
    while True:
        offset = offset + 2 & last
        probed = table.item(offset)
        if probed in (key, EMPTY):
            return offset


def _probe_offsets(table: Table, keys: EntityArray) -> RowArray:
    """Return the offset at which the probe of each key begins."""
    hashed = keys * np.uint64(FACTOR)
    hashed >>= np.uint64(65 - (len(table) - 1).bit_length())
    hashed <<= np.uint64(1)
    return hashed.view(np.intp)


_SPARSE: Final = 32
"""Rows are sorted if there are at least this many times more rows below n: less time."""


def all_distinct(values: NDArray[Any]) -> bool:
    """Return True if no integer is repeated; O(k log k), O(k) if they ascend."""
    if (values[1:] > values[:-1]).all():
        return True
    ordered = np.sort(values)
    return not bool((ordered[1:] == ordered[:-1]).any())


def ascending(rows: RowArray, n: int) -> RowArray:
    """Return distinct rows below n in ascending order; O(n), or O(k log k) for a few."""
    if n > _SPARSE * len(rows):
        return np.sort(rows)
    is_row = np.zeros(n, np.bool_)
    is_row[rows] = True
    return is_row.nonzero()[0]


# `cells` has the handle of the live entity in each slot, `table` is that of foreign
# entities as `find_slots` takes it, `mask` the bits of an index. An entity made here has
# the slot of its index.


def slots_of(cells: EntityArray, table: Table, es: EntityArray, mask: int) -> tuple[RowArray, bool]:
    """Return the slots of entities that are alive here or have rows here, and True if all are
    alive; O(k)."""
    slots: RowArray = (es & np.uint64(mask)).view(np.intp)
    is_own = cells.take(slots, mode="clip") == es
    # an index behind all cells was clipped to the last one, which may hold this handle
    is_own &= slots < len(cells)
    if is_own.all():
        return slots, True
    foreign = (~is_own).nonzero()[0]
    foreign_handles = es[foreign]
    foreign_slots = find_slots(table, foreign_handles)
    is_found = foreign_slots >= 0
    if is_found.all():
        slots[foreign] = foreign_slots
        return slots, bool((cells.take(foreign_slots) == foreign_handles).all())
    slots[foreign[is_found]] = foreign_slots[is_found]
    return slots, False


def are_local(cells: EntityArray, table: Table, es: EntityArray, mask: int) -> NDArray[np.bool_]:
    """Return a mask of entities that are alive here; O(k)."""
    is_here = are_stored_handles(cells, es, mask)
    if is_here.all():
        return is_here
    foreign = (~is_here).nonzero()[0]
    foreign_handles = es[foreign]
    slots = find_slots(table, foreign_handles)
    is_here[foreign] = (slots >= 0) & (cells.take(slots, mode="clip") == foreign_handles)
    return is_here


def rows_in(
    rows_of: NDArray[np.uint32], owners: EntityArray, es: EntityArray, slots: RowArray
) -> RowArray:
    """Return the row of each entity, whose slot is known, NIL where it has none; O(k)."""
    if len(owners) == 0:
        return np.full(len(es), NIL, np.intp)
    rows = rows_of.take(slots, mode="clip").astype(np.intp)
    np.putmask(rows, owners.take(rows, mode="clip") != es, NIL)
    return rows


def lookup_with_foreign(
    rows_of: NDArray[np.uint32], owners: EntityArray, table: Table, es: EntityArray, mask: int
) -> RowArray:
    """Return the row of each entity, made here or not, NIL where it has none; O(k)."""
    rows = sparse_lookup(rows_of, owners, es, mask)
    missed = (rows == NIL).nonzero()[0]
    if len(owners) and len(missed):
        missed_handles = es if len(missed) == len(es) else es[missed]
        # -1 is clipped to the first slot, whose owner is another entity
        rows[missed] = rows_in(rows_of, owners, missed_handles, find_slots(table, missed_handles))
    return rows


class ShardedBulk(Bulk):
    """Bulk operations that only worlds with shards have, by numpy."""

    slots_of = staticmethod(slots_of)
    are_local = staticmethod(are_local)
    rows_in = staticmethod(rows_in)
    lookup_with_foreign = staticmethod(lookup_with_foreign)
    find_slots = staticmethod(find_slots)
    insert_keys = staticmethod(insert_keys)
    erase_keys = staticmethod(erase_keys)
    all_distinct_below = staticmethod(all_distinct_below)
    ascending = staticmethod(ascending)


_ALL: Final = (1 << 64) - 1
_SMALLEST: Final = 64


class HandleMap:
    """Map from handles or ids to slots: a table of pairs, at most half of it ever taken, so
    probes are short."""

    __slots__ = ("_bulk", "_cells", "_shift", "_taken", "count", "table")

    def __init__(self, bulk: type[ShardedBulk]) -> None:
        self._bulk = bulk
        self._use_buffer(_SMALLEST)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.table.nbytes

    def get(self, key: int) -> int:
        """Return the slot of a key, or -1; O(1)."""
        if not self.count or key <= TOMBSTONE:
            return -1
        cells, last = self._cells, len(self.table) - 1
        offset = (key * FACTOR & _ALL) >> self._shift << 1
        while True:
            probed = cells[offset]
            if probed == key:
                slot: int = cells[offset + 1]
                return slot
            if probed == EMPTY:
                return -1
            offset = offset + 2 & last

    def find(self, keys: EntityArray) -> RowArray:
        """Return the slot of each key, or -1; O(k)."""
        return self._bulk.find_slots(self.table, keys)

    def reserve(self, count: int) -> None:
        """Make room for `count` more keys, so that adding them can't fail; O(size) if it grows."""
        if 4 * (self._taken + count) <= len(self.table):
            return
        keys, slots = self.items()
        self._use_buffer(max(_SMALLEST, 1 << (4 * (len(keys) + count) - 1).bit_length()))
        self.add(keys, slots)

    def add(self, keys: EntityArray, slots: RowArray) -> bool:
        """Insert distinct keys unless one is there; return True if inserted; O(k) amortised."""
        self.reserve(len(keys))
        if not self._bulk.insert_keys(self.table, keys, slots):
            return False
        self.count += len(keys)
        self._taken += len(keys)
        return True

    def remove(self, keys: EntityArray) -> None:
        """Erase distinct keys that are there; O(k)."""
        self._taken -= self._bulk.erase_keys(self.table, keys)
        self.count -= len(keys)

    def items(self) -> tuple[EntityArray, RowArray]:
        """Return all keys, and their slots, by ascending slot; O(size)."""
        keys, slots = self.table[::2], self.table[1::2]
        used = (keys > TOMBSTONE).nonzero()[0]
        used_keys, used_slots = keys[used], slots[used].view(np.intp)
        order = used_slots.argsort()
        return used_keys[order], used_slots[order]

    def _use_buffer(self, pairs: int) -> None:
        table = unfilled(16 * pairs).view(np.uint64)
        table[::2], table[1::2] = EMPTY, NO_SLOT
        self.table = table
        """As `find_slots` takes it; replaced by a larger one when it grows."""
        self._cells: memoryview[Any] = table.data
        self._shift = 64 - (pairs - 1).bit_length()
        self._taken = 0
        self.count = 0
