"""Energy: lookup sparse, instances one, destroy gc.

What keeps an animal alive. At nothing it starves, with enough it has young.

One buffer of 12 bytes per row, column after column:

    column  type  bytes/row  offset (64 rows)  tags
    ------  ----  ---------  ----------------  ----
    entity  u64           8                 0  hot
    stored  f32           4               512  hot
    12 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import ClassVar, Final, Unpack

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
from ecsgen_runtime.kernels.blocks import WorldKernelRows
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import EntityProxy, RowField
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view
from ecsgen_runtime.tables.columns import HotColumns, OwnedRows
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import FloatField
from ecsgen_runtime.values.interchange import TableLike
from ecsgen_runtime.world.queries.query_columns import QueryColumn, QueryColumns
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("stored", np.dtype(np.float32), (), 4, ("hot",), 8),
)
_STORED_FIELD: Final = FloatField("Energy.stored", "f32")
_STORED_DEFAULT: Final = 1.0
_FIELDS: Final = component_fields(
    (
        _STORED_FIELD,
        "f32",
        _STORED_DEFAULT,
        ("hot",),
        "",
        "Used up by living and moving.",
    ),
)


class Energy(NamedTuple):
    """One row of a EnergyManager, copied out."""

    stored: float = _STORED_DEFAULT
    """Used up by living and moving."""


class EnergyFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    stored: ArrayLike


class EnergyColumns(QueryColumns):
    """The columns of Energy in a query's rows: one cell per entity."""

    __slots__ = ()

    stored = QueryColumn[np.float32]("stored", _STORED_FIELD, _STORED_DEFAULT)
    """Used up by living and moving. Shape (n,)."""


class EnergyData(OwnedRows, WorldKernelRows, HotColumns):
    """The columns of a EnergyManager: views of the rows in use."""

    __slots__ = (
        "_entity_cells",
        "_entity_column",
        "_stored_cells",
        "_stored_column",
        "_world_kernels",
    )
    MANAGER: ClassVar = "EnergyManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def stored(self) -> NDArray[np.float32]:
        """Used up by living and moving. Shape (n,)."""
        return self._stored_column[: self._n]

    @stored.setter
    def stored(self, values: ArrayLike) -> None:
        if not is_same_view(self.stored, values):
            self._stored_column[: self._n] = _STORED_FIELD.to_column(values, self._n)

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._stored_column: NDArray[np.float32] = self._column_view(1)
        self._stored_cells: memoryview[float] = cell_view(self._stored_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._stored_column[dst] = self._stored_column[src]


class EnergyManager(Sparse, MappedOne, Gc):
    """Manager of every Energy: lookup sparse, instances one, destroy gc.

    What keeps an animal alive. At nothing it starves, with enough it has young.
    """

    __slots__ = ("_entities", "_rng", "_sparse", "_sparse_cells")
    PARTS: ClassVar = ManagerParts(
        row=Energy,
        accessors=("packed",),
        create=("packed", "sparse", "one"),
        destroy_row=("packed", "sparse"),
    )
    ROWS: ClassVar = EnergyData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("stored",)
    data: EnergyData

    def stored(self, row: int, /) -> float:
        """Used up by living and moving."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._stored_cells[row]

    def set_stored(self, row: int, value: float, /) -> None:
        """Set `stored` of a row."""
        _value = _STORED_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._stored_cells[row] = _value

    def row(self, row: int, /) -> Energy:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Energy(data._stored_cells[row])

    def __getitem__(self, entity: Entity, /) -> EnergyRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(EnergyRef, entity)

    def rows(self) -> Iterator[EnergyRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(EnergyRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        stored: float = _STORED_DEFAULT,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1).

        Raises:
            StaleEntityError: the entity is dead.
            DuplicateInstanceError: the entity has an instance already.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _stored_ = _STORED_DEFAULT
            if stored is not _STORED_DEFAULT:
                _stored_ = _STORED_FIELD.to_cell(stored)
        except Exception:
            self._entities.require(entity)  # a dead entity is the first error
            raise
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
            return self._evict_and_create(*_evicted, entity, stored=stored)
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            data._stored_cells[row] = _stored_
            data._n = row + 1
            self._sparse_cells[_slot] = row
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return row

    def create_many(
        self,
        entities: ArrayLike,
        table: TableLike | None = None,
        /,
        **columns: Unpack[EnergyFields],
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. A table, of Arrow or a
        mapping, has columns as well: keywords win, `entity` is ignored. The errors are
        those of `create`; whatever raises changes nothing.
        """
        return self._create_many(entities, columns, table)

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
            data._stored_column[span] = columns["stored"]
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return rows

    ensure = make_ensure(create)

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        try:
            self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
            src, dst = data._n - 1, row
            if src != dst:
                data._entity_cells[dst] = data._entity_cells[src]
                data._stored_cells[dst] = data._stored_cells[src]
                self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
            data._n = src
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1


class EnergyRef(EntityProxy):
    """A row of a EnergyManager, which follows its entity."""

    __slots__ = ()

    stored = RowField.cell(
        EnergyManager.stored, EnergyManager.set_stored, _STORED_FIELD
    )
