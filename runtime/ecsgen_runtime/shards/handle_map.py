"""Where numbers of 64 bits lead, for many at once: their rows, slots, and whether they differ."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..base.handles import NIL, EntityArray, RowArray
from ..tables.buffers import unfilled
from ..tables.bulk import Bulk, sparse_lookup
from ..values.array_coercion import all_distinct_below, are_stored_handles

# --- Where numbers of 64 bits lead: open addressing in numpy arrays, for many at once.
#
# A table is pairs of a key and a slot, one after the other, so that both lie in one
# cache line; it has a power of two of pairs, at most half of which are ever taken. The
# way to a key begins where its hash says, goes on pair by pair, and ends at one that
# never had a key. Pairs without a key have the slot NO_SLOT, to which all numbers lead
# that are no keys.

EMPTY: Final = 0
TOMBSTONE: Final = 1
"""Keys that none has: generations begin with 1."""
NO_SLOT: Final = (1 << 64) - 1
"""The slot -1."""
FACTOR: Final = 0x9E37_79B9_7F4A_7C15
"""2^64 over the golden ratio: spreads keys that follow each other (Fibonacci hashing)."""
_FEW: Final = 16
"""So many keys are found one by one in the time of a round for all of them."""

Table = NDArray[np.uint64]


def find_slots(table: Table, keys: EntityArray) -> RowArray:
    """Return the slot of each key, or -1; O(k)."""
    places = _places(table, keys)
    found = table.take(places)
    hits = found == keys
    if hits.all():
        places += 1
        return table.take(places).view(np.intp)
    slots = table.take(places + 1).view(np.intp)
    missed = (~hits).nonzero()[0]
    slots[missed] = -1
    left, last = missed[found[missed] != EMPTY], len(table) - 1
    while len(left) > _FEW:
        places[left] = near = places[left] + 2 & last
        found = table.take(near)
        hits = found == keys[left]
        slots[left[hits]] = table.take(near[hits] + 1).view(np.intp)
        left = left[~hits & (found != EMPTY)]
    for number in left.tolist():
        place = _behind(table, keys.item(number), places.item(number))
        slots[number] = table.view(np.intp).item(place + 1)
    return slots


def insert_keys(table: Table, keys: EntityArray, slots: RowArray) -> bool:
    """Enter keys with their slots, if none is there or given twice, and return whether; O(k).

    There must be room, and no two slots may be the same. Those that are gone keep their pairs.
    """
    places, last = _places(table, keys), len(table) - 1
    found = table.take(places)
    left = (found != EMPTY).nonzero()[0]
    found = found[left]
    while len(left) > _FEW:
        if (found == keys[left]).any():
            return False
        places[left] = near = places[left] + 2 & last
        found = table.take(near)
        goes_on = found != EMPTY
        left, found = left[goes_on], found[goes_on]
    for number in left.tolist():
        key, place = keys.item(number), places.item(number)
        if table.item(place) != key:
            places[number] = place = _behind(table, key, place)
        if table.item(place) == key:
            return False
    values = slots.view(np.uint64)
    table[places] = keys
    table[places + 1] = values
    left = (table.take(places + 1) != values).nonzero()[0]
    while len(left) > _FEW:  # others have come to the same pairs
        if (table.take(places[left]) == keys[left]).any():
            return _rollback_spawn(table, np.delete(places, left))
        places[left] = near = places[left] + 2 & last
        free = table.take(near) == EMPTY
        coming, near = left[free], near[free]
        table[near], table[near + 1] = keys[coming], values[coming]
        lost = table.take(near + 1) != values[coming]
        left = np.concatenate((left[~free], coming[lost]))
    for done, number in enumerate(left.tolist()):
        key, place = keys.item(number), places.item(number)
        if table.item(place) != key:
            places[number] = place = _behind(table, key, place)
        if table.item(place) == key:
            return _rollback_spawn(table, np.delete(places, left[done:]))
        table[place], table[place + 1] = key, values[number]
    return True


def _rollback_spawn(table: Table, places: RowArray) -> bool:
    """Let nobody be at places where nobody was before."""
    table[places], table[places + 1] = EMPTY, NO_SLOT
    return False


def erase_keys(table: Table, keys: EntityArray) -> int:
    """Take out distinct keys that are there; return how many pairs nobody goes past; O(k)."""
    places, last = _places(table, keys), len(table) - 1
    left = (table.take(places) != keys).nonzero()[0]
    while len(left) > _FEW:
        places[left] = near = places[left] + 2 & last
        left = left[table.take(near) != keys[left]]
    for number in left.tolist():
        places[number] = _behind(table, keys.item(number), places.item(number))
    goes_on = table.take(places + 2 & last) != EMPTY
    table[places] = goes_on  # TOMBSTONE where a way goes on, else EMPTY
    table[places + 1] = NO_SLOT
    return len(keys) - int(np.count_nonzero(goes_on))


def _behind(table: Table, key: int, place: int) -> int:
    """Return the place of a key on its way behind another place, or that where the way ends."""
    last = len(table) - 1
    while True:
        place = place + 2 & last
        held = table.item(place)
        if held in (key, EMPTY):
            return place


def _places(table: Table, keys: EntityArray) -> RowArray:
    """Return where the way to each key begins."""
    hashed = keys * np.uint64(FACTOR)
    hashed >>= np.uint64(65 - (len(table) - 1).bit_length())
    hashed <<= np.uint64(1)
    return hashed.view(np.intp)


# --- Whether numbers are all different, and rows in order -----------------------------

_MANY: Final = 1024
"""So many numbers are put into a table in less time than they are sorted in."""
_SPREAD: Final = np.uint64(FACTOR)
_SPARSE: Final = 32
"""Among so many times more rows, some are sorted in less time than all are looked at."""


def all_distinct(values: NDArray[Any]) -> bool:
    """Return whether no integer is there twice; O(k)."""
    if (values[1:] > values[:-1]).all():
        return True
    if len(values) < _MANY:
        return _differ(values)
    numbers = values.astype(np.uint64)
    places = numbers * _SPREAD
    places >>= np.uint64(64 - (2 * len(numbers) - 1).bit_length())
    own = np.arange(len(numbers))
    table = np.empty(1 << (2 * len(numbers) - 1).bit_length(), np.intp)
    table[places.view(np.intp)] = own
    held = table.take(places.view(np.intp))
    # whose place another one has: an equal one, or not
    lost = (held != own).nonzero()[0]
    return not (numbers[held[lost]] == numbers[lost]).any() and _differ(numbers[lost])


def _differ(values: NDArray[Any]) -> bool:
    ordered = np.sort(values)
    return not bool((ordered[1:] == ordered[:-1]).any())


def ascending(rows: RowArray, n: int) -> RowArray:
    """Return distinct rows below n in ascending order; O(n), or O(k log k) for a few."""
    if n > _SPARSE * len(rows):
        return np.sort(rows)
    chosen = np.zeros(n, np.bool_)
    chosen[rows] = True
    return chosen.nonzero()[0]


# --- Slots of entities, and rows by slot, for many at once ----------------------------
#
# `cells` has the handle that lives in each slot, `table` is that of visitors, as
# `find_slots` wants it, `mask` the bits of an index. Whoever was made here has the
# slot of its index.


def slots_of(cells: EntityArray, table: Table, es: EntityArray, mask: int) -> tuple[RowArray, bool]:
    """Return the slots of entities that are alive here or have rows here, and whether all of them
    are alive; O(k)."""
    slots: RowArray = (es & np.uint64(mask)).view(np.intp)
    own = cells.take(slots, mode="clip") == es
    # whose index is behind all cells was clipped to the last one, which may be its slot
    own &= slots < len(cells)
    if own.all():
        return slots, True
    others = (~own).nonzero()[0]
    given = es[others]
    found = find_slots(table, given)
    known = found >= 0
    if known.all():
        slots[others] = found
        return slots, bool((cells.take(found) == given).all())
    slots[others[known]] = found[known]
    return slots, False


def are_local(cells: EntityArray, table: Table, es: EntityArray, mask: int) -> NDArray[np.bool_]:
    """Return which entities are alive here; O(k)."""
    here = are_stored_handles(cells, es, mask)
    if here.all():
        return here
    others = (~here).nonzero()[0]
    given = es[others]
    slots = find_slots(table, given)
    here[others] = (slots >= 0) & (cells.take(slots, mode="clip") == given)
    return here


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
        given = es if len(missed) == len(es) else es[missed]
        # -1 is clipped to the first slot: whose row that is decides
        rows[missed] = rows_in(rows_of, owners, given, find_slots(table, given))
    return rows


class ShardedBulk(Bulk):
    """What worlds with shards do besides for many at once, by numpy."""

    slots_of = staticmethod(slots_of)
    are_local = staticmethod(are_local)
    rows_in = staticmethod(rows_in)
    lookup_with_foreign = staticmethod(lookup_with_foreign)
    find_slots = staticmethod(find_slots)
    insert_keys = staticmethod(insert_keys)
    erase_keys = staticmethod(erase_keys)
    all_distinct_below = staticmethod(all_distinct_below)
    ascending = staticmethod(ascending)


# --- A map from numbers of 64 bits to small ones, all at once -------------------------

_ALL: Final = (1 << 64) - 1
_SMALLEST: Final = 64


class HandleMap:
    """Handles or ids → slots: a table of pairs. At most half of it is ever taken, so ways are
    short."""

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
        place = (key * FACTOR & _ALL) >> self._shift << 1
        while True:
            found = cells[place]
            if found == key:
                slot: int = cells[place + 1]
                return slot
            if found == EMPTY:
                return -1
            place = place + 2 & last

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
        """Enter distinct keys, if none of them is there, and return whether; O(k) amortised."""
        self.reserve(len(keys))
        if not self._bulk.insert_keys(self.table, keys, slots):
            return False
        self.count += len(keys)
        self._taken += len(keys)
        return True

    def remove(self, keys: EntityArray) -> None:
        """Take out distinct keys that are there; O(k)."""
        self._taken -= self._bulk.erase_keys(self.table, keys)
        self.count -= len(keys)

    def items(self) -> tuple[EntityArray, RowArray]:
        """Return all keys, and their slots, by ascending slot; O(size)."""
        keys, slots = self.table[::2], self.table[1::2]
        used = (keys > TOMBSTONE).nonzero()[0]
        held, places = keys[used], slots[used].view(np.intp)
        order = places.argsort()
        return held[order], places[order]

    def _use_buffer(self, pairs: int) -> None:
        table = unfilled(16 * pairs).view(np.uint64)
        table[::2], table[1::2] = EMPTY, NO_SLOT
        self.table = table
        """As `find_slots` wants it; another one once it has grown."""
        self._cells: memoryview[Any] = table.data
        self._shift = 64 - (pairs - 1).bit_length()
        self._taken = 0
        self.count = 0
