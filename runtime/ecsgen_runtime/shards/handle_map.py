"""A map from numbers of 64 bits to small ones, all at once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..columns.buffers import unfilled
from ..handles import EntityArray, RowArray
from .bulk import ShardedBulk
from .finding import EMPTY, FACTOR, GONE, NO_SLOT

_ALL: Final = (1 << 64) - 1
_SMALLEST: Final = 64


class HandleMap:
    """Handles or ids → slots: a table of pairs. At most half of it is ever taken, so ways are
    short."""

    __slots__ = ("_bulk", "_cells", "_shift", "_taken", "count", "table")

    def __init__(self, bulk: type[ShardedBulk]) -> None:
        self._bulk = bulk
        self._lie_in(_SMALLEST)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.table.nbytes

    def get(self, key: int) -> int:
        """Return the slot of a key, or -1; O(1)."""
        if not self.count or key <= GONE:
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
        self._lie_in(max(_SMALLEST, 1 << (4 * (len(keys) + count) - 1).bit_length()))
        self.add(keys, slots)

    def add(self, keys: EntityArray, slots: RowArray) -> bool:
        """Enter distinct keys, if none of them is there, and return whether; O(k) amortised."""
        self.reserve(len(keys))
        if not self._bulk.enter_keys(self.table, keys, slots):
            return False
        self.count += len(keys)
        self._taken += len(keys)
        return True

    def remove(self, keys: EntityArray) -> None:
        """Take out distinct keys that are there; O(k)."""
        self._taken -= self._bulk.remove_keys(self.table, keys)
        self.count -= len(keys)

    def items(self) -> tuple[EntityArray, RowArray]:
        """Return all keys, and their slots, by ascending slot; O(size)."""
        keys, slots = self.table[::2], self.table[1::2]
        used = (keys > GONE).nonzero()[0]
        held, places = keys[used], slots[used].view(np.intp)
        order = places.argsort()
        return held[order], places[order]

    def _lie_in(self, pairs: int) -> None:
        table = unfilled(16 * pairs).view(np.uint64)
        table[::2], table[1::2] = EMPTY, NO_SLOT
        self.table = table
        """As `find_slots` wants it; another one once it has grown."""
        self._cells: memoryview[Any] = table.data
        self._shift = 64 - (pairs - 1).bit_length()
        self._taken = 0
        self.count = 0
