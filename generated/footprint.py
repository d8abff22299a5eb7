"""Footprint: lookup sparse, instances many, destroy manual.

A mark that someone left on the ground.

One buffer of 40 bytes per row, column after column:

    column    type    bytes/row  offset (64 rows)  tags
    --------  ------  ---------  ----------------  ----
    entity    u64             8                 0  hot
    place     f32[2]          8               512  hot
    heading   f32             4              1024  hot
    depth     f32             4              1280  hot
    next      u32             4              1536  hot
    previous  u32             4              1792  hot
    newer     u32             4              2048  hot
    older     u32             4              2304  hot
    40 bytes per row, 4096 for 64 rows
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
    KernelBlocks,
    KernelRows,
    SelectedRows,
    selected_blocks,
)
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.instances import LinkedRows, Many
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.policies.ring import Ring, RingRows
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy, RowField
from ecsgen_runtime.tables.buffers import (
    Column,
    cell_view,
    is_same_view,
    pack_cell,
    put_cells,
)
from ecsgen_runtime.tables.columns import HotColumns
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import FloatField
from ecsgen_runtime.values.interchange import TableLike
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("place", np.dtype(np.float32), (2,), 8, ("hot",), 8),
    Column("heading", np.dtype(np.float32), (), 4, ("hot",), 16),
    Column("depth", np.dtype(np.float32), (), 4, ("hot",), 20),
    Column("next", np.dtype(np.uint32), (), 4, ("hot",), 24),
    Column("previous", np.dtype(np.uint32), (), 4, ("hot",), 28),
    Column("newer", np.dtype(np.uint32), (), 4, ("hot",), 32),
    Column("older", np.dtype(np.uint32), (), 4, ("hot",), 36),
)
_PLACE_FIELD: Final = FloatField("Footprint.place", "f32", (2,))
_HEADING_FIELD: Final = FloatField("Footprint.heading", "f32")
_DEPTH_FIELD: Final = FloatField("Footprint.depth", "f32")
_PLACE_STRUCT: Final = Struct("=2f")
_PLACE_DEFAULT: Final = (0.0, 0.0)
_PLACE_WORD: Final = pack_cell(_PLACE_FIELD, _PLACE_DEFAULT)
_HEADING_DEFAULT: Final = 0.0
_DEPTH_DEFAULT: Final = 1.0
_FIELDS: Final = component_fields(
    (_PLACE_FIELD, "f32[2]", _PLACE_DEFAULT, ("hot",), "m", "Where it is."),
    (
        _HEADING_FIELD,
        "f32",
        _HEADING_DEFAULT,
        ("hot",),
        "rad",
        "Where whoever left it was going.",
    ),
    (
        _DEPTH_FIELD,
        "f32",
        _DEPTH_DEFAULT,
        ("hot",),
        "",
        "What the weather has left of it, 0 to 1.",
    ),
)
_FADE_DT_ARGUMENT: Final = FloatField("Footprint.fade.dt", "f32")
_FADE_WEAR_ARGUMENT: Final = FloatField("Footprint.fade.wear", "f32")
_0_0_f32: Final = np.array(0.0, np.float32)


class Footprint(NamedTuple):
    """One row of a FootprintManager, copied out."""

    place: tuple[float, float] = _PLACE_DEFAULT
    """Where it is. [m]"""

    heading: float = _HEADING_DEFAULT
    """Where whoever left it was going. [rad]"""

    depth: float = _DEPTH_DEFAULT
    """What the weather has left of it, 0 to 1."""


class FootprintFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    place: ArrayLike
    heading: ArrayLike
    depth: ArrayLike


class FootprintData(LinkedRows, RingRows, KernelRows, HotColumns):
    """The columns of a FootprintManager: views of the rows in use."""

    __slots__ = (
        "_depth_cells",
        "_depth_column",
        "_entity_cells",
        "_entity_column",
        "_heading_cells",
        "_heading_column",
        "_kernels",
        "_newer_cells",
        "_newer_column",
        "_next_cells",
        "_next_column",
        "_older_cells",
        "_older_column",
        "_oldest",
        "_place_cells",
        "_place_column",
        "_place_items",
        "_place_words",
        "_previous_cells",
        "_previous_column",
    )
    MANAGER: ClassVar = "FootprintManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos
    MAX_ROWS: ClassVar = 4096

    def _fade_blocks(self) -> KernelBlocks:
        """Cut the columns of `fade` into blocks; good until they move or n changes."""
        n = self._n
        columns = (self._depth_column[:n],)
        working = (("f4", (), False),)
        blocks = KernelBlocks(n, columns, working, self._kernels.get("fade"))
        self._kernels["fade"] = blocks
        return blocks

    @property
    def place(self) -> NDArray[np.float32]:
        """Where it is. [m] Shape (n, 2)."""
        return self._place_column[: self._n]

    @place.setter
    def place(self, values: ArrayLike) -> None:
        if not is_same_view(self.place, values):
            self._place_column[: self._n] = _PLACE_FIELD.to_column(values, self._n)

    @property
    def heading(self) -> NDArray[np.float32]:
        """Where whoever left it was going. [rad] Shape (n,)."""
        return self._heading_column[: self._n]

    @heading.setter
    def heading(self, values: ArrayLike) -> None:
        if not is_same_view(self.heading, values):
            self._heading_column[: self._n] = _HEADING_FIELD.to_column(values, self._n)

    @property
    def depth(self) -> NDArray[np.float32]:
        """What the weather has left of it, 0 to 1. Shape (n,)."""
        return self._depth_column[: self._n]

    @depth.setter
    def depth(self, values: ArrayLike) -> None:
        if not is_same_view(self.depth, values):
            self._depth_column[: self._n] = _DEPTH_FIELD.to_column(values, self._n)

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._place_column: NDArray[np.float32] = self._column_view(1)
        self._place_items: NDArray[Any] = self._item_view(1)
        self._place_words: memoryview[int] = cell_view(self._place_items)
        self._place_cells: memoryview[float] = cell_view(self._place_column)
        self._heading_column: NDArray[np.float32] = self._column_view(2)
        self._heading_cells: memoryview[float] = cell_view(self._heading_column)
        self._depth_column: NDArray[np.float32] = self._column_view(3)
        self._depth_cells: memoryview[float] = cell_view(self._depth_column)
        self._next_column = self._column_view(4)
        self._next_cells = cell_view(self._next_column)
        self._previous_column = self._column_view(5)
        self._previous_cells = cell_view(self._previous_column)
        self._newer_column = self._column_view(6)
        self._newer_cells = cell_view(self._newer_column)
        self._older_column = self._column_view(7)
        self._older_cells = cell_view(self._older_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._place_items[dst] = self._place_items[src]
        self._heading_column[dst] = self._heading_column[src]
        self._depth_column[dst] = self._depth_column[src]
        self._next_column[dst] = self._next_column[src]
        self._previous_column[dst] = self._previous_column[src]
        self._newer_column[dst] = self._newer_column[src]
        self._older_column[dst] = self._older_column[src]


class FootprintManager(Many, Sparse, Ring):
    """Manager of every Footprint: lookup sparse, instances many, destroy manual.

    A mark that someone left on the ground.
    """

    __slots__ = ("_entities", "_sparse", "_sparse_cells")
    PARTS: ClassVar = ManagerParts(
        row=Footprint,
        accessors=("packed",),
        create=("packed", "many", "sparse", "ring"),
        destroy_row=("packed", "many", "ring"),
    )
    ROWS: ClassVar = FootprintData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("heading", "depth")
    data: FootprintData

    def place(self, row: int, /) -> tuple[float, float]:
        """Where it is. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _PLACE_STRUCT.unpack_from(data._place_cells, 8 * row)

    def set_place(self, row: int, value: ArrayLike, /) -> None:
        """Set `place` of a row: 2 values."""
        _value = _PLACE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 2 * row
        data._place_cells[_at] = _value[0]
        data._place_cells[_at + 1] = _value[1]

    def heading(self, row: int, /) -> float:
        """Where whoever left it was going. [rad]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._heading_cells[row]

    def set_heading(self, row: int, value: float, /) -> None:
        """Set `heading` of a row."""
        _value = _HEADING_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._heading_cells[row] = _value

    def depth(self, row: int, /) -> float:
        """What the weather has left of it, 0 to 1."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._depth_cells[row]

    def set_depth(self, row: int, value: float, /) -> None:
        """Set `depth` of a row."""
        _value = _DEPTH_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._depth_cells[row] = _value

    def row(self, row: int, /) -> Footprint:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Footprint(
            _PLACE_STRUCT.unpack_from(data._place_cells, 8 * row),
            data._heading_cells[row],
            data._depth_cells[row],
        )

    def __getitem__(self, entity: Entity, /) -> FootprintRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(FootprintRef, entity)

    def rows(self) -> Iterator[FootprintRef]:
        """Iterate over proxies of the rows; a structural change ends that; O(n)."""
        return self._proxies(FootprintRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        place: ArrayLike = _PLACE_DEFAULT,
        heading: float = _HEADING_DEFAULT,
        depth: float = _DEPTH_DEFAULT,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1); it is the last of the entity's list.

        Raises:
            StaleEntityError: the entity is dead.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _place_ = _PLACE_DEFAULT
            if place is not _PLACE_DEFAULT:
                _place_ = _PLACE_FIELD.to_cell(place)
            _heading_ = _HEADING_DEFAULT
            if heading is not _HEADING_DEFAULT:
                _heading_ = _HEADING_FIELD.to_cell(heading)
            _depth_ = _DEPTH_DEFAULT
            if depth is not _DEPTH_DEFAULT:
                _depth_ = _DEPTH_FIELD.to_cell(depth)
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
        if data._n == data._allocated:
            data._grow(data._n + 1, (place,))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted, entity, place=place, heading=heading, depth=depth
            )
        if data._n == data.MAX_ROWS:
            _evicted = self._drop_oldest, data._oldest, self.create  # the oldest goes
            return self._evict_and_create(
                *_evicted, entity, place=place, heading=heading, depth=depth
            )
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            if _place_ is _PLACE_DEFAULT:
                data._place_words[row] = _PLACE_WORD
            else:
                _at = 2 * row
                data._place_cells[_at] = _place_[0]
                data._place_cells[_at + 1] = _place_[1]
            data._heading_cells[row] = _heading_
            data._depth_cells[row] = _depth_
            data._n = row + 1
            self._link_row(entity, row)
            data._add_newest(row)
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
        **columns: Unpack[FootprintFields],
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
        lists = self._plan_chain_appends(entities, rows)
        try:
            data._entity_column[span] = entities
            put_cells(data._place_column, span, columns["place"])
            data._heading_column[span] = columns["heading"]
            data._depth_column[span] = columns["depth"]
            data._n = end
            self._commit_chains(lists)
            data._add_newest_rows(rows)
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
            self._unlink_row(row)
            data._unlink_from_ring(row)
            src, dst = data._n - 1, row
            if src != dst:
                data._entity_cells[dst] = data._entity_cells[src]
                data._place_words[dst] = data._place_words[src]
                data._heading_cells[dst] = data._heading_cells[src]
                data._depth_cells[dst] = data._depth_cells[src]
                data._next_cells[dst] = data._next_cells[src]
                data._previous_cells[dst] = data._previous_cells[src]
                data._newer_cells[dst] = data._newer_cells[src]
                data._older_cells[dst] = data._older_cells[src]
                self._relink_row(src, dst)
                data._relink_in_ring(src, dst)
            data._n = src
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def fade(self, dt: float, wear: float, *, rows: ArrayLike | None = None) -> None:
        """Let the weather wear all footprints down.

        Reads depth; writes depth; `dt` is in s; `wear` is in 1/s. O(n), n rows; no
        structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _dt = np.array(_FADE_DT_ARGUMENT.to_cell(dt), np.float32)
        _wear = np.array(_FADE_WEAR_ARGUMENT.to_cell(wear), np.float32)
        data = self.data
        _blocks = data._kernels.get("fade")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._fade_blocks()
        _views: Iterable[tuple[Any, ...]] = _blocks.views
        if rows is not None:
            _views = selected_blocks(_blocks, SelectedRows(self, rows).rows, (0,))
        _once = np.multiply(_wear, _dt)
        for depth, _tmp in _views:
            # depth = max(depth - wear * dt, 0)
            np.subtract(depth, _once, out=_tmp)
            np.maximum(_tmp, _0_0_f32, out=depth)


class FootprintRef(EntityProxy):
    """A row of a FootprintManager, which follows its entity."""

    __slots__ = ()

    place = ArrayField.of(np.float32, FootprintManager.set_place)
    heading = RowField.cell(
        FootprintManager.heading, FootprintManager.set_heading, _HEADING_FIELD
    )
    depth = RowField.cell(
        FootprintManager.depth, FootprintManager.set_depth, _DEPTH_FIELD
    )
