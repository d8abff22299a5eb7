"""A map from numbers of 64 bits to small ones, all at once: open addressing in numpy arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..handles import EntityArray, RowArray

_EMPTY: Final = 0
_GONE: Final = 1
"""Keys that none has: generations begin with 1."""
_FACTOR: Final = 0x9E37_79B9_7F4A_7C15
"""2^64 over the golden ratio: spreads keys that follow each other (Fibonacci hashing)."""
_ALL: Final = (1 << 64) - 1
_SMALLEST: Final = 64
_FEW: Final = 16
"""So many keys are found one by one in the time of a round for all of them."""


class HandleMap:
    """Handles or ids → slots. At most half of the cells are ever taken, so ways are short."""

    __slots__ = (
        "_key_cells",
        "_keys",
        "_shift",
        "_slot_cells",
        "_slots",
        "_taken",
        "count",
    )

    def __init__(self) -> None:
        self.count = 0
        self._lie_in(_SMALLEST)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._keys.nbytes + self._slots.nbytes

    def get(self, key: int) -> int:
        """Return the slot of a key, or -1; O(1)."""
        if not self.count or key <= _GONE:
            return -1
        keys, last = self._key_cells, len(self._keys) - 1
        place = (key * _FACTOR & _ALL) >> self._shift
        while True:
            found = keys[place]
            if found == key:
                slot: int = self._slot_cells[place]
                return slot
            if found == _EMPTY:
                return -1
            place = place + 1 & last

    def find(self, keys: EntityArray) -> RowArray:
        """Return the slot of each key, or -1; O(k)."""
        places = self._places(keys)
        found = self._keys.take(places)
        slots = np.where(found == keys, self._slots.take(places), -1)
        left = ((found != keys) & (found != _EMPTY)).nonzero()[0]
        last = len(self._keys) - 1
        while len(left) > _FEW:
            places[left] = near = places[left] + 1 & last
            found = self._keys.take(near)
            hit = found == keys[left]
            slots[left[hit]] = self._slots.take(near[hit])
            left = left[~hit & (found != _EMPTY)]
        for place in left.tolist():
            slots[place] = self.get(keys.item(place))
        return slots

    def reserve(self, count: int) -> None:
        """Make room for `count` more keys, so that adding them can't fail; O(size) if it grows."""
        if 2 * (self._taken + count) <= len(self._keys):
            return
        keys, slots = self.items()
        size = max(_SMALLEST, 1 << (4 * (len(keys) + count) - 1).bit_length())
        self._lie_in(size)
        self.count = 0
        self.add(keys, slots)

    def add(self, keys: EntityArray, slots: NDArray[Any]) -> None:
        """Enter distinct keys that are not there; O(k) amortised."""
        self.reserve(len(keys))
        places = self._places(keys)
        left, last = np.arange(len(keys)), len(self._keys) - 1
        while len(left):
            here = places[left]
            free = self._keys.take(here) <= _GONE
            candidates, targets = left[free], here[free]
            self._keys[targets] = keys[candidates]
            won = self._keys.take(targets) == keys[candidates]
            self._slots[targets[won]] = slots[candidates[won]]
            left = np.concatenate((left[~free], candidates[~won]))
            places[left] = places[left] + 1 & last
        self.count += len(keys)
        self._taken += len(keys)

    def remove(self, keys: EntityArray) -> None:
        """Take out distinct keys that are there; O(k)."""
        places, last = self._places(keys), len(self._keys) - 1
        left = (self._keys.take(places) != keys).nonzero()[0]
        while len(left):
            places[left] = places[left] + 1 & last
            left = left[self._keys.take(places[left]) != keys[left]]
        self._keys[places] = _GONE
        self._slots[places] = -1
        self.count -= len(keys)

    def items(self) -> tuple[EntityArray, RowArray]:
        """Return all keys, and their slots, by ascending slot; O(size)."""
        used = (self._keys > _GONE).nonzero()[0]
        keys, slots = self._keys[used], self._slots[used]
        order = slots.argsort()
        return keys[order], slots[order]

    def _places(self, keys: EntityArray) -> RowArray:
        """Return where the way to each key begins."""
        hashed = keys * np.uint64(_FACTOR)
        hashed >>= np.uint64(self._shift)
        return hashed.view(np.intp)

    def _lie_in(self, size: int) -> None:
        self._keys = np.zeros(size, np.uint64)
        self._slots = np.full(size, -1, np.intp)
        self._key_cells: memoryview[Any] = self._keys.data
        self._slot_cells: memoryview[Any] = self._slots.data
        self._shift = 64 - (size - 1).bit_length()
        self._taken = 0
