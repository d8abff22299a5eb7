"""Stable ids: a slot and the generation of what is in it."""

from __future__ import annotations

from operator import index
from typing import Any, Final, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ..errors import CapacityError, StaleIdError
from ..handles import NIL, EntityArray, IdArray, RowArray

SLOT_BITS: Final = 32
SLOT_MASK: Final = 0xFFFF_FFFF
WORN_OUT: Final = 0xFFFF_FFFF


def ids_of(slots: NDArray[Any], generations: NDArray[np.uint32]) -> IdArray:
    """Return the ids of slots: `generation << 32 | slot`; O(k)."""
    upper = generations[slots].astype(np.uint64) << np.uint64(SLOT_BITS)
    ids: IdArray = upper | slots.astype(np.uint64)
    return ids


def resolve_ids(
    ids: IdArray, rows: NDArray[Any], generations: NDArray[np.uint32]
) -> RowArray:
    """Return the row of each id, NIL where the slot's generation is another; O(k)."""
    if len(rows) == 0:
        return np.full(len(ids), NIL, np.intp)
    slots = (ids & np.uint64(SLOT_MASK)).view(np.intp)
    alive = generations.take(slots, mode="clip") == ids >> np.uint64(SLOT_BITS)
    alive &= slots < len(rows)
    return np.where(alive, rows.take(slots, mode="clip"), NIL).astype(
        np.intp, copy=False
    )


def rows_of_ids(manager: str, ids: EntityArray, rows: RowArray) -> RowArray:
    """Return the rows, ascending, or raise StaleIdError for a stale or repeated id; O(k)."""
    stale = rows == NIL
    if stale.any():
        raise stale_id(manager, int(ids[stale.argmax()]))
    ascending = np.sort(rows)
    again = ascending[1:][ascending[1:] == ascending[:-1]]
    if len(again):
        twice = int(ids[(rows == again[0]).argmax()])
        raise StaleIdError(f"{manager}: id {twice:#x} is given twice")
    return ascending


def stale_id(manager: str, id: SupportsIndex) -> StaleIdError:
    """Return the error of an id whose instance is gone."""
    return StaleIdError(f"{manager}: id {index(id):#x} has no instance, or no longer")


def worn_out(manager: str, row: int) -> CapacityError:
    """Return the error of a row that had as many instances as ids can tell apart."""
    return CapacityError(f"{manager}: row {row} has no generation left for another id")


def first_worn_out(
    manager: str, rows: RowArray, generations: NDArray[np.uint32]
) -> None:
    """Raise CapacityError for the first of the rows that has no generation left."""
    known = rows[rows < len(generations)]
    worn = known[generations[known] == WORN_OUT]
    if len(worn):
        raise worn_out(manager, int(worn[0]))
