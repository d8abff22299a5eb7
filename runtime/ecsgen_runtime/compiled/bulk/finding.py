"""Tables of pairs: a loop waits for memory alone."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...shards.lookup import EMPTY, FACTOR, GONE, NO_SLOT, Table
from ..kernel import kernel

_FACTOR: Final = np.uint64(FACTOR)
_EMPTY: Final = np.uint64(EMPTY)
_GONE: Final = np.uint64(GONE)
_NO_SLOT: Final = np.uint64(NO_SLOT)
_ONE: Final = np.uint64(1)
_TWO: Final = np.uint64(2)


@kernel()
def shift_of(table: Table) -> Any:
    """Return by how many bits hashes are too long."""
    shift, pairs = 64, len(table) >> 1
    while pairs > 1:
        shift, pairs = shift - 1, pairs >> 1
    return np.uint64(shift)


@kernel()
def place_of(table: Table, key: Any, shift: Any) -> Any:
    """Return where a key is in the table, or the empty place where it would be; O(1)."""
    last = np.uint64(len(table) - 1)
    place = key * _FACTOR >> shift << _ONE
    while table[place] != key and table[place] != _EMPTY:
        place = place + _TWO & last
    return place


@kernel()
def find_slots(table: Table, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return the slot of each key, or -1; O(k)."""
    slots = np.empty(len(keys), np.intp)
    shift = shift_of(table)
    for k in range(len(keys)):
        slots[k] = np.intp(table[place_of(table, keys[k], shift) + _ONE])
    return slots


@kernel()
def enter_keys(table: Table, keys: NDArray[np.uint64], slots: NDArray[np.intp]) -> bool:
    """Enter keys with their slots, if none is there or given twice, and return whether; O(k)."""
    shift, places = shift_of(table), np.empty(len(keys), np.uint64)
    for k in range(len(keys)):
        key = keys[k]
        place = place_of(table, key, shift)
        if table[place] == key:
            for entered in range(k):
                table[places[entered]] = _EMPTY
                table[places[entered] + _ONE] = _NO_SLOT
            return False
        places[k] = place
        table[place] = key
        table[place + _ONE] = np.uint64(slots[k])
    return True


@kernel()
def remove_keys(table: Table, keys: NDArray[np.uint64]) -> int:
    """Take out distinct keys that are there; return how many pairs nobody goes past; O(k)."""
    shift, last = shift_of(table), np.uint64(len(table) - 1)
    ended = 0
    for k in range(len(keys)):
        place = place_of(table, keys[k], shift)
        goes_on = table[place + _TWO & last] != _EMPTY
        table[place] = _GONE if goes_on else _EMPTY
        table[place + _ONE] = _NO_SLOT
        ended += not goes_on
    return ended
