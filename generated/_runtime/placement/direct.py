"""lookup: direct: the entity's index is the row. Nothing ever moves; the buffer may have holes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import index
from typing import ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..columns.rows import OwnedRows
from ..entities.arrays import as_entities
from ..entities.layout import INDEX_MASK
from ..errors import StaleInstanceError
from ..handles import (
    NIL,
    NULL_ENTITY,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ..maps.sparse import indices, rows_spanned
from ..owners.owned import Owned
from ..state import NO_SLOTS
from .moves import NO_ROWS
from .rows import first_present, first_repeated, row_in_use, rows_in_use

SCAN: Final = 4096
"""Rows looked at per step when the last owner is searched from behind."""


class DirectRows(OwnedRows):
    """Rows with holes; `n` is the highest row in use + 1."""

    __slots__ = NO_SLOTS

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows are in use, shape (n,): a mask for columns with holes."""
        return self._entity_column[: self._n].astype(np.bool_)

    def _used_rows(self) -> RowArray:
        return np.flatnonzero(self._entity_column[: self._n])


class Direct(Owned):
    """A manager whose rows are entities' indices."""

    __slots__ = NO_SLOTS
    _NUMBERS: ClassVar[tuple[str, ...]] = ("_count",)
    data: DirectRows
    _count: int

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self._count

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over the owners, in order of their indices."""
        owners = self.data.entity
        return iter(owners[owners != NULL_ENTITY].tolist())

    def entity(self, row: Instance, /) -> Entity:
        """Return the owner of a row; O(1)."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._row(row)
        return data._entity_cells[row]

    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        data = self.data
        row: Instance = entity & INDEX_MASK  # type: ignore[assignment]  # a call takes time
        if row < data._n and data._entity_cells[row] == entity and entity:
            return row
        return NIL

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        given = as_entities(entities)
        data = self.data
        return direct_lookup(data._entity_column[: data._n], given, INDEX_MASK)

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). Nothing moves.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise self._locked()
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._row(row)
        self._destroy_row(row)

    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            raise self._locked()
        row = self.lookup(entity)
        if row == NIL:
            return 0
        return self._destroy_row(row)

    def _start(self) -> None:
        super()._start()
        self._count = 0

    def _row(self, row: object) -> Instance:
        return Instance(present_row(row, self.data, type(self).__name__))

    def _rows_given(self, rows: ArrayLike) -> RowArray:
        return present_rows(rows, self.data, type(self).__name__)

    def _rows_with(self, row: Instance) -> RowArray:
        return np.array([row])

    def _rows_of_many(self, entities: EntityArray) -> RowArray:
        rows = self.lookup_many(entities)
        return np.unique(rows[rows != NIL])

    def _stays(self) -> Callable[[Entity], bool]:
        alive = self._entities.alive
        return lambda owner: owner == NULL_ENTITY or alive(owner)

    def _dead_rows(self, owners: EntityArray) -> RowArray:
        alive = self._entities.alive_many(owners)
        return np.flatnonzero(~alive & (owners != NULL_ENTITY))

    def _admit_many(self, entities: EntityArray) -> None:
        name = type(self).__name__
        first_repeated(name, entities)
        first_present(name, entities, self.lookup_many(entities))

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        data = self.data
        needed = rows_spanned(entities, INDEX_MASK)
        if needed > data._allocated:
            data._grow(needed, borrowed)

    def _evict_many(self, entities: EntityArray) -> int:
        data = self.data
        rows = indices(entities, INDEX_MASK)
        inside = rows < data._n
        rows, heirs = rows[inside], entities[inside]
        owners = data._entity_column[rows]
        dead = rows[(owners != NULL_ENTITY) & (owners != heirs)]
        return self._destroy_rows(np.sort(dead))


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


def last_owner(owners: EntityArray, n: int, gone: RowArray = NO_ROWS) -> int:
    """Return one more than the highest row below n with an owner, the ascending `gone` aside.

    Steps back from n.
    """
    if len(gone) and gone[-1] < n - 1:
        return n
    while n > 0:
        start = max(0, n - SCAN)
        used = owners[start:n] != 0
        used[gone[np.searchsorted(gone, start) :] - start] = False
        places = np.flatnonzero(used)
        if len(places):
            return start + int(places[-1]) + 1
        n = start
        gone = gone[: np.searchsorted(gone, start)]
    return 0
