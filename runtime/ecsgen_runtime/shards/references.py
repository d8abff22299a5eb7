"""References of kernels where some of those that they lead to are visitors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..handles import NIL, EntityArray, IdArray, RowArray
from .entities import ShardedEntities

# --- References of kernels, where some of those that they lead to are visitors --------


def living_rows_here(
    manager: Any, entities: EntityArray, is_clean: bool = False
) -> RowArray:
    """Return the first row that each living entity has, NIL for others; O(k).

    `is_clean`: no rows of dead entities are left.
    """
    rows: RowArray = manager.lookup_many(entities)
    if not is_clean:
        rows[~manager._entities._are_here(entities)] = NIL
    return rows


def living_id_rows_here(manager: Any, ids: IdArray, is_clean: bool = False) -> RowArray:
    """Return the row with each id if its owner is alive, NIL for others; O(k)."""
    rows: RowArray = manager.resolve_many(ids)
    owners = manager.data._entity_column
    if len(owners) and not is_clean:
        rows[~manager._entities._are_here(owners.take(rows, mode="clip"))] = NIL
    return rows


# --- What loops look up where some entities and ids come from elsewhere: tables of all
# that are here.
#
# No index tells where a visitor is, so the rows of all are listed once for each call;
# O(n).


def living_keys(manager: Any) -> tuple[EntityArray, RowArray]:
    """Return the living entities that have rows, and the first row of each."""
    rows = manager._first_rows() if manager._IS_LIST else manager.data._used_rows()
    owners = manager.data._entity_column[rows]
    alive = manager._entities._are_here(owners)
    return owners[alive], rows[alive]


def id_keys(manager: Any) -> tuple[IdArray, RowArray]:
    """Return the ids of rows, of living entities if rows belong to some, and the rows."""
    rows = manager.data._used_rows()
    if hasattr(manager, "lookup"):
        rows = rows[manager._entities._are_here(manager.data._entity_column[rows])]
    return manager._ids_in(rows), rows


def alive_keys(entities: ShardedEntities) -> tuple[EntityArray, RowArray]:
    """Return all living entities, with numbers."""
    alive = entities.live()
    return alive, np.arange(len(alive))


def as_dict(found: tuple[EntityArray, RowArray]) -> dict[int, int]:
    """Return rows by what leads to them, for loops that Python runs."""
    keys, rows = found
    return dict(zip(keys.tolist(), rows.tolist(), strict=True))
