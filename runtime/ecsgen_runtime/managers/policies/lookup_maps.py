"""Maps from entities to rows: lookup: sparse and lookup: hash."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping
from itertools import repeat
from operator import index
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.handles import INDEX_MASK, NIL, Columns, Entity, EntityArray, Instance, RowArray
from ...base.specialisation import NO_SLOTS, accelerated, specialised
from ...tables.buffers import cell_view, round_up_rows
from ...tables.columns import owner_column, used_rows
from ...tables.placement import NO_ROWS, is_integer
from ...values.array_coercion import as_entities, as_small_int_list
from ..query_members import QueryMember, QuerySparseMember
from .owners import Owned
from .packed import Packed


class Mapped(Packed, Owned):
    """A manager that finds the rows of entities by a map."""

    __slots__ = NO_SLOTS

    @accelerated("entity")
    def entity(self, row: int, /) -> Entity:
        """Return the owner of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._entity_cells[row]

    def first_rows(self) -> RowArray:
        """Return the first row of each owner, ascending."""
        return used_rows(self.data)

    def _enter_firsts(self) -> None:
        """Map every owner to its first row; O(n). The map is empty before."""
        rows = self.first_rows()
        self._map_rows(owner_column(self.data)[rows], rows)

    @specialised
    def _unmap_rows(self, removed: RowArray) -> None:
        """Take the owners of rows out of the map."""
        self._unmap_many(owner_column(self.data)[removed])

    @specialised
    def _map_moved_rows(self, dst: RowArray) -> None:
        """Map the owners of moved rows to where these are now."""
        self._map_rows(owner_column(self.data)[dst], dst)

    @abstractmethod
    def _map_row(self, entity: Entity, row: Instance) -> None:
        """Map an entity to its first row."""

    @abstractmethod
    def _map_rows(self, entities: EntityArray, rows: RowArray) -> None:
        """Map k entities to their first rows."""

    @abstractmethod
    def _first_of(self, entity: Entity) -> Instance:
        """Return the first row of an entity that is in the map."""

    @abstractmethod
    def _firsts_of(self, entities: EntityArray) -> RowArray:
        """Return the first rows of k entities that are in the map."""

    @abstractmethod
    def _unmap(self, entity: Entity) -> None:
        """Take an entity out of the map."""

    @abstractmethod
    def _unmap_many(self, entities: EntityArray) -> None:
        """Take k entities out of the map."""


class Sparse(Mapped):
    """A manager that finds rows in an array by entity index.

    Rows of dead entities stay until a new entity of the index needs the cell.
    """

    __slots__ = NO_SLOTS
    MEMBER: ClassVar[type[QueryMember]] = QuerySparseMember
    _EVICTS_STALE_ROWS: ClassVar[bool] = True
    _sparse: NDArray[np.uint32]
    _sparse_cells: memoryview[Instance]

    @accelerated("lookup")
    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; with several instances the first one's. O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        try:
            row = self._sparse_cells[entity & INDEX_MASK]
        except IndexError:
            return NIL
        if row == NIL or self.data._entity_cells[row] != entity:
            return NIL
        return row

    @accelerated("remove")
    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            self._raise_if_locked()
        if type(entity) is not int:
            entity = Entity(index(entity))
        rows, slot = self._sparse_cells, entity & INDEX_MASK
        if slot >= len(rows):  # an exception would cost ten times as much
            return 0
        row = rows[slot]
        if row == NIL or self.data._entity_cells[row] != entity:
            return 0
        return self._destroy_row(row)

    @accelerated("lookup_many")
    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        few = as_small_int_list(entities)
        if few is not None:
            lookup = self.lookup
            return np.array([lookup(entity) for entity in few], np.intp)  # type: ignore[arg-type]  # a call takes time
        handles = as_entities(entities)
        data = self.data
        owners = owner_column(data)[: data.n]
        mask = self._entities.HANDLE_LAYOUT.INDEX_MASK
        return data.BULK.sparse_lookup(self._sparse, owners, handles, mask)

    def extra_arrays(self) -> dict[str, NDArray[Any]]:
        return {**super().extra_arrays(), "_map": self._sparse[: self._span()]}

    def _restore(self, extras: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(extras)
        saved = extras.get("_map")
        if saved is not None and len(saved):
            self._set_map(saved)
        else:
            self._set_map(sparse_map(round_up_rows(max(self._span(), 1))))
            self._enter_firsts()

    def _init_empty(self) -> None:
        super()._init_empty()
        self._set_map(sparse_map(64))

    def _set_map(self, sparse: NDArray[np.uint32]) -> None:
        # at once, for one alone is another map: in C, since behind `__setattr__` of managers, which
        # is in Python, an interrupt may come
        both = {"_sparse": sparse, "_sparse_cells": cell_view(sparse)}
        deque(map(object.__setattr__, repeat(self), both, both.values()), 0)

    def _nbytes(self) -> int:
        return super()._nbytes() + self._sparse.nbytes

    def _shrink(self) -> None:
        super()._shrink()
        size = round_up_rows(max(self._span(), 1))
        if size < len(self._sparse):
            self._set_map(self._sparse[:size].copy())

    def _span(self) -> int:
        """Return how many cells of the map there are up to the last entry; O(n)."""
        data = self.data
        return self._entities.span(owner_column(data)[: data.n])

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        super()._ensure_capacity(entities, columns, borrowed)
        if len(self._sparse) < self._entities.n_cells:
            highest = self._entities.span(entities) - 1
            if highest >= len(self._sparse):
                self._set_map(grow_map(self._sparse, highest))

    @specialised
    def _evict_stale(self, row: Instance) -> None:
        """Remove the rows of a dead entity, of which this is the first."""
        self.destroy_rows(self._rows_with(row))

    def _have_no_rows(self, entities: list[int]) -> bool:
        rows, end = self._sparse_cells, len(self._sparse_cells)
        for slot in map(self._entities.slot_finder(), entities):
            if slot < end and rows[slot] != NIL:
                return False
        return True

    def _surely_have_no_rows(self, entities: EntityArray) -> bool:
        if self.data.n == 0:
            return True
        # an index behind the map is clipped to the last one, which proves nothing
        heads = self._sparse.take(self._entities.slots(entities), mode="clip")
        return bool((heads == NIL).all())

    def _rows_to_evict(self, entities: EntityArray) -> RowArray:
        removed = NO_ROWS
        if not self._surely_have_no_rows(entities):
            dead = self._predecessors(entities)
            removed = self.rows_of_many(dead) if len(dead) else NO_ROWS
        return self._add_overflow_rows(len(entities), removed)

    def _predecessors(self, entities: EntityArray) -> EntityArray:
        """Return the dead entities, ascending, with rows that had the slot of one of these."""
        owners = owner_column(self.data)[: self.data.n]
        if len(owners) == 0:
            return owners
        slots = self._entities.slots(entities)  # slots may lie behind the map
        heads = self._sparse.take(slots, mode="clip")
        used = ((heads != NIL) & (slots < len(self._sparse))).nonzero()[0]
        owning = owners[heads[used]]
        return np.unique(owning[owning != entities[used]])

    @specialised
    def _map_row(self, entity: Entity, row: Instance) -> None:
        self._sparse_cells[entity & INDEX_MASK] = row

    def _map_rows(self, entities: EntityArray, rows: RowArray) -> None:
        self._sparse[self._entities.slots(entities)] = rows

    @specialised
    def _first_of(self, entity: Entity) -> Instance:
        return self._sparse_cells[entity & INDEX_MASK]

    def _firsts_of(self, entities: EntityArray) -> RowArray:
        return self._sparse[self._entities.slots(entities)].astype(np.intp)

    @specialised
    def _unmap(self, entity: Entity) -> None:
        self._sparse_cells[entity & INDEX_MASK] = NIL

    def _unmap_many(self, entities: EntityArray) -> None:
        self._sparse[self._entities.slots(entities)] = NIL


def map_of(manager: Sparse) -> NDArray[np.uint32]:
    """Return the first row of each slot, NIL for none; O(1)."""
    return manager._sparse


def sparse_map(size: int) -> NDArray[np.uint32]:
    """Return an empty map for entity indices below `size`."""
    rows = np.empty(size, np.uint32)
    rows.fill(NIL)  # in half the time of `np.full`
    return rows


def grow_map(old: NDArray[np.uint32], index: int) -> NDArray[np.uint32]:
    """Return a map that holds `index`, at least twice as large as the old one."""
    new = sparse_map(max(64, 2 * len(old), index + 1))
    new[: len(old)] = old
    return new


class Hash(Mapped):
    """A manager that finds rows in a dict by whole handle, for rare components (Bitsquid's
    choice); rows of dead entities block no new ones."""

    __slots__ = NO_SLOTS
    _rows: dict[int, Instance]

    @accelerated("has")
    def __contains__(self, entity: object) -> bool:
        """Return whether an entity has an instance; O(1)."""
        return is_integer(entity) and index(entity) in self._rows

    @accelerated("lookup")
    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; with several instances the first one's. O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        return self._rows.get(entity, NIL)

    @accelerated("remove")
    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            self._raise_if_locked()
        if type(entity) is not int:
            entity = Entity(index(entity))
        row = self._rows.get(entity, NIL)
        return 0 if row == NIL else self._destroy_row(row)

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        return self._firsts_of(as_entities(entities))

    def _restore(self, extras: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(extras)
        self._rows = {}
        self._enter_firsts()

    def _init_empty(self) -> None:
        super()._init_empty()
        self._rows = {}

    def _nbytes(self) -> int:
        entry_size = sys.getsizeof(1 << 32) + sys.getsizeof(1 << 16)  # a key and a row
        return super()._nbytes() + sys.getsizeof(self._rows) + len(self._rows) * entry_size

    def _shrink(self) -> None:
        super()._shrink()
        self._rows = dict(self._rows)

    def _have_no_rows(self, entities: list[int]) -> bool:
        return self._rows.keys().isdisjoint(entities)

    def _map_row(self, entity: Entity, row: Instance) -> None:
        self._rows[entity] = row

    def _map_rows(self, entities: EntityArray, rows: RowArray) -> None:
        remember(self._rows, entities, rows)

    @specialised
    def _first_of(self, entity: Entity) -> Instance:
        return self._rows[entity]

    def _firsts_of(self, entities: EntityArray) -> RowArray:
        # 0.1 µs and more per entity
        rows = map(self._rows.get, entities.tolist(), repeat(NIL))
        return np.fromiter(rows, np.intp, len(entities))

    @specialised
    def _unmap(self, entity: Entity) -> None:
        del self._rows[entity]

    def _unmap_many(self, entities: EntityArray) -> None:
        for entity in entities.tolist():
            del self._rows[entity]


def remember(rows: dict[int, Instance], entities: EntityArray, first_rows: RowArray) -> None:
    """Map each entity to its row."""
    rows.update(zip(entities.tolist(), first_rows.tolist(), strict=True))
