"""References of kernels, where some of those that they lead to are visitors."""

from __future__ import annotations

from typing import Any

from ..handles import NIL, EntityArray, IdArray, RowArray


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
