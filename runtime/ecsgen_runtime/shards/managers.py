"""Managers whose rows may belong to visitors: how lookups and kernels find them."""

from __future__ import annotations

from operator import index
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..bulk import small_batch
from ..given_arrays import as_entities
from ..handles import (
    INDEX_MASK,
    NIL,
    NULL_ENTITY,
    Entity,
    EntityArray,
    IdArray,
    Instance,
    RowArray,
)
from ..per_class import NO_SLOTS, per_class
from ..policies.direct import Direct
from ..policies.maps import Hash, Sparse
from ..policies.owners import Owned
from ..queries.query_rows import QueryMember, QuerySparseMember
from .sharded_entities import ShardedEntities

# --- Managers whose rows may belong to visitors: how each lookup finds them -----------


# --- Managers whose rows may belong to visitors ---------------------------------------


class Visited(Owned):
    """A manager of entities some of which may have been made elsewhere."""

    __slots__ = NO_SLOTS
    _MAY_BE_IN_C: ClassVar[bool] = False
    _entities: ShardedEntities


# --- Members of a query, where rows are found by slots --------------------------------


class ShardedSparseMember(QuerySparseMember):
    """A component whose manager finds rows through a sparse array."""

    __slots__ = ()

    def _look_up(self, entities: EntityArray, all_live: bool) -> NDArray[Any]:
        visitors: int = self.manager._entities._visitors.count  # type: ignore[attr-defined]
        return super()._look_up(entities, all_live and not visitors)


# --- lookup: sparse, where a visitor's slot stands for the index in its handle --------


class ShardedSparse(Visited, Sparse):
    """A manager that finds rows in an array by slot.

    A lookup tries the index first, which is the slot of all that were made here.
    """

    __slots__ = NO_SLOTS
    _MEMBER: ClassVar[type[QueryMember]] = ShardedSparseMember

    @per_class
    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; with several instances the first one's. O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        try:
            row = self._sparse_cells[entity & INDEX_MASK]
            if row != NIL and self.data._entity_cells[row] == entity:
                return row
        except IndexError:
            pass
        return self._visitor_row(entity) if self._entities._visitors.count else NIL

    def _visitor_row(self, entity: int) -> Instance:
        """Return the row of a visitor, or NIL; O(1)."""
        slot = self._entities._visitors.get(entity)
        if not 0 <= slot < len(self._sparse_cells):
            return NIL
        row = self._sparse_cells[slot]
        if row == NIL or self.data._entity_cells[row] != entity:
            return NIL
        return row

    @per_class
    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            self._refuse_locked()
        row = self.lookup(entity)
        return 0 if row == NIL else self._destroy_row(row)

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        asked = self._entities._known
        if asked is not None and asked.es is entities:
            owners = self.data._entity_column[: self.data._n]
            rows = None if self._IS_LIST else asked.rows_among(owners)
            if rows is None:
                bulk = self._entities._BULK
                rows = bulk.rows_in(self._sparse, owners, asked.es, asked.slots)
            return rows
        visitors = self._entities._visitors
        if not visitors.count or small_batch(entities) is not None:
            return super().lookup_many(entities)
        given = as_entities(entities)
        owners = self.data._entity_column[: self.data._n]
        mask = self._entities._LAYOUT.INDEX_MASK
        return self._entities._BULK.visited_rows(
            self._sparse, owners, visitors.table, given, mask
        )

    def _all_new(self, entities: list[int]) -> bool:
        rows = self._sparse_cells
        for slot in map(self._entities._slot, entities):
            if slot < len(rows) and rows[slot] != NIL:
                return False
        return True

    def _are_new(self, entities: EntityArray) -> bool:
        known = self._entities._known
        if known is not None and known.are_new and known.es is entities:
            return True
        return super()._are_new(entities)

    def _enter(self, entity: Entity, row: Instance) -> None:
        self._sparse_cells[self._entities._slot(entity)] = row

    def _first_of(self, entity: Entity) -> Instance:
        return self._sparse_cells[self._entities._slot(entity)]

    def _forget(self, entity: Entity) -> None:
        self._sparse_cells[self._entities._slot(entity)] = NIL

    def _forget_rows(self, gone: RowArray) -> None:
        owners = self.data._entity_column
        self._sparse[self._entities._slots_of(owners, gone)] = NIL


# --- lookup: hash: the whole handle is the key, so visitors are found as others are ---


class ShardedHash(Visited, Hash):
    """A manager that finds rows in a dict by handle; those of the dead are in nobody's way."""

    __slots__ = NO_SLOTS


# --- lookup: direct, where the row is the entity's slot: for visitors one of their
# own.


class ShardedDirect(Direct):
    """A manager whose rows are entities' slots."""

    __slots__ = NO_SLOTS
    _MAY_BE_IN_C: ClassVar[bool] = False
    _entities: ShardedEntities

    @per_class
    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        data = self.data
        row: Instance = entity & INDEX_MASK  # type: ignore[assignment]  # a call takes time
        if row < data._n and data._entity_cells[row] == entity and entity:
            return row
        return self._visitor_row(entity) if self._entities._visitors.count else NIL

    def _visitor_row(self, entity: int) -> Instance:
        """Return the row of a visitor, or NIL; O(1)."""
        slot, data = self._entities._visitors.get(entity), self.data
        is_there = 0 <= slot < data._n and data._entity_cells[slot] == entity
        return Instance(slot) if is_there else NIL

    @per_class
    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            self._refuse_locked()
        row = self.lookup(entity)
        return 0 if row == NIL else self._destroy_row(row)

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        rows = super().lookup_many(entities)
        visitors, data = self._entities._visitors, self.data
        if not visitors.count or data._n == 0:
            return rows
        # also what was clipped to the last row, whose owner was made elsewhere behind it
        missed = (rows >= data._n).nonzero()[0]
        if len(missed):
            given = as_entities(entities)[missed]
            slots = visitors.find(given)
            is_there = (slots >= 0) & (slots < data._n)
            is_there &= data._entity_column.take(slots, mode="clip") == given
            rows[missed[is_there]] = slots[is_there]
        return rows

    def _all_new(self, entities: list[int]) -> bool:
        data = self.data
        for row in map(self._entities._slot, entities):
            if row < data._n and data._entity_cells[row] != NULL_ENTITY:
                return False
        return True


# --- What loops look up where some entities and ids come from elsewhere: tables of all
# that are here.
#
# No index tells where a visitor is, so the rows of all are listed once for each call;
# O(n).


def living_keys(manager: Any) -> tuple[EntityArray, RowArray]:
    """Return the living entities that have rows, and the first row of each."""
    rows = manager._first_rows() if manager._IS_LIST else manager.data._used_rows()
    owners = manager.data._entity_column[rows]
    alive = manager._entities._are_alive(owners)
    return owners[alive], rows[alive]


def id_keys(manager: Any) -> tuple[IdArray, RowArray]:
    """Return the ids of rows, of living entities if rows belong to some, and the rows."""
    rows = manager.data._used_rows()
    if hasattr(manager, "lookup"):
        rows = rows[manager._entities._are_alive(manager.data._entity_column[rows])]
    return manager._ids_in(rows), rows


def alive_keys(entities: ShardedEntities) -> tuple[EntityArray, RowArray]:
    """Return all living entities, with numbers."""
    alive = entities.live()
    return alive, np.arange(len(alive))


def as_dict(found: tuple[EntityArray, RowArray]) -> dict[int, int]:
    """Return rows by what leads to them, for loops that Python runs."""
    keys, rows = found
    return dict(zip(keys.tolist(), rows.tolist(), strict=True))
