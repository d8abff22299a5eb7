"""References of kernels: the rows that entities and ids lead to, and fields of these rows.

Rows of dead entities that are not collected yet are not found, so that it does not matter when they
are.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..entities.living import LivingEntities
from ..handles import NIL, EntityArray, IdArray, RowArray
from ..policies.maps import Mapped
from ..policies.owned import Owned
from .blocks import put_where, row_cells


class FollowedIds(Protocol):
    """A manager of entities' rows that have ids."""

    @property
    def _entities(self) -> LivingEntities: ...

    @property
    def data(self) -> Any: ...

    def resolve_many(self, ids: ArrayLike, /) -> RowArray: ...


def living_rows(
    manager: Owned, entities: EntityArray, is_clean: bool = False
) -> RowArray:
    """Return the first row that each living entity has, NIL for others; O(k).

    `is_clean`: no rows of dead entities are left.
    """
    rows = manager.lookup_many(entities)
    return rows if is_clean else _of_living(rows, manager._entities, entities)


def living_id_rows(
    manager: FollowedIds, ids: IdArray, is_clean: bool = False
) -> RowArray:
    """Return the row with each id if its owner is alive, NIL for others; O(k)."""
    rows = manager.resolve_many(ids)
    owners = manager.data._entity_column
    if is_clean or len(owners) == 0:
        return rows
    return _of_living(rows, manager._entities, owners.take(rows, mode="clip"))


def rows_of_living(manager: Mapped) -> dict[int, int]:
    """Return the first row that each living entity has; O(n)."""
    rows = manager._first_rows()
    owners = manager.data._entity_column[rows]
    alive = manager._entities._are_held(owners)
    return dict(zip(owners[alive].tolist(), rows[alive].tolist(), strict=True))


def take_others(
    column: NDArray[Any], rows: RowArray, default: Any, out: NDArray[Any]
) -> None:
    """Copy rows of a column into a block, both rows last, and a default where a row is NIL."""
    if column.shape[-1] == 0:
        out[...] = default
        return
    for cells, copy in zip(row_cells(column), row_cells(out), strict=True):
        cells.take(rows, out=copy, mode="clip")
    missing = rows == NIL
    if missing.any():
        put_where(out, missing, default)


def other_cells(column: NDArray[Any], rows: RowArray, default: Any) -> NDArray[Any]:
    """Return rows of a column, rows last, and a default where a row is NIL."""
    if column.shape[-1] == 0:
        return np.full((*column.shape[:-1], len(rows)), default, column.dtype)
    out = column.take(rows, axis=-1, mode="clip")
    out[..., rows == NIL] = default
    return out


def _of_living(
    rows: RowArray, entities: LivingEntities, owners: EntityArray
) -> RowArray:
    """Return rows, NIL where the owner is dead."""
    alive = entities._are_held(owners)
    if not alive.all():
        rows[~alive] = NIL
    return rows
