"""The rows that entities and ids lead to, one at a time: NIL where they lead to none.

Rows of dead entities that are not collected yet are not found.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..runtime.entities.arrays import are_held
from ..runtime.entities.layout import INDEX_MASK
from ..runtime.entities.living import LivingEntities

_NIL: Final = 0xFFFF_FFFF
_SLOT_MASK: Final = np.uint64(0xFFFF_FFFF)
_SLOT_BITS: Final = np.uint64(32)
_SPREAD: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
HANDLE_MASK: Final = np.uint64(INDEX_MASK)
"""The bits of an entity that are its index."""


@njit(cache=True, error_model="numpy", forceinline=True)
def is_living(handles: Any, mask: Any, entity: Any) -> Any:
    """Return whether an entity is alive; the last cell stands for those behind it."""
    return handles[min(entity & mask, np.uint64(len(handles) - 1))] == entity


@njit(cache=True, error_model="numpy", forceinline=True)
def sparse_row(rows_of: Any, owners: Any, handles: Any, mask: Any, entity: Any) -> Any:
    """Return the row of an entity, of which a sparse array tells the first one."""
    index = entity & mask
    row = np.int64(rows_of[index] if index < np.uint64(len(rows_of)) else _NIL)
    is_there = (
        row < len(owners)
        and owners[row] == entity
        and handles[min(index, np.uint64(len(handles) - 1))] == entity
    )
    return row if is_there else _NIL


@njit(cache=True, error_model="numpy", forceinline=True)
def direct_row(owners: Any, handles: Any, mask: Any, entity: Any) -> Any:
    """Return the row of an entity, which is its index."""
    index = entity & mask
    is_there = (
        index < np.uint64(len(owners))
        and owners[index] == entity
        and handles[min(index, np.uint64(len(handles) - 1))] == entity
    )
    return np.int64(index) if is_there else _NIL


@njit(cache=True, error_model="numpy", forceinline=True)
def hash_row(keys: Any, rows: Any, entity: Any) -> Any:
    """Return the row of an entity in a table that `living_table` has made."""
    last = np.uint64(len(keys) - 1)
    place = (entity * _SPREAD >> _SLOT_BITS) & last
    while keys[place] != entity and keys[place] != 0:
        place = (place + np.uint64(1)) & last
    return rows[place]


@njit(cache=True, error_model="numpy", forceinline=True)
def id_row(rows: Any, generations: Any, id: Any) -> Any:
    """Return the row with an id, which belongs to nobody."""
    slot = id & _SLOT_MASK
    is_there = (
        slot < np.uint64(len(rows)) and np.uint64(generations[slot]) == id >> _SLOT_BITS
    )
    return np.int64(rows[slot] if is_there else _NIL)


@njit(cache=True, error_model="numpy", forceinline=True)
def living_id_row(
    rows: Any, generations: Any, owners: Any, handles: Any, mask: Any, id: Any
) -> Any:
    """Return the row with an id, if its owner is alive."""
    row = id_row(rows, generations, id)
    is_there = row != _NIL and is_living(handles, mask, owners[row])
    return row if is_there else _NIL


@njit(cache=True, error_model="numpy", forceinline=True)
def direct_id_row(
    generations: Any, owners: Any, handles: Any, mask: Any, id: Any
) -> Any:
    """Return the row with an id that names it, if its owner is alive."""
    row = id & _SLOT_MASK
    is_there = (
        row < np.uint64(len(owners))
        and np.uint64(generations[row]) == id >> _SLOT_BITS
        and owners[row] != 0
        and is_living(handles, mask, owners[row])
    )
    return np.int64(row) if is_there else _NIL


class TabledManager(Protocol):
    """A manager of which a table can be made."""

    @property
    def _entities(self) -> LivingEntities: ...

    @property
    def data(self) -> Any: ...

    def _first_rows(self) -> NDArray[np.intp]: ...


def living_table(
    manager: TabledManager,
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return who is alive of those who have rows, and their first rows, as an open table; O(n).

    Of each entity the search begins at the place that its bits make, and goes on until it or
    nobody is there.
    """
    rows = manager._first_rows()
    owners = manager.data._entity_column[rows]
    alive = are_held(manager._entities._handles, owners, INDEX_MASK)
    return _table(owners[alive], rows[alive])


@njit(cache=True, error_model="numpy")
def _table(
    owners: NDArray[np.uint64], rows: NDArray[np.intp]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    size = 4
    while size < 2 * len(owners) + 2:
        size *= 2
    last = np.uint64(size - 1)
    keys = np.zeros(size, np.uint64)
    found = np.full(size, _NIL, np.int64)
    for k in range(len(owners)):
        place = (owners[k] * _SPREAD >> _SLOT_BITS) & last
        while keys[place] != 0:
            place = (place + np.uint64(1)) & last
        keys[place] = owners[k]
        found[place] = rows[k]
    return keys, found
