"""Slots of entities, and rows by slot, for many at once.

`cells` has the handle that lives in each slot, `table` is that of visitors, as `find_slots` wants
it, `mask` the bits of an index. Whoever was made here has the slot of its index.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..bulk import Bulk, sparse_lookup
from ..entities.arrays import are_held
from ..handles import NIL, EntityArray, RowArray
from .distinct import are_distinct_below, ascending
from .finding import Table, enter_keys, find_slots, remove_keys


def slots_of(
    cells: EntityArray, table: Table, es: EntityArray, mask: int
) -> tuple[RowArray, bool]:
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


def are_here(
    cells: EntityArray, table: Table, es: EntityArray, mask: int
) -> NDArray[np.bool_]:
    """Return which entities are alive here; O(k)."""
    here = are_held(cells, es, mask)
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


def visited_rows(
    rows_of: NDArray[np.uint32],
    owners: EntityArray,
    table: Table,
    es: EntityArray,
    mask: int,
) -> RowArray:
    """Return the row of each entity, made here or not, NIL where it has none; O(k)."""
    rows = sparse_lookup(rows_of, owners, es, mask)
    if len(owners) == 0:
        return rows
    missed = (rows == NIL).nonzero()[0]
    if len(missed) == 0:
        return rows
    given = es if len(missed) == len(es) else es[missed]
    slots = find_slots(table, given)
    # -1 is clipped to the first slot: whose row that is decides
    found = rows_of.take(slots, mode="clip").astype(np.intp)
    np.putmask(found, owners.take(found, mode="clip") != given, NIL)
    rows[missed] = found
    return rows


class ShardedBulk(Bulk):
    """What worlds with shards do besides for many at once, by numpy."""

    slots_of = staticmethod(slots_of)
    are_here = staticmethod(are_here)
    rows_in = staticmethod(rows_in)
    visited_rows = staticmethod(visited_rows)
    find_slots = staticmethod(find_slots)
    enter_keys = staticmethod(enter_keys)
    remove_keys = staticmethod(remove_keys)
    are_distinct_below = staticmethod(are_distinct_below)
    ascending = staticmethod(ascending)
