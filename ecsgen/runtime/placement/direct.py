"""Direct lookup: an entity's index is its row, and a row without an owner is a hole."""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..entities.handles import NIL, EntityArray, RowArray
from ..errors import StaleInstanceError
from .rows import Rows, row_in_use, rows_in_use

SCAN: Final = 4096
"""Rows looked at per step when the last owner is searched from behind."""


class OwnedRows(Rows, Protocol):
    """Rows with owners."""

    _entity_column: EntityArray


def present_row(row: object, data: OwnedRows, manager: str) -> int:
    """Return `row` as an int, or raise StaleInstanceError if it is not in use or a hole."""
    number = row_in_use(row, data, manager)
    if data._entity_column[number] == 0:
        raise StaleInstanceError(
            f"{manager}: row {number} is not in use: its entity has no instance"
        )
    return number


def present_rows(rows: ArrayLike, data: OwnedRows, manager: str) -> RowArray:
    """Return `rows` (numbers, or a bool mask) as row numbers that are all in use; O(k)."""
    given = rows_in_use(rows, data, manager)
    holes = data._entity_column[given] == 0
    if holes.any():
        present_row(int(given[holes.argmax()]), data, manager)
    return given


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


def rows_spanned(entities: EntityArray, index_mask: int) -> int:
    """Return one more than the highest index of the entities, 0 without any; O(k)."""
    if len(entities) == 0:
        return 0
    return int((entities & np.uint64(index_mask)).max()) + 1


def last_owner(owners: EntityArray, n: int) -> int:
    """Return one more than the highest row below n that has an owner; steps back from n."""
    while n > 0:
        start = max(0, n - SCAN)
        used = np.flatnonzero(owners[start:n])
        if len(used):
            return start + int(used[-1]) + 1
        n = start
    return 0
