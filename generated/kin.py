"""Kin: lookup sparse, instances one, destroy gc.

The parent of each young animal. The young of dead animals have none.

One buffer of 28 bytes per row, column after column:

    column            type  bytes/row  offset (64 rows)  tags
    ----------------  ----  ---------  ----------------  ----
    entity            u64           8                 0  hot
    born              i32           4               512  hot
    parent            u32           4               768  hot
    first_child       u32           4              1024  hot
    next_sibling      u32           4              1280  hot
    previous_sibling  u32           4              1536  hot
    28 bytes per row, 4096 for 64 rows
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
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.hierarchy import (
    OrphansRoot,
    OwnedHierarchy,
    OwnedHierarchyRows,
)
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import EntityProxy, RowField
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view
from ecsgen_runtime.tables.columns import HotColumns
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import IntField
from ecsgen_runtime.values.interchange import TableLike
from ecsgen_runtime.world.queries.query_columns import QueryColumn, QueryColumns
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("born", np.dtype(np.int32), (), 4, ("hot",), 8),
    Column("parent", np.dtype(np.uint32), (), 4, ("hot",), 12),
    Column("first_child", np.dtype(np.uint32), (), 4, ("hot",), 16),
    Column("next_sibling", np.dtype(np.uint32), (), 4, ("hot",), 20),
    Column("previous_sibling", np.dtype(np.uint32), (), 4, ("hot",), 24),
)
_BORN_FIELD: Final = IntField("Kin.born", "i32")
_BORN_DEFAULT: Final = 0
_FIELDS: Final = component_fields(
    (_BORN_FIELD, "i32", _BORN_DEFAULT, ("hot",), "", "The tick when it was spawned."),
)


class Kin(NamedTuple):
    """One row of a KinManager, copied out."""

    born: int = _BORN_DEFAULT
    """The tick when it was spawned."""


class KinFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    born: ArrayLike


class KinColumns(QueryColumns):
    """The columns of Kin in a query's rows: one cell per entity."""

    __slots__ = ()

    born = QueryColumn[np.int32]("born", _BORN_FIELD, _BORN_DEFAULT)
    """The tick when it was spawned. Shape (n,)."""


class KinData(OwnedHierarchyRows, HotColumns):
    """The columns of a KinManager: views of the rows in use."""

    __slots__ = (
        "_born_cells",
        "_born_column",
        "_entity_cells",
        "_entity_column",
        "_first_child_cells",
        "_first_child_column",
        "_next_sibling_cells",
        "_next_sibling_column",
        "_parent_cells",
        "_parent_column",
        "_previous_sibling_cells",
        "_previous_sibling_column",
    )
    MANAGER: ClassVar = "KinManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def born(self) -> NDArray[np.int32]:
        """The tick when it was spawned. Shape (n,)."""
        return self._born_column[: self._n]

    @born.setter
    def born(self, values: ArrayLike) -> None:
        if not is_same_view(self.born, values):
            self._born_column[: self._n] = _BORN_FIELD.to_column(values, self._n)

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._born_column: NDArray[np.int32] = self._column_view(1)
        self._born_cells: memoryview[int] = cell_view(self._born_column)
        self._parent_column = self._column_view(2)
        self._parent_cells = cell_view(self._parent_column)
        self._first_child_column = self._column_view(3)
        self._first_child_cells = cell_view(self._first_child_column)
        self._next_sibling_column = self._column_view(4)
        self._next_sibling_cells = cell_view(self._next_sibling_column)
        self._previous_sibling_column = self._column_view(5)
        self._previous_sibling_cells = cell_view(self._previous_sibling_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._born_column[dst] = self._born_column[src]
        self._parent_column[dst] = self._parent_column[src]
        self._first_child_column[dst] = self._first_child_column[src]
        self._next_sibling_column[dst] = self._next_sibling_column[src]
        self._previous_sibling_column[dst] = self._previous_sibling_column[src]


class KinManager(Sparse, MappedOne, OwnedHierarchy, OrphansRoot, Gc):
    """Manager of every Kin: lookup sparse, instances one, destroy gc.

    The parent of each young animal. The young of dead animals have none.
    """

    __slots__ = (
        "_entities",
        "_levels",
        "_rng",
        "_sparse",
        "_sparse_cells",
        "_tracked_parents",
    )
    PARTS: ClassVar = ManagerParts(
        row=Kin,
        accessors=("packed",),
        create=("packed", "sparse", "one", "hierarchy", "owned_children"),
        create_many=("owned_children",),
        destroy_row=("packed", "sparse", "hierarchy", "orphans_root"),
    )
    ROWS: ClassVar = KinData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("born",)
    data: KinData

    def born(self, row: int, /) -> int:
        """The tick when it was spawned."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._born_cells[row]

    def set_born(self, row: int, value: int, /) -> None:
        """Set `born` of a row."""
        _value = _BORN_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._born_cells[row] = _value

    def row(self, row: int, /) -> Kin:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Kin(data._born_cells[row])

    def __getitem__(self, entity: Entity, /) -> KinRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(KinRef, entity)

    def rows(self) -> Iterator[KinRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(KinRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        born: int = _BORN_DEFAULT,
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
            return self._create_child(parent, self.create, entity, born=born)
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _born_ = _BORN_DEFAULT
            if born is not _BORN_DEFAULT:
                _born_ = _BORN_FIELD.to_cell(born)
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
            return self._evict_and_create(*_evicted, entity, born=born)
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            data._born_cells[row] = _born_
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
        **columns: Unpack[KinFields],
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
            data._born_column[span] = columns["born"]
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

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        try:
            self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
            if data._parent_cells[row] != NIL:
                self._detach_from_parent(row)
            if data._first_child_cells[row] != NIL:
                self._release_children(row)
            src, dst = data._n - 1, row
            if src != dst:
                data._entity_cells[dst] = data._entity_cells[src]
                data._born_cells[dst] = data._born_cells[src]
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


class KinRef(EntityProxy):
    """A row of a KinManager, which follows its entity."""

    __slots__ = ()

    born = RowField.cell(KinManager.born, KinManager.set_born, _BORN_FIELD)
