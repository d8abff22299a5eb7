"""Position: lookup sparse, instances one, destroy gc.

Where an entity is.

One buffer of 20 bytes per row, column after column:

    column  type    bytes/row  offset (64 rows)  tags
    ------  ------  ---------  ----------------  ----
    entity  u64             8                 0  hot
    value   f32[3]         12               512  hot
    20 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from struct import Struct
from typing import Any, ClassVar, Final, Unpack

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
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view, put_cells
from ecsgen_runtime.tables.columns import HotColumns, LeadingRows
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import FloatField
from ecsgen_runtime.values.interchange import TableLike
from ecsgen_runtime.world.groups import GroupMember, GroupMemberRows
from ecsgen_runtime.world.queries.query_columns import QueryColumn, QueryColumns
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("value", np.dtype(np.float32), (3,), 12, ("hot",), 8),
)
_VALUE_FIELD: Final = FloatField("Position.value", "f32", (3,))
_VALUE_STRUCT: Final = Struct("=3f")
_VALUE_DEFAULT: Final = (0.0, 0.0, 0.0)
_FIELDS: Final = component_fields(
    (_VALUE_FIELD, "f32[3]", _VALUE_DEFAULT, ("hot",), "m"),
)


class Position(NamedTuple):
    """One row of a PositionManager, copied out."""

    value: tuple[float, float, float] = _VALUE_DEFAULT
    """The value. [m]"""


class PositionFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    value: ArrayLike


class PositionGroupedData(LeadingRows):
    """The columns of the rows in the group `bodies`: views, assigned to like those of
    `data`."""

    __slots__ = ("_data",)
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    def __init__(self, data: PositionData) -> None:
        self._data = data

    @property
    def n(self) -> int:
        """Rows in the group."""
        return self._data._n_grouped

    @property
    def entity(self) -> EntityArray:
        """The owner of each row in the group, shape (n,); read-only."""
        return self._data.entity[: self._data._n_grouped]

    @property
    def value(self) -> NDArray[np.float32]:
        """The value of each row. [m] Shape (n, 3)."""
        data = self._data
        return data._value_column[: data._n_grouped]

    @value.setter
    def value(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.value, values):
            checked = _VALUE_FIELD.to_column(values, data._n_grouped)
            data._value_column[: data._n_grouped] = checked


class PositionColumns(QueryColumns):
    """The columns of Position in a query's rows: one cell per entity."""

    __slots__ = ()

    value = QueryColumn[np.float32]("value", _VALUE_FIELD, _VALUE_DEFAULT)
    """The value of each row. [m] Shape (n, 3)."""


class PositionData(GroupMemberRows, WorldKernelRows, HotColumns):
    """The columns of a PositionManager: views of the rows in use."""

    __slots__ = (
        "_entity_cells",
        "_entity_column",
        "_n_grouped",
        "_value_cells",
        "_value_column",
        "_value_items",
        "_world_kernels",
    )
    MANAGER: ClassVar = "PositionManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def value(self) -> NDArray[np.float32]:
        """The value of each row. [m] Shape (n, 3)."""
        return self._value_column[: self._n]

    @value.setter
    def value(self, values: ArrayLike) -> None:
        if not is_same_view(self.value, values):
            self._value_column[: self._n] = _VALUE_FIELD.to_column(values, self._n)

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._value_column: NDArray[np.float32] = self._column_view(1)
        self._value_items: NDArray[Any] = self._item_view(1)
        self._value_cells: memoryview[float] = cell_view(self._value_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._value_items[dst] = self._value_items[src]


class PositionManager(GroupMember, Sparse, MappedOne, Gc):
    """Manager of every Position: lookup sparse, instances one, destroy gc.

    Where an entity is.
    """

    __slots__ = ("_entities", "_other_members", "_rng", "_sparse", "_sparse_cells")
    GROUP: ClassVar = "bodies"
    PARTS: ClassVar = ManagerParts(
        row=Position,
        accessors=("grouped",),
        create=("grouped", "sparse", "one"),
        destroy_row=("grouped", "sparse"),
    )
    ROWS: ClassVar = PositionData
    CONVERTERS: ClassVar = _FIELDS.converters
    data: PositionData

    def value(self, row: int, /) -> tuple[float, float, float]:
        """The value. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _VALUE_STRUCT.unpack_from(data._value_cells, 12 * row)

    def set_value(self, row: int, value: ArrayLike, /) -> None:
        """Set `value` of a row: 3 values."""
        _value = _VALUE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 3 * row
        data._value_cells[_at] = _value[0]
        data._value_cells[_at + 1] = _value[1]
        data._value_cells[_at + 2] = _value[2]

    def row(self, row: int, /) -> Position:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Position(_VALUE_STRUCT.unpack_from(data._value_cells, 12 * row))

    def __getitem__(self, entity: Entity, /) -> PositionRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(PositionRef, entity)

    def rows(self) -> Iterator[PositionRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(PositionRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        value: ArrayLike = _VALUE_DEFAULT,
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
            _value_ = _VALUE_DEFAULT
            if value is not _VALUE_DEFAULT:
                _value_ = _VALUE_FIELD.to_cell(value)
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
            data._grow(data._n + 1, (value,))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(*_evicted, entity, value=value)
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            _at = 3 * row
            data._value_cells[_at] = _value_[0]
            data._value_cells[_at + 1] = _value_[1]
            data._value_cells[_at + 2] = _value_[2]
            data._n = row + 1
            self._sparse_cells[_slot] = row
            data._version += 1
            if self._other_members:
                row = self._join_group(row, entity)
        except BaseException:
            self._mark_broken()
            raise
        return row

    def create_many(
        self,
        entities: ArrayLike,
        table: TableLike | None = None,
        /,
        **columns: Unpack[PositionFields],
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
        joining = self._plan_join(entities, rows)
        slots = self._entities.slots(entities)
        try:
            data._entity_column[span] = entities
            put_cells(data._value_column, span, columns["value"])
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            data._version += 1
            if joining is not None:
                rows = self._join_group_many(joining)
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
            if row < data._n_grouped:
                for member in self._other_members:
                    member._leave_group(row)
                last = Instance(data._n_grouped - 1)
                if row != last:
                    self._move(last, row)
                data._n_grouped = row = last  # the hole is behind the group now
            last = Instance(data._n - 1)
            if row != last:
                self._move(last, row)
            data._n = last
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and update what refers to its index."""
        data = self.data
        data._entity_cells[dst] = data._entity_cells[src]
        data._value_items[dst] = data._value_items[src]
        self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst

    def _swap_via_spare(
        self, first: Instance, second: Instance, spare: Instance
    ) -> None:
        """Swap two rows through a third one, which is not in use."""
        self._move(first, spare)
        self._move(second, first)
        self._move(spare, second)


class PositionRef(EntityProxy):
    """A row of a PositionManager, which follows its entity."""

    __slots__ = ()

    value = ArrayField.of(np.float32, PositionManager.set_value)
