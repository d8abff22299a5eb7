"""Where numbers of 64 bits lead: open addressing in numpy arrays, for many at once.

A table is pairs of a key and a slot, one after the other, so that both lie in one cache line; it
has a power of two of pairs, at most half of which are ever taken. The way to a key begins where
its hash says, goes on pair by pair, and ends at one that never had a key. Pairs without a key have
the slot NO_SLOT, to which all numbers lead that are no keys.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..handles import EntityArray, RowArray

EMPTY: Final = 0
GONE: Final = 1
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


def enter_keys(table: Table, keys: EntityArray, slots: RowArray) -> bool:
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
            return _take_back(table, np.delete(places, left))
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
            return _take_back(table, np.delete(places, left[done:]))
        table[place], table[place + 1] = key, values[number]
    return True


def _take_back(table: Table, places: RowArray) -> bool:
    """Let nobody be at places where nobody was before."""
    table[places], table[places + 1] = EMPTY, NO_SLOT
    return False


def remove_keys(table: Table, keys: EntityArray) -> int:
    """Take out distinct keys that are there; return how many pairs nobody goes past; O(k)."""
    places, last = _places(table, keys), len(table) - 1
    left = (table.take(places) != keys).nonzero()[0]
    while len(left) > _FEW:
        places[left] = near = places[left] + 2 & last
        left = left[table.take(near) != keys[left]]
    for number in left.tolist():
        places[number] = _behind(table, keys.item(number), places.item(number))
    goes_on = table.take(places + 2 & last) != EMPTY
    table[places] = goes_on  # GONE where a way goes on, else EMPTY
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
