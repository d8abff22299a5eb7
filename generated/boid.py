"""Boid: lookup sparse, instances one, destroy gc.

A bird that flies with those near it.

One buffer of 24 bytes per row, column after column:

    column    type    bytes/row  offset (64 rows)  tags
    --------  ------  ---------  ----------------  ----
    entity    u64             8                 0  hot
    position  f32[2]          8               512  hot
    heading   f32[2]          8              1024  hot
    24 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from ecsgen_runtime.kernels.blocks import (
    BlockColumn,
    KernelBlocks,
    KernelRows,
    SelectedRows,
    WorldKernelRows,
    rows_last,
    selected_blocks,
)
from ecsgen_runtime.kernels.spaces.neighbour_search import NeighbourBlocks
from ecsgen_runtime.kernels.spaces.spatial import OwnedSpatial, SpaceLayout
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy
from ecsgen_runtime.tables.buffers import (
    Column,
    cell_view,
    is_same_view,
    pack_cell,
    put_cells,
)
from ecsgen_runtime.tables.columns import HotColumns, OwnedRows
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import FloatField
from ecsgen_runtime.values.interchange import TableLike
from ecsgen_runtime.world.queries.query_columns import QueryColumn, QueryColumns
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("position", np.dtype(np.float32), (2,), 8, ("hot",), 8),
    Column("heading", np.dtype(np.float32), (2,), 8, ("hot",), 16),
)
_POSITION_FIELD: Final = FloatField("Boid.position", "f32", (2,))
_HEADING_FIELD: Final = FloatField("Boid.heading", "f32", (2,))
_POSITION_STRUCT: Final = Struct("=2f")
_HEADING_STRUCT: Final = Struct("=2f")
_POSITION_DEFAULT: Final = (0.0, 0.0)
_POSITION_WORD: Final = pack_cell(_POSITION_FIELD, _POSITION_DEFAULT)
_HEADING_DEFAULT: Final = (1.0, 0.0)
_HEADING_WORD: Final = pack_cell(_HEADING_FIELD, _HEADING_DEFAULT)
_FIELDS: Final = component_fields(
    (_POSITION_FIELD, "f32[2]", _POSITION_DEFAULT, ("hot",), "m", "Where it is."),
    (
        _HEADING_FIELD,
        "f32[2]",
        _HEADING_DEFAULT,
        ("hot",),
        "",
        "Where it flies, of length 1.",
    ),
)
_STEER_VISION_ARGUMENT: Final = FloatField("Boid.steer.vision", "f32")
_STEER_APART_ARGUMENT: Final = FloatField("Boid.steer.apart", "f32")
_FLY_WAY_ARGUMENT: Final = FloatField("Boid.fly.way", "f32")
_FLY_WIDTH_ARGUMENT: Final = FloatField("Boid.fly.width", "f32")
_FLY_HEIGHT_ARGUMENT: Final = FloatField("Boid.fly.height", "f32")
_0_03_f32: Final = np.array(0.03, np.float32)
_0_015_f32: Final = np.array(0.015, np.float32)
_0_05_f32: Final = np.array(0.05, np.float32)
_1_i64: Final = np.array(1, np.int64)


class Boid(NamedTuple):
    """One row of a BoidManager, copied out."""

    position: tuple[float, float] = _POSITION_DEFAULT
    """Where it is. [m]"""

    heading: tuple[float, float] = _HEADING_DEFAULT
    """Where it flies, of length 1."""


class BoidFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    position: ArrayLike
    heading: ArrayLike


class BoidColumns(QueryColumns):
    """The columns of Boid in a query's rows: one cell per entity."""

    __slots__ = ()

    position = QueryColumn[np.float32]("position", _POSITION_FIELD, _POSITION_DEFAULT)
    """Where it is. [m] Shape (n, 2)."""

    heading = QueryColumn[np.float32]("heading", _HEADING_FIELD, _HEADING_DEFAULT)
    """Where it flies, of length 1. Shape (n, 2)."""


class BoidData(OwnedRows, WorldKernelRows, KernelRows, HotColumns):
    """The columns of a BoidManager: views of the rows in use."""

    __slots__ = (
        "_entity_cells",
        "_entity_column",
        "_heading_cells",
        "_heading_column",
        "_heading_items",
        "_heading_words",
        "_kernels",
        "_position_cells",
        "_position_column",
        "_position_items",
        "_position_words",
        "_world_kernels",
    )
    MANAGER: ClassVar = "BoidManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    def _fly_blocks(self) -> KernelBlocks:
        """Cut the columns of `fly` into blocks; good until they move or n changes."""
        n = self._n
        columns = (
            rows_last(self._position_column[:n]),
            rows_last(self._heading_column[:n]),
        )
        working = (("f4", (2,), True), ("f4", (2,), False))
        blocks = KernelBlocks(n, columns, working, self._kernels.get("fly"))
        self._kernels["fly"] = blocks
        return blocks

    @property
    def position(self) -> NDArray[np.float32]:
        """Where it is. [m] Shape (n, 2)."""
        return self._position_column[: self._n]

    @position.setter
    def position(self, values: ArrayLike) -> None:
        if not is_same_view(self.position, values):
            self._position_column[: self._n] = _POSITION_FIELD.to_column(
                values, self._n
            )

    @property
    def heading(self) -> NDArray[np.float32]:
        """Where it flies, of length 1. Shape (n, 2)."""
        return self._heading_column[: self._n]

    @heading.setter
    def heading(self, values: ArrayLike) -> None:
        if not is_same_view(self.heading, values):
            self._heading_column[: self._n] = _HEADING_FIELD.to_column(values, self._n)

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._position_column: NDArray[np.float32] = self._column_view(1)
        self._position_items: NDArray[Any] = self._item_view(1)
        self._position_words: memoryview[int] = cell_view(self._position_items)
        self._position_cells: memoryview[float] = cell_view(self._position_column)
        self._heading_column: NDArray[np.float32] = self._column_view(2)
        self._heading_items: NDArray[Any] = self._item_view(2)
        self._heading_words: memoryview[int] = cell_view(self._heading_items)
        self._heading_cells: memoryview[float] = cell_view(self._heading_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._position_items[dst] = self._position_items[src]
        self._heading_items[dst] = self._heading_items[src]


class BoidManager(Sparse, MappedOne, Gc, OwnedSpatial):
    """Manager of every Boid: lookup sparse, instances one, destroy gc.

    A bird that flies with those near it.
    """

    __slots__ = ("_entities", "_rng", "_sparse", "_sparse_cells", "_wrap")
    _SPACE: ClassVar = SpaceLayout(
        "position", ("_position_column",), "_n", (100.0, 60.0)
    )
    PARTS: ClassVar = ManagerParts(
        row=Boid,
        accessors=("packed",),
        create=("packed", "sparse", "one"),
        destroy_row=("packed", "sparse"),
    )
    ROWS: ClassVar = BoidData
    CONVERTERS: ClassVar = _FIELDS.converters
    data: BoidData

    def position(self, row: int, /) -> tuple[float, float]:
        """Where it is. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _POSITION_STRUCT.unpack_from(data._position_cells, 8 * row)

    def set_position(self, row: int, value: ArrayLike, /) -> None:
        """Set `position` of a row: 2 values."""
        _value = _POSITION_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 2 * row
        data._position_cells[_at] = _value[0]
        data._position_cells[_at + 1] = _value[1]

    def heading(self, row: int, /) -> tuple[float, float]:
        """Where it flies, of length 1."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _HEADING_STRUCT.unpack_from(data._heading_cells, 8 * row)

    def set_heading(self, row: int, value: ArrayLike, /) -> None:
        """Set `heading` of a row: 2 values."""
        _value = _HEADING_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 2 * row
        data._heading_cells[_at] = _value[0]
        data._heading_cells[_at + 1] = _value[1]

    def row(self, row: int, /) -> Boid:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Boid(
            _POSITION_STRUCT.unpack_from(data._position_cells, 8 * row),
            _HEADING_STRUCT.unpack_from(data._heading_cells, 8 * row),
        )

    def __getitem__(self, entity: Entity, /) -> BoidRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(BoidRef, entity)

    def rows(self) -> Iterator[BoidRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(BoidRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        position: ArrayLike = _POSITION_DEFAULT,
        heading: ArrayLike = _HEADING_DEFAULT,
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
            _position_ = _POSITION_DEFAULT
            if position is not _POSITION_DEFAULT:
                _position_ = _POSITION_FIELD.to_cell(position)
            _heading_ = _HEADING_DEFAULT
            if heading is not _HEADING_DEFAULT:
                _heading_ = _HEADING_FIELD.to_cell(heading)
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
            data._grow(data._n + 1, (position, heading))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted, entity, position=position, heading=heading
            )
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            if _position_ is _POSITION_DEFAULT:
                data._position_words[row] = _POSITION_WORD
            else:
                _at = 2 * row
                data._position_cells[_at] = _position_[0]
                data._position_cells[_at + 1] = _position_[1]
            if _heading_ is _HEADING_DEFAULT:
                data._heading_words[row] = _HEADING_WORD
            else:
                _at = 2 * row
                data._heading_cells[_at] = _heading_[0]
                data._heading_cells[_at + 1] = _heading_[1]
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
        **columns: Unpack[BoidFields],
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
            put_cells(data._position_column, span, columns["position"])
            put_cells(data._heading_column, span, columns["heading"])
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
                data._position_words[dst] = data._position_words[src]
                data._heading_words[dst] = data._heading_words[src]
                self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
            data._n = src
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def steer(
        self, vision: float, apart: float, *, rows: ArrayLike | None = None
    ) -> None:
        """Turn towards the others, along with them, and away from those too near.

        Reads heading; writes heading; asks neighbours within `vision`, of whom it reads
        heading; `vision` is finite and above 0, or ValueError is raised; `vision` is in
        m; `apart` is in m. O(n log n + pairs in reach), n rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _vision = np.float32(_STEER_VISION_ARGUMENT.to_cell(vision))
        _apart = np.float32(_STEER_APART_ARGUMENT.to_cell(apart))
        data = self.data
        _rows = None if rows is None else SelectedRows(self, rows).rows
        _search = self._search("steer: vision", _vision, data._n, _rows)
        _columns = (BlockColumn(rows_last(data._heading_column), _rows, True, True),)
        _other_members = (BlockColumn(rows_last(data._heading_column)),)
        _working = (
            ("f4", (2,), False),
            ("f4", (2,), False),
            ("f4", (2,), False),
            ("f4", (2,), False),
            ("f4", (2,), False),
            ("i8", (), False),
            ("f4", (), False),
            ("f4", (), False),
        )
        _paired = (("?", (), False),)
        _blocks = NeighbourBlocks(_search, _columns, _other_members, _working, _paired)
        with np.errstate(all="ignore"):
            for (
                _pairs,
                heading,
                _other_heading,
                _tmp,
                push,
                _tmp2,
                turn,
                _tmp3,
                _tmp4,
                _tmp5,
                _tmp6,
                _each,
            ) in _blocks:
                # push = sum(offset, where=distance < apart)
                np.less(_pairs.distance, _apart, out=_each)
                _selected = _pairs.where(_each)
                _selected.sum(_pairs.offset, _tmp)
                push[...] = _tmp
                # turn = sum(offset) * 0.03 - push * 0.015 + sum(other.heading) * 0.05
                _pairs.sum(_pairs.offset, _tmp)
                _pairs.sum(_other_heading, _tmp2)
                _tmp *= _0_03_f32
                np.multiply(push, _0_015_f32, out=_tmp3)
                _tmp -= _tmp3
                _tmp2 *= _0_05_f32
                np.add(_tmp, _tmp2, out=turn)
                # heading = normalize(heading + turn / f32(max(count(), 1)))
                _pairs.count(True, _tmp4)
                np.maximum(_tmp4, _1_i64, out=_tmp4)
                _tmp5[...] = _tmp4
                np.divide(turn, _tmp5, out=_tmp3)
                np.add(heading, _tmp3, out=_tmp3)
                np.multiply(_tmp3[0], _tmp3[0], out=_tmp5)
                np.multiply(_tmp3[1], _tmp3[1], out=_tmp6)
                _tmp5 += _tmp6
                np.sqrt(_tmp5, out=_tmp5)
                np.putmask(_tmp5, _tmp5 == 0, 1)
                np.divide(_tmp3, _tmp5, out=heading)

    def fly(
        self, way: float, width: float, height: float, *, rows: ArrayLike | None = None
    ) -> None:
        """Fly on, around the border.

        Reads position [m], heading; writes position [m]; `way` is in m; `width` is in
        m; `height` is in m. O(n), n rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _way = np.array(_FLY_WAY_ARGUMENT.to_cell(way), np.float32)
        _width = np.array(_FLY_WIDTH_ARGUMENT.to_cell(width), np.float32)
        _height = np.array(_FLY_HEIGHT_ARGUMENT.to_cell(height), np.float32)
        data = self.data
        _blocks = data._kernels.get("fly")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._fly_blocks()
        _views: Iterable[tuple[Any, ...]] = _blocks.views
        if rows is not None:
            _views = selected_blocks(_blocks, SelectedRows(self, rows).rows, (0,))
        with np.errstate(all="ignore"):
            for position, heading, _tmp, _tmp2 in _views:
                # position = (position + heading * way) % vec(width, height)
                np.multiply(heading, _way, out=_tmp)
                np.add(position, _tmp, out=_tmp)
                _tmp2[0][...] = _width
                _tmp2[1][...] = _height
                np.remainder(_tmp, _tmp2, out=position)


class BoidRef(EntityProxy):
    """A row of a BoidManager, which follows its entity."""

    __slots__ = ()

    position = ArrayField.of(np.float32, BoidManager.set_position)
    heading = ArrayField.of(np.float32, BoidManager.set_heading)
