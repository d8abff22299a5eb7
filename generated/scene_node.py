"""SceneNode: lookup sparse, instances one, destroy callback, release.

Place of an entity relative to its parent, and in the world.

One buffer of 152 bytes per row, column after column:

    column            type      bytes/row  offset (64 rows)  tags
    ----------------  --------  ---------  ----------------  ----
    entity            u64               8                 0  hot
    local             f32[4,4]         64               512  hot
    world             f32[4,4]         64              4608  hot
    parent            u32               4              8704  hot
    first_child       u32               4              8960  hot
    next_sibling      u32               4              9216  hot
    previous_sibling  u32               4              9472  hot
    152 bytes per row, 12288 for 64 rows
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
from ecsgen_runtime.kernels.blocks import BlockColumn, KernelRows, rows_last
from ecsgen_runtime.kernels.levels import LevelBlocks, ParentColumn
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Callback, Release
from ecsgen_runtime.managers.policies.hierarchy import (
    OrphansDestroy,
    OwnedHierarchy,
    OwnedHierarchyRows,
)
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy
from ecsgen_runtime.tables.buffers import (
    Column,
    cell_view,
    is_same_view,
    nested,
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
    Column("local", np.dtype(np.float32), (4, 4), 64, ("hot",), 8),
    Column("world", np.dtype(np.float32), (4, 4), 64, ("hot",), 72),
    Column("parent", np.dtype(np.uint32), (), 4, ("hot",), 136),
    Column("first_child", np.dtype(np.uint32), (), 4, ("hot",), 140),
    Column("next_sibling", np.dtype(np.uint32), (), 4, ("hot",), 144),
    Column("previous_sibling", np.dtype(np.uint32), (), 4, ("hot",), 148),
)
_LOCAL_FIELD: Final = FloatField("SceneNode.local", "f32", (4, 4))
_WORLD_FIELD: Final = FloatField("SceneNode.world", "f32", (4, 4))
_LOCAL_STRUCT: Final = Struct("=16f")
_WORLD_STRUCT: Final = Struct("=16f")
_LOCAL_DEFAULT: Final = (
    (1.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 1.0),
)
_LOCAL_CELL: Final = _LOCAL_FIELD.to_cell(_LOCAL_DEFAULT)
_WORLD_DEFAULT: Final = (
    (1.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 1.0),
)
_WORLD_CELL: Final = _WORLD_FIELD.to_cell(_WORLD_DEFAULT)
_FIELDS: Final = component_fields(
    (
        _LOCAL_FIELD,
        "f32[4,4]",
        _LOCAL_DEFAULT,
        ("hot",),
        "",
        "Matrix from the node's space to its parent's.",
    ),
    (
        _WORLD_FIELD,
        "f32[4,4]",
        _WORLD_DEFAULT,
        ("hot",),
        "",
        "Matrix from the node's space to the world's.",
    ),
)
_WORLD_ABOVE_ROOTS: Final = np.array(
    (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    np.float32,
).reshape(4, 4, 1)


class SceneNode(NamedTuple):
    """One row of a SceneNodeManager, copied out."""

    local: tuple[tuple[float, ...], ...] = _LOCAL_DEFAULT
    """Matrix from the node's space to its parent's."""

    world: tuple[tuple[float, ...], ...] = _WORLD_DEFAULT
    """Matrix from the node's space to the world's."""


class SceneNodeFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    local: ArrayLike
    world: ArrayLike


class SceneNodeData(OwnedHierarchyRows, KernelRows, HotColumns):
    """The columns of a SceneNodeManager: views of the rows in use."""

    __slots__ = (
        "_entity_cells",
        "_entity_column",
        "_first_child_cells",
        "_first_child_column",
        "_kernels",
        "_local_cells",
        "_local_column",
        "_local_items",
        "_next_sibling_cells",
        "_next_sibling_column",
        "_parent_cells",
        "_parent_column",
        "_previous_sibling_cells",
        "_previous_sibling_column",
        "_world_cells",
        "_world_column",
        "_world_items",
    )
    MANAGER: ClassVar = "SceneNodeManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    def _place_blocks(self, levels: tuple[RowArray, ...], version: int) -> LevelBlocks:
        """Cut the columns of `place` into blocks; good for one version."""
        columns = (
            BlockColumn(rows_last(self._world_column), None, False, True),
            BlockColumn(rows_last(self._local_column)),
        )
        above = (
            ParentColumn(
                BlockColumn(rows_last(self._world_column)), _WORLD_ABOVE_ROOTS, 0
            ),
        )
        working = (
            ("f4", (4, 4), False),
            ("f4", (4, 4), False),
            ("f4", (4, 4), False),
            ("f4", (4, 4), False),
        )
        blocks = LevelBlocks(
            levels, self._parent_column, version, columns, above, working
        )
        self._kernels["place"] = blocks
        return blocks

    @property
    def local(self) -> NDArray[np.float32]:
        """Matrix from the node's space to its parent's. Shape (n, 4, 4)."""
        return self._local_column[: self._n]

    @local.setter
    def local(self, values: ArrayLike) -> None:
        if not is_same_view(self.local, values):
            self._local_column[: self._n] = _LOCAL_FIELD.to_column(values, self._n)

    @property
    def world(self) -> NDArray[np.float32]:
        """Matrix from the node's space to the world's. Shape (n, 4, 4)."""
        return self._world_column[: self._n]

    @world.setter
    def world(self, values: ArrayLike) -> None:
        if not is_same_view(self.world, values):
            self._world_column[: self._n] = _WORLD_FIELD.to_column(values, self._n)

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._local_column: NDArray[np.float32] = self._column_view(1)
        self._local_items: NDArray[Any] = self._item_view(1)
        self._local_cells: memoryview[float] = cell_view(self._local_column)
        self._world_column: NDArray[np.float32] = self._column_view(2)
        self._world_items: NDArray[Any] = self._item_view(2)
        self._world_cells: memoryview[float] = cell_view(self._world_column)
        self._parent_column = self._column_view(3)
        self._parent_cells = cell_view(self._parent_column)
        self._first_child_column = self._column_view(4)
        self._first_child_cells = cell_view(self._first_child_column)
        self._next_sibling_column = self._column_view(5)
        self._next_sibling_cells = cell_view(self._next_sibling_column)
        self._previous_sibling_column = self._column_view(6)
        self._previous_sibling_cells = cell_view(self._previous_sibling_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._local_items[dst] = self._local_items[src]
        self._world_items[dst] = self._world_items[src]
        self._parent_column[dst] = self._parent_column[src]
        self._first_child_column[dst] = self._first_child_column[src]
        self._next_sibling_column[dst] = self._next_sibling_column[src]
        self._previous_sibling_column[dst] = self._previous_sibling_column[src]


class SceneNodeManager(
    Sparse, MappedOne, OwnedHierarchy, OrphansDestroy, Callback, Release
):
    """Manager of every SceneNode: lookup sparse, instances one, destroy callback, release.

    Place of an entity relative to its parent, and in the world.
    """

    __slots__ = (
        "_entities",
        "_levels",
        "_released",
        "_sparse",
        "_sparse_cells",
        "_tracked_parents",
    )
    PARTS: ClassVar = ManagerParts(
        row=SceneNode,
        accessors=("packed",),
        create=("packed", "sparse", "one", "hierarchy", "owned_children"),
        create_many=("owned_children",),
        destroy_row=("packed", "sparse", "hierarchy", "orphans_destroy", "release"),
    )
    ROWS: ClassVar = SceneNodeData
    CONVERTERS: ClassVar = _FIELDS.converters
    data: SceneNodeData

    def local(self, row: int, /) -> tuple[tuple[float, ...], ...]:
        """Matrix from the node's space to its parent's."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        cell = _LOCAL_STRUCT.unpack_from(data._local_cells, 64 * row)
        return nested(cell, (4, 4))

    def set_local(self, row: int, value: ArrayLike, /) -> None:
        """Set `local` of a row: 16 values."""
        _value = _LOCAL_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _LOCAL_STRUCT.pack_into(data._local_cells, 64 * row, *_value)

    def world(self, row: int, /) -> tuple[tuple[float, ...], ...]:
        """Matrix from the node's space to the world's."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        cell = _WORLD_STRUCT.unpack_from(data._world_cells, 64 * row)
        return nested(cell, (4, 4))

    def set_world(self, row: int, value: ArrayLike, /) -> None:
        """Set `world` of a row: 16 values."""
        _value = _WORLD_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _WORLD_STRUCT.pack_into(data._world_cells, 64 * row, *_value)

    def row(self, row: int, /) -> SceneNode:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return SceneNode(self.local(row), self.world(row))

    def __getitem__(self, entity: Entity, /) -> SceneNodeRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(SceneNodeRef, entity)

    def rows(self) -> Iterator[SceneNodeRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(SceneNodeRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        local: ArrayLike = _LOCAL_DEFAULT,
        world: ArrayLike = _WORLD_DEFAULT,
        parent: Instance = NIL,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1).

        Raises:
            StaleEntityError: the entity is dead.
            DuplicateInstanceError: the entity has an instance already.
            StaleInstanceError: the parent is not in use.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        if parent is not NIL:
            return self._create_child(
                parent, self.create, entity, local=local, world=world
            )
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _local_ = _LOCAL_CELL
            if local is not _LOCAL_DEFAULT:
                _local_ = _LOCAL_FIELD.to_cell(local)
            _world_ = _WORLD_CELL
            if world is not _WORLD_DEFAULT:
                _world_ = _WORLD_FIELD.to_cell(world)
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
            data._grow(data._n + 1, (local, world))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(*_evicted, entity, local=local, world=world)
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            _LOCAL_STRUCT.pack_into(data._local_cells, 64 * row, *_local_)
            _WORLD_STRUCT.pack_into(data._world_cells, 64 * row, *_world_)
            data._n = row + 1
            self._sparse_cells[_slot] = row
            data._parent_cells[row] = NIL
            data._first_child_cells[row] = NIL
            data._next_sibling_cells[row] = NIL
            data._previous_sibling_cells[row] = row
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
        *,
        parents: Instance | ArrayLike = NIL,
        **columns: Unpack[SceneNodeFields],
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. A table, of Arrow or a
        mapping, has columns as well: keywords win, `entity` is ignored. The errors are
        those of `create`; whatever raises changes nothing.
        """
        if parents is not NIL:
            return self._create_children(
                parents, self._create_many, entities, columns, table
            )
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
            put_cells(data._local_column, span, columns["local"])
            put_cells(data._world_column, span, columns["world"])
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            data._parent_column[span] = NIL
            data._first_child_column[span] = NIL
            data._next_sibling_column[span] = NIL
            data._previous_sibling_column[span] = rows
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return rows

    ensure = make_ensure(create)

    def _destroy_row(self, row: Instance, notified: bool = False) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        if data._first_child_cells[row] != NIL:
            return self.destroy_rows(np.array([row]))
        if not notified and self._released.entries:
            return self._destroy_notified(row)
        try:
            self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
            if data._parent_cells[row] != NIL:
                self._detach_from_parent(row)
            src, dst = data._n - 1, row
            if src != dst:
                data._entity_cells[dst] = data._entity_cells[src]
                data._local_items[dst] = data._local_items[src]
                data._world_items[dst] = data._world_items[src]
                data._parent_cells[dst] = data._parent_cells[src]
                data._first_child_cells[dst] = data._first_child_cells[src]
                data._next_sibling_cells[dst] = data._next_sibling_cells[src]
                data._previous_sibling_cells[dst] = data._previous_sibling_cells[src]
                self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
                self._relink_hierarchy(src, dst)
            data._n = src
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def place(self) -> None:
        """Find every node's matrix in the world, parents first.

        Reads parent.world, local; writes world. O(n), n rows; no structural change.
        """
        data = self.data
        _blocks = data._kernels.get("place")
        if _blocks is None or _blocks.stamp != data._version:
            _blocks = data._place_blocks(self.levels(), data._version)
        for world, local, _parent_world, _tmp, _tmp2, _tmp3, _tmp4 in _blocks:
            # world = parent.world @ local
            _tmp[...] = _parent_world
            _tmp2[...] = local
            np.multiply(_tmp[:, 0, None], _tmp2[0], out=_tmp3)
            np.multiply(_tmp[:, 1, None], _tmp2[1], out=_tmp4)
            _tmp3 += _tmp4
            np.multiply(_tmp[:, 2, None], _tmp2[2], out=_tmp4)
            _tmp3 += _tmp4
            np.multiply(_tmp[:, 3, None], _tmp2[3], out=_tmp4)
            _tmp3 += _tmp4
            world[...] = _tmp3


class SceneNodeRef(EntityProxy):
    """A row of a SceneNodeManager, which follows its entity."""

    __slots__ = ()

    local = ArrayField.of(np.float32, SceneNodeManager.set_local)
    world = ArrayField.of(np.float32, SceneNodeManager.set_world)
