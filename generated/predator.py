"""Predator: lookup sparse, instances one, destroy gc.

Eats other animals instead of grass. A tag, without columns.

One buffer of 8 bytes per row, column after column:

    column  type  bytes/row  offset (64 rows)  tags
    ------  ----  ---------  ----------------  ----
    entity  u64           8                 0  hot
    8 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import ClassVar, Final

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import (
    NIL,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import Tag
from ecsgen_runtime.managers.row_proxies import EntityProxy
from ecsgen_runtime.tables.buffers import Column, cell_view
from ecsgen_runtime.tables.columns import HotColumns, OwnedRows
from ecsgen_runtime.world.queries.query_columns import QueryColumns

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),)


class Predator(NamedTuple):
    """One row of a PredatorManager, copied out. It has no fields."""


class PredatorFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""


class PredatorColumns(QueryColumns):
    """The columns of Predator in a query's rows: one cell per entity."""

    __slots__ = ()


class PredatorData(OwnedRows, HotColumns):
    """The columns of a PredatorManager: views of the rows in use."""

    __slots__ = ("_entity_cells", "_entity_column")
    MANAGER: ClassVar = "PredatorManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]


class PredatorManager(Tag, Sparse, MappedOne, Gc):
    """Manager of every Predator: lookup sparse, instances one, destroy gc.

    Eats other animals instead of grass. A tag, without columns.
    """

    __slots__ = ("_entities", "_rng", "_sparse", "_sparse_cells")
    PARTS: ClassVar = ManagerParts(
        row=Predator,
        accessors=("packed",),
        create=("packed", "sparse", "one"),
        destroy_row=("packed", "sparse"),
    )
    ROWS: ClassVar = PredatorData
    data: PredatorData

    def row(self, row: int, /) -> Predator:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Predator()

    def __getitem__(self, entity: Entity, /) -> PredatorRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(PredatorRef, entity)

    def rows(self) -> Iterator[PredatorRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(PredatorRef)

    def create(self, entity: Entity, /) -> Instance:
        """Give an entity an instance and return its row; O(1).

        Raises:
            StaleEntityError: the entity is dead.
            DuplicateInstanceError: the entity has an instance already.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        _slot = entity & INDEX_MASK
        try:
            _is_alive = self._entities._cells[_slot] == entity
        except IndexError:
            _is_alive = False
        if not _is_alive:
            self._entities.require(entity)  # raises StaleEntityError
        if self._locks:
            self._raise_if_locked()
        data = self.data
        _map = None
        try:
            _found = self._sparse_cells[_slot]
        except IndexError:
            _found, _map = NIL, grow_map(self._sparse, _slot)
        if _found != NIL and data._entity_cells[_found] == entity:
            raise self._duplicate(entity)
        if data._n == data._allocated:
            data._grow(data._n + 1)
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(*_evicted, entity)
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            data._n = row + 1
            self._sparse_cells[_slot] = row
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return row

    def _append_many(self, entities: EntityArray, columns: Columns) -> RowArray:
        """Add rows of checked columns, for which there is room."""
        data = self.data
        count = len(entities)
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
        slots = self._entities.slots(entities)
        try:
            data._entity_column[span] = entities
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return rows

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        try:
            self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
            src, dst = data._n - 1, row
            if src != dst:
                data._entity_cells[dst] = data._entity_cells[src]
                self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
            data._n = src
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1


class PredatorRef(EntityProxy):
    """A row of a PredatorManager, which follows its entity."""

    __slots__ = ()
