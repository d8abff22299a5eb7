"""What is done for many rows at once, and can be compiled: lookups, and rows in order."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from .handles import NIL, EntityArray, RowArray
from .placement import distinct

_BLOCK: Final = 65_536
"""Entities per step: the scratch stays in the second-level cache."""


def sparse_lookup(
    rows_of: NDArray[np.uint32],
    owners: EntityArray,
    entities: EntityArray,
    index_mask: int,
) -> RowArray:
    """Return the row of each entity, NIL where it has none; 3 ns per entity.

    `owners` are the rows in use. The owner's whole handle decides, so stale handles
    find nothing; an index behind the map or an entry of NIL is clipped to a row that
    belongs to someone else.
    """
    count = len(entities)
    rows = np.empty(count, np.intp)
    if len(owners) == 0:
        rows.fill(NIL)
        return rows
    size = min(count, _BLOCK)
    index = np.empty(size, np.uint64)
    row = np.empty(size, np.uint32)
    mask = np.uint64(index_mask)
    for start in range(0, count, _BLOCK):
        wanted = entities[start : start + _BLOCK]
        k = len(wanted)
        np.bitwise_and(wanted, mask, out=index[:k])
        rows_of.take(index[:k].view(np.intp), out=row[:k], mode="clip")
        rows[start : start + k] = row[:k]
    owner = index  # not needed any more
    for start in range(0, count, _BLOCK):  # one table after the other fills the cache
        wanted = entities[start : start + _BLOCK]
        found = rows[start : start + _BLOCK]
        k = len(wanted)
        owners.take(found, out=owner[:k], mode="clip")
        other = owner[:k] != wanted
        if other.any():
            found[other] = NIL
    return rows


def direct_lookup(
    owners: EntityArray, entities: EntityArray, index_mask: int
) -> RowArray:
    """Return the row of each entity, NIL where it has none; O(k)."""
    if len(owners) == 0:
        return np.full(len(entities), NIL, np.intp)
    rows = (entities & np.uint64(index_mask)).view(np.intp)
    found = owners.take(rows, mode="clip") == entities
    found &= entities != 0
    return np.where(found, rows, NIL)


class Bulk:
    """These by numpy; `compiled.bulk` has the same as loops.

    The columns of a manager name the one that is used: `_BULK`.
    """

    sparse_lookup = staticmethod(sparse_lookup)
    direct_lookup = staticmethod(direct_lookup)
    distinct = staticmethod(distinct)
