"""The sparse map: an array from entity index to row."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..entities.handles import NIL, EntityArray, RowArray

BLOCK: Final = 16_384
"""Entities per step of a bulk lookup: the scratch stays in the second-level cache."""


def sparse_map(size: int) -> NDArray[np.uint32]:
    """Return an empty map for entity indices below `size`."""
    return np.full(size, NIL, np.uint32)


def grown_map(old: NDArray[np.uint32], index: int) -> NDArray[np.uint32]:
    """Return a map that holds `index`, at least twice as large as the old one."""
    new = sparse_map(max(64, 2 * len(old), index + 1))
    new[: len(old)] = old
    return new


def indices(entities: EntityArray, index_mask: int) -> RowArray:
    """Return the entities' indices, ready to index an array with."""
    return (entities & np.uint64(index_mask)).view(np.intp)


def predecessors(
    rows_of: NDArray[np.uint32],
    indices: RowArray,
    owners: EntityArray,
    entities: EntityArray,
) -> EntityArray:
    """Return the owners, ascending, that have the index of one of the entities but are none.

    They died, for the entities are alive. `owners` are the rows in use.
    """
    if len(owners) == 0:
        return owners
    heads = rows_of[indices]
    used = np.flatnonzero(heads != NIL)
    found = owners[heads[used]]
    return np.unique(found[found != entities[used]])


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
    size = min(count, BLOCK)
    index = np.empty(size, np.uint64)
    row = np.empty(size, np.uint32)
    owner = np.empty(size, np.uint64)
    other = np.empty(size, np.bool_)
    mask = np.uint64(index_mask)
    for start in range(0, count, BLOCK):
        wanted = entities[start : start + BLOCK]
        found = rows[start : start + BLOCK]
        k = len(wanted)
        np.bitwise_and(wanted, mask, out=index[:k])
        rows_of.take(index[:k].view(np.intp), out=row[:k], mode="clip")
        found[:] = row[:k]
        owners.take(found, out=owner[:k], mode="clip")
        np.not_equal(owner[:k], wanted, out=other[:k])
        np.putmask(found, other[:k], NIL)
    return rows
