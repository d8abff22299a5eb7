"""Tile: lookup direct, instances one, destroy gc.

A square of the map.

One buffer of 26 bytes per row, column after column:

    column         type    bytes/row  offset (64 rows)  tags
    -------------  ------  ---------  ----------------  ----
    entity         u64             8                 0  hot
    height         f32             4               512  hot
    walk_cost      u8              1               768  hot
    flow           f32[2]          8               832  hot
    id_generation  u32             4              1344  hot
    explored       bool            1              1600  cold
    26 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from struct import Struct
from typing import Any, ClassVar, Final, Literal, Unpack, overload

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import (
    NULL_ENTITY,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.direct import DirectIdRows, DirectIds
from ecsgen_runtime.managers.policies.growth import ReservedRows
from ecsgen_runtime.managers.policies.ids import (
    EXHAUSTED_GENERATION,
    slot_exhausted_error,
)
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy, RowField
from ecsgen_runtime.tables.buffers import (
    Column,
    cell_view,
    is_same_view,
    pack_cell,
    put_cells,
)
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import BoolField, FloatField, IntField
from ecsgen_runtime.values.interchange import TableLike
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("height", np.dtype(np.float32), (), 4, ("hot",), 8),
    Column("walk_cost", np.dtype(np.uint8), (), 1, ("hot",), 12),
    Column("flow", np.dtype(np.float32), (2,), 8, ("hot",), 13),
    Column("id_generation", np.dtype(np.uint32), (), 4, ("hot",), 21),
    Column("explored", np.dtype(np.bool_), (), 1, ("cold",), 25),
)
_HEIGHT_FIELD: Final = FloatField("Tile.height", "f32")
_WALK_COST_FIELD: Final = IntField("Tile.walk_cost", "u8")
_FLOW_FIELD: Final = FloatField("Tile.flow", "f32", (2,))
_EXPLORED_FIELD: Final = BoolField("Tile.explored")
_FLOW_STRUCT: Final = Struct("=2f")
_HEIGHT_DEFAULT: Final = 0.0
_WALK_COST_DEFAULT: Final = 1
_FLOW_DEFAULT: Final = (0.0, 0.0)
_FLOW_WORD: Final = pack_cell(_FLOW_FIELD, _FLOW_DEFAULT)
_EXPLORED_DEFAULT: Final = False
_FIELDS: Final = component_fields(
    (_HEIGHT_FIELD, "f32", _HEIGHT_DEFAULT, ("hot",), "m", "Height above the sea."),
    (
        _WALK_COST_FIELD,
        "u8",
        _WALK_COST_DEFAULT,
        ("hot",),
        "",
        "Effort of crossing it; 255 is impassable.",
    ),
    (_FLOW_FIELD, "f32[2]", _FLOW_DEFAULT, ("hot",), "", "Direction towards the goal."),
    (
        _EXPLORED_FIELD,
        "bool",
        _EXPLORED_DEFAULT,
        ("cold",),
        "",
        "Whether the player has seen it.",
    ),
)


class Tile(NamedTuple):
    """One row of a TileManager, copied out."""

    height: float = _HEIGHT_DEFAULT
    """Height above the sea. [m]"""

    walk_cost: int = _WALK_COST_DEFAULT
    """Effort of crossing it; 255 is impassable."""

    flow: tuple[float, float] = _FLOW_DEFAULT
    """Direction towards the goal."""

    explored: bool = _EXPLORED_DEFAULT
    """Whether the player has seen it."""


class TileFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    height: ArrayLike
    walk_cost: ArrayLike
    flow: ArrayLike
    explored: ArrayLike


class TileHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    height: NDArray[np.float32]
    walk_cost: NDArray[np.uint8]
    flow: NDArray[np.float32]


class TileColdColumns(NamedTuple):
    """The columns tagged `cold`."""

    explored: NDArray[np.bool_]


class TileData(DirectIdRows, ReservedRows):
    """The columns of a TileManager: views of the rows in use."""

    __slots__ = (
        "_count",
        "_entity_cells",
        "_entity_column",
        "_explored_cells",
        "_explored_column",
        "_flow_cells",
        "_flow_column",
        "_flow_words",
        "_height_cells",
        "_height_column",
        "_id_generation_cells",
        "_id_generation_column",
        "_peak",
        "_walk_cost_cells",
        "_walk_cost_column",
    )
    MANAGER: ClassVar = "TileManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def height(self) -> NDArray[np.float32]:
        """Height above the sea. [m] Shape (n,)."""
        return self._height_column[: self._n]

    @height.setter
    def height(self, values: ArrayLike) -> None:
        if not is_same_view(self.height, values):
            self._height_column[: self._n] = _HEIGHT_FIELD.to_column(values, self._n)

    @property
    def walk_cost(self) -> NDArray[np.uint8]:
        """Effort of crossing it; 255 is impassable. Shape (n,)."""
        return self._walk_cost_column[: self._n]

    @walk_cost.setter
    def walk_cost(self, values: ArrayLike) -> None:
        if not is_same_view(self.walk_cost, values):
            self._walk_cost_column[: self._n] = _WALK_COST_FIELD.to_column(
                values, self._n
            )

    @property
    def flow(self) -> NDArray[np.float32]:
        """Direction towards the goal. Shape (n, 2)."""
        return self._flow_column[: self._n]

    @flow.setter
    def flow(self, values: ArrayLike) -> None:
        if not is_same_view(self.flow, values):
            self._flow_column[: self._n] = _FLOW_FIELD.to_column(values, self._n)

    @property
    def explored(self) -> NDArray[np.bool_]:
        """Whether the player has seen it. Shape (n,)."""
        return self._explored_column[: self._n]

    @explored.setter
    def explored(self, values: ArrayLike) -> None:
        if not is_same_view(self.explored, values):
            self._explored_column[: self._n] = _EXPLORED_FIELD.to_column(
                values, self._n
            )

    @overload
    def tagged(self, tag: Literal["hot"], /) -> TileHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> TileColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return TileHotColumns(self.height, self.walk_cost, self.flow)
        if tag == "cold":
            return TileColdColumns(self.explored)
        raise ValueError(f"Tile has no tag {tag!r}; it has hot, cold")

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._height_column: NDArray[np.float32] = self._column_view(1)
        self._height_cells: memoryview[float] = cell_view(self._height_column)
        self._walk_cost_column: NDArray[np.uint8] = self._column_view(2)
        self._walk_cost_cells: memoryview[int] = cell_view(self._walk_cost_column)
        self._flow_column: NDArray[np.float32] = self._column_view(3)
        self._flow_words: memoryview[int] = cell_view(self._item_view(3))
        self._flow_cells: memoryview[float] = cell_view(self._flow_column)
        self._id_generation_column = self._column_view(4)
        self._id_generation_cells = cell_view(self._id_generation_column)
        self._explored_column: NDArray[np.bool_] = self._column_view(5)
        self._explored_cells: memoryview[bool] = cell_view(self._explored_column)


class TileManager(DirectIds, Gc):
    """Manager of every Tile: lookup direct, instances one, destroy gc.

    A square of the map.
    """

    __slots__ = ("_entities", "_rng")
    PARTS: ClassVar = ManagerParts(
        row=Tile,
        accessors=("direct",),
        create=("direct", "direct_ids"),
        destroy_row=("direct",),
    )
    ROWS: ClassVar = TileData
    _CAPACITY: ClassVar = 4096
    CONVERTERS: ClassVar = _FIELDS.converters
    data: TileData

    def height(self, row: int, /) -> float:
        """Height above the sea. [m]"""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        return data._height_cells[row]

    def set_height(self, row: int, value: float, /) -> None:
        """Set `height` of a row."""
        _value = _HEIGHT_FIELD.to_cell(value)
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        data._height_cells[row] = _value

    def walk_cost(self, row: int, /) -> int:
        """Effort of crossing it; 255 is impassable."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        return data._walk_cost_cells[row]

    def set_walk_cost(self, row: int, value: int, /) -> None:
        """Set `walk_cost` of a row."""
        _value = _WALK_COST_FIELD.to_cell(value)
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        data._walk_cost_cells[row] = _value

    def flow(self, row: int, /) -> tuple[float, float]:
        """Direction towards the goal."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        return _FLOW_STRUCT.unpack_from(data._flow_cells, 8 * row)

    def set_flow(self, row: int, value: ArrayLike, /) -> None:
        """Set `flow` of a row: 2 values."""
        _value = _FLOW_FIELD.to_cell(value)
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        _at = 2 * row
        data._flow_cells[_at] = _value[0]
        data._flow_cells[_at + 1] = _value[1]

    def explored(self, row: int, /) -> bool:
        """Whether the player has seen it."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        return data._explored_cells[row]

    def set_explored(self, row: int, value: bool, /) -> None:
        """Set `explored` of a row."""
        _value = _EXPLORED_FIELD.to_cell(value)
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        data._explored_cells[row] = _value

    def row(self, row: int, /) -> Tile:
        """Return a copy of a row; O(1)."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        return Tile(
            data._height_cells[row],
            data._walk_cost_cells[row],
            _FLOW_STRUCT.unpack_from(data._flow_cells, 8 * row),
            data._explored_cells[row],
        )

    def __getitem__(self, entity: Entity, /) -> TileRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(TileRef, entity)

    def rows(self) -> Iterator[TileRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(TileRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        height: float = _HEIGHT_DEFAULT,
        walk_cost: int = _WALK_COST_DEFAULT,
        flow: ArrayLike = _FLOW_DEFAULT,
        explored: bool = _EXPLORED_DEFAULT,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1).

        Raises:
            DuplicateInstanceError: the entity has an instance already.
            StaleEntityError: the entity is dead.
            CapacityError: all rows that are reserved are in use.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _height_ = _HEIGHT_DEFAULT
            if height is not _HEIGHT_DEFAULT:
                _height_ = _HEIGHT_FIELD.to_cell(height)
            _walk_cost_ = _WALK_COST_DEFAULT
            if walk_cost is not _WALK_COST_DEFAULT:
                _walk_cost_ = _WALK_COST_FIELD.to_cell(walk_cost)
            _flow_ = _FLOW_DEFAULT
            if flow is not _FLOW_DEFAULT:
                _flow_ = _FLOW_FIELD.to_cell(flow)
            _explored_ = _EXPLORED_DEFAULT
            if explored is not _EXPLORED_DEFAULT:
                _explored_ = _EXPLORED_FIELD.to_cell(explored)
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
        row: Instance = _slot  # type: ignore[assignment]  # calling Instance takes time
        _owner = data._entity_cells[row] if row < data._n else NULL_ENTITY
        if _owner == entity:
            raise self._duplicate(entity)
        _has_cell = row < data._allocated
        if _has_cell and data._id_generation_cells[row] == EXHAUSTED_GENERATION:
            raise slot_exhausted_error(data.MANAGER, row)
        if row >= data._allocated:
            data._grow(row + 1, (flow,))
        if _owner != NULL_ENTITY:
            _evicted = self._destroy_row, row, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted,
                entity,
                height=height,
                walk_cost=walk_cost,
                flow=flow,
                explored=explored,
            )
        try:
            data._entity_cells[row] = entity
            data._height_cells[row] = _height_
            data._walk_cost_cells[row] = _walk_cost_
            if _flow_ is _FLOW_DEFAULT:
                data._flow_words[row] = _FLOW_WORD
            else:
                _at = 2 * row
                data._flow_cells[_at] = _flow_[0]
                data._flow_cells[_at + 1] = _flow_[1]
            data._explored_cells[row] = _explored_
            if row >= data._n:
                data._n = row + 1
            data._count += 1
            data._id_generation_cells[row] += 1
            if row >= data._peak:
                data._peak = row + 1
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
        **columns: Unpack[TileFields],
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
        rows = span = self._entities.slots(entities)
        end = self._entities.span(entities)
        try:
            data._entity_column[span] = entities
            data._height_column[span] = columns["height"]
            data._walk_cost_column[span] = columns["walk_cost"]
            put_cells(data._flow_column, span, columns["flow"])
            data._explored_column[span] = columns["explored"]
            data._n = max(data._n, end)
            data._count += count
            data._id_generation_column[rows] += 1
            data._peak = max(data._peak, end)
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return rows

    ensure = make_ensure(create)

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        end = data._n
        if row == end - 1:
            end = self._end_below(row)
        try:
            data._entity_cells[row] = NULL_ENTITY
            data._n = end
            data._count -= 1
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1


class TileRef(EntityProxy):
    """A row of a TileManager, which follows its entity."""

    __slots__ = ()

    height = RowField.cell(TileManager.height, TileManager.set_height, _HEIGHT_FIELD)
    walk_cost = RowField.cell(
        TileManager.walk_cost, TileManager.set_walk_cost, _WALK_COST_FIELD
    )
    flow = ArrayField.of(np.float32, TileManager.set_flow)
    explored = RowField.cell(
        TileManager.explored, TileManager.set_explored, _EXPLORED_FIELD
    )
