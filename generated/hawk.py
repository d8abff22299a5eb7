"""Hawk: lookup sparse, instances one, destroy gc.

What makes a boid hunt others of them.

One buffer of 24 bytes per row, column after column:

    column  type    bytes/row  offset (64 rows)  tags
    ------  ------  ---------  ----------------  ----
    entity  u64             8                 0  hot
    hunger  f32             4               512  hot
    prey    entity          8               768  hot
    rivals  i32             4              1280  hot
    24 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import ClassVar, Final, Unpack

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import (
    NIL,
    NULL_ENTITY,
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
from ecsgen_runtime.values.field_types import FloatField, HandleField, IntField
from ecsgen_runtime.values.interchange import TableLike
from ecsgen_runtime.world.queries.query_columns import QueryColumn, QueryColumns
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("hunger", np.dtype(np.float32), (), 4, ("hot",), 8),
    Column("prey", np.dtype(np.uint64), (), 8, ("hot",), 12),
    Column("rivals", np.dtype(np.int32), (), 4, ("hot",), 20),
)
_HUNGER_FIELD: Final = FloatField("Hawk.hunger", "f32")
_PREY_FIELD: Final = HandleField("Hawk.prey", "entity")
_RIVALS_FIELD: Final = IntField("Hawk.rivals", "i32")
_HUNGER_DEFAULT: Final = 1.0
_PREY_DEFAULT: Final = NULL_ENTITY
_RIVALS_DEFAULT: Final = 0
_FIELDS: Final = component_fields(
    (
        _HUNGER_FIELD,
        "f32",
        _HUNGER_DEFAULT,
        ("hot",),
        "",
        "What catching nothing adds to, and catching takes from.",
    ),
    (_PREY_FIELD, "entity", _PREY_DEFAULT, ("hot",), "", "Whom it is after."),
    (
        _RIVALS_FIELD,
        "i32",
        _RIVALS_DEFAULT,
        ("hot",),
        "",
        "How many other hawks are near.",
    ),
)


class Hawk(NamedTuple):
    """One row of a HawkManager, copied out."""

    hunger: float = _HUNGER_DEFAULT
    """What catching nothing adds to, and catching takes from."""

    prey: Entity = _PREY_DEFAULT
    """Whom it is after."""

    rivals: int = _RIVALS_DEFAULT
    """How many other hawks are near."""


class HawkFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    hunger: ArrayLike
    prey: ArrayLike
    rivals: ArrayLike


class HawkColumns(QueryColumns):
    """The columns of Hawk in a query's rows: one cell per entity."""

    __slots__ = ()

    hunger = QueryColumn[np.float32]("hunger", _HUNGER_FIELD, _HUNGER_DEFAULT)
    """What catching nothing adds to, and catching takes from. Shape (n,)."""

    prey = QueryColumn[np.uint64]("prey", _PREY_FIELD, _PREY_DEFAULT)
    """Whom it is after. Shape (n,)."""

    rivals = QueryColumn[np.int32]("rivals", _RIVALS_FIELD, _RIVALS_DEFAULT)
    """How many other hawks are near. Shape (n,)."""


class HawkData(OwnedRows, WorldKernelRows, HotColumns):
    """The columns of a HawkManager: views of the rows in use."""

    __slots__ = (
        "_entity_cells",
        "_entity_column",
        "_hunger_cells",
        "_hunger_column",
        "_prey_cells",
        "_prey_column",
        "_rivals_cells",
        "_rivals_column",
        "_world_kernels",
    )
    MANAGER: ClassVar = "HawkManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def hunger(self) -> NDArray[np.float32]:
        """What catching nothing adds to, and catching takes from. Shape (n,)."""
        return self._hunger_column[: self._n]

    @hunger.setter
    def hunger(self, values: ArrayLike) -> None:
        if not is_same_view(self.hunger, values):
            self._hunger_column[: self._n] = _HUNGER_FIELD.to_column(values, self._n)

    @property
    def prey(self) -> NDArray[np.uint64]:
        """Whom it is after. Shape (n,)."""
        return self._prey_column[: self._n]

    @prey.setter
    def prey(self, values: ArrayLike) -> None:
        if not is_same_view(self.prey, values):
            self._prey_column[: self._n] = _PREY_FIELD.to_column(values, self._n)

    @property
    def rivals(self) -> NDArray[np.int32]:
        """How many other hawks are near. Shape (n,)."""
        return self._rivals_column[: self._n]

    @rivals.setter
    def rivals(self, values: ArrayLike) -> None:
        if not is_same_view(self.rivals, values):
            self._rivals_column[: self._n] = _RIVALS_FIELD.to_column(values, self._n)

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._hunger_column: NDArray[np.float32] = self._column_view(1)
        self._hunger_cells: memoryview[float] = cell_view(self._hunger_column)
        self._prey_column: NDArray[np.uint64] = self._column_view(2)
        self._prey_cells: memoryview[Entity] = cell_view(self._prey_column)
        self._rivals_column: NDArray[np.int32] = self._column_view(3)
        self._rivals_cells: memoryview[int] = cell_view(self._rivals_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._hunger_column[dst] = self._hunger_column[src]
        self._prey_column[dst] = self._prey_column[src]
        self._rivals_column[dst] = self._rivals_column[src]


class HawkManager(Sparse, MappedOne, Gc):
    """Manager of every Hawk: lookup sparse, instances one, destroy gc.

    What makes a boid hunt others of them.
    """

    __slots__ = ("_entities", "_rng", "_sparse", "_sparse_cells")
    PARTS: ClassVar = ManagerParts(
        row=Hawk,
        accessors=("packed",),
        create=("packed", "sparse", "one"),
        destroy_row=("packed", "sparse"),
    )
    ROWS: ClassVar = HawkData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("hunger", "prey", "rivals")
    data: HawkData

    def hunger(self, row: int, /) -> float:
        """What catching nothing adds to, and catching takes from."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._hunger_cells[row]

    def set_hunger(self, row: int, value: float, /) -> None:
        """Set `hunger` of a row."""
        _value = _HUNGER_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._hunger_cells[row] = _value

    def prey(self, row: int, /) -> Entity:
        """Whom it is after."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._prey_cells[row]

    def set_prey(self, row: int, value: Entity | int, /) -> None:
        """Set `prey` of a row."""
        _value = _PREY_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._prey_cells[row] = _value

    def rivals(self, row: int, /) -> int:
        """How many other hawks are near."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._rivals_cells[row]

    def set_rivals(self, row: int, value: int, /) -> None:
        """Set `rivals` of a row."""
        _value = _RIVALS_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._rivals_cells[row] = _value

    def row(self, row: int, /) -> Hawk:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Hawk(
            data._hunger_cells[row], data._prey_cells[row], data._rivals_cells[row]
        )

    def __getitem__(self, entity: Entity, /) -> HawkRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(HawkRef, entity)

    def rows(self) -> Iterator[HawkRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(HawkRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        hunger: float = _HUNGER_DEFAULT,
        prey: Entity | int = _PREY_DEFAULT,
        rivals: int = _RIVALS_DEFAULT,
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
            _hunger_ = _HUNGER_DEFAULT
            if hunger is not _HUNGER_DEFAULT:
                _hunger_ = _HUNGER_FIELD.to_cell(hunger)
            _prey_ = _PREY_DEFAULT
            if prey is not _PREY_DEFAULT:
                _prey_ = _PREY_FIELD.to_cell(prey)
            _rivals_ = _RIVALS_DEFAULT
            if rivals is not _RIVALS_DEFAULT:
                _rivals_ = _RIVALS_FIELD.to_cell(rivals)
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
            return self._evict_and_create(
                *_evicted, entity, hunger=hunger, prey=prey, rivals=rivals
            )
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            data._hunger_cells[row] = _hunger_
            data._prey_cells[row] = _prey_
            data._rivals_cells[row] = _rivals_
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
        **columns: Unpack[HawkFields],
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
            data._hunger_column[span] = columns["hunger"]
            data._prey_column[span] = columns["prey"]
            data._rivals_column[span] = columns["rivals"]
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
                data._hunger_cells[dst] = data._hunger_cells[src]
                data._prey_cells[dst] = data._prey_cells[src]
                data._rivals_cells[dst] = data._rivals_cells[src]
                self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
            data._n = src
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1


class HawkRef(EntityProxy):
    """A row of a HawkManager, which follows its entity."""

    __slots__ = ()

    hunger = RowField.cell(HawkManager.hunger, HawkManager.set_hunger, _HUNGER_FIELD)
    prey = RowField.cell(HawkManager.prey, HawkManager.set_prey, _PREY_FIELD)
    rivals = RowField.cell(HawkManager.rivals, HawkManager.set_rivals, _RIVALS_FIELD)
