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

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import index
from struct import Struct
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime.callbacks import Callbacks, Subscription
from ._runtime.columns.buffers import (
    Column,
    allocate,
    cells,
    copied_if_view,
    copy_rows,
    cut,
    flat_cells,
    grown_capacity,
    is_same_view,
    items,
    load_rows,
    nested,
    put_cells,
    saved_rows,
    warn_if_viewed,
    whole_rows,
)
from ._runtime.convert.numbers import FloatField
from ._runtime.entities.arrays import as_entities
from ._runtime.entities.handles import (
    NIL,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ._runtime.entities.layout import INDEX_MASK
from ._runtime.entities.manager import EntityManager
from ._runtime.errors import StaleViewWarning
from ._runtime.hierarchy.links import (
    FamilyLinks,
    circular,
    closed_circle,
    leave_family,
    parent_numbers,
    parents_given,
    remap_family,
    set_parents,
    with_descendants,
)
from ._runtime.hierarchy.trees import LevelCache, is_below
from ._runtime.instances.chains import ROUNDS, walk
from ._runtime.kernels.blocks import (
    Blocks,
    Cells,
    LevelBlocks,
    gather,
    rows_last,
    scatter,
)
from ._runtime.maps.sparse import (
    grown_map,
    indices,
    predecessors,
    sparse_lookup,
    sparse_map,
)
from ._runtime.placement.rows import (
    distinct,
    duplicate_instance,
    fill,
    first_missing,
    first_present,
    first_repeated,
    has_row,
    integers,
    is_integer,
    locked,
    missing,
    permutation,
    row_in_use,
    rows_in_use,
    unused,
)
from ._runtime.placement.sorting import key_values, sort_key, sort_order

MANAGER: Final = "SceneNodeManager"
ROW_BYTES: Final = 152
COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("local", np.dtype(np.float32), (4, 4), 64, ("hot",), 8),
    Column("world", np.dtype(np.float32), (4, 4), 64, ("hot",), 72),
    Column("parent", np.dtype(np.uint32), (), 4, ("hot",), 136),
    Column("first_child", np.dtype(np.uint32), (), 4, ("hot",), 140),
    Column("next_sibling", np.dtype(np.uint32), (), 4, ("hot",), 144),
    Column("previous_sibling", np.dtype(np.uint32), (), 4, ("hot",), 148),
)
_LOCAL: Final = FloatField("SceneNode.local", "f32", (4, 4))
_WORLD: Final = FloatField("SceneNode.world", "f32", (4, 4))
LOCAL_STRUCT: Final = Struct("=16f")
WORLD_STRUCT: Final = Struct("=16f")
LOCAL_DEFAULT: Final = (
    (1.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 1.0),
)
LOCAL_CELL: Final = _LOCAL.one(LOCAL_DEFAULT)
WORLD_DEFAULT: Final = (
    (1.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 1.0),
)
WORLD_CELL: Final = _WORLD.one(WORLD_DEFAULT)
WORLD_ABOVE_ROOTS: Final = np.array(
    (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    np.float32,
).reshape(4, 4, 1)


class SceneNode(NamedTuple):
    """One row of a SceneNodeManager, copied out."""

    local: tuple[tuple[float, ...], ...]
    """Matrix from the node's space to its parent's."""

    world: tuple[tuple[float, ...], ...]
    """Matrix from the node's space to the world's."""


class SceneNodeFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    local: ArrayLike
    world: ArrayLike


class SceneNodeHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    local: NDArray[np.float32]
    world: NDArray[np.float32]


class SceneNodeData:
    """The columns of a SceneNodeManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_buffer",
        "_entity_cells",
        "_entity_column",
        "_first_child_cells",
        "_first_child_column",
        "_kernels",
        "_local_cells",
        "_local_column",
        "_local_items",
        "_n",
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
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _kernels: dict[str, Blocks]
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _local_column: NDArray[np.float32]
    _local_items: NDArray[Any]
    _local_cells: memoryview[float]
    _world_column: NDArray[np.float32]
    _world_items: NDArray[Any]
    _world_cells: memoryview[float]
    _parent_column: NDArray[np.uint32]
    _parent_cells: memoryview[Instance]
    _first_child_column: NDArray[np.uint32]
    _first_child_cells: memoryview[Instance]
    _next_sibling_column: NDArray[np.uint32]
    _next_sibling_cells: memoryview[Instance]
    _previous_sibling_column: NDArray[np.uint32]
    _previous_sibling_cells: memoryview[Instance]

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._place(allocate(ROW_BYTES, capacity), capacity)

    @property
    def n(self) -> int:
        """Rows in use."""
        return self._n

    @property
    def allocated(self) -> int:
        """Rows that fit into the buffer."""
        return self._allocated

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """The one buffer that all columns are cut from."""
        return self._buffer

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,); read-only."""
        column = self._entity_column[: self._n]
        column.flags.writeable = False
        return column

    @property
    def parent(self) -> NDArray[np.uint32]:
        """The parent of each row, NIL for roots, shape (n,); read-only."""
        column = self._parent_column[: self._n]
        column.flags.writeable = False
        return column

    @property
    def local(self) -> NDArray[np.float32]:
        """Matrix from the node's space to its parent's. Shape (n, 4, 4)."""
        return self._local_column[: self._n]

    @local.setter
    def local(self, values: ArrayLike) -> None:
        if not is_same_view(self.local, values):
            self._local_column[: self._n] = _LOCAL.many(values, self._n)

    @property
    def world(self) -> NDArray[np.float32]:
        """Matrix from the node's space to the world's. Shape (n, 4, 4)."""
        return self._world_column[: self._n]

    @world.setter
    def world(self, values: ArrayLike) -> None:
        if not is_same_view(self.world, values):
            self._world_column[: self._n] = _WORLD.many(values, self._n)

    def tagged(self, tag: Literal["hot"], /) -> SceneNodeHotColumns:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return SceneNodeHotColumns(self.local, self.world)
        raise ValueError(f"SceneNode has no tag {tag!r}; it has hot")

    def _family(self) -> FamilyLinks:
        """Return the columns that make the hierarchy."""
        return FamilyLinks(
            self._parent_column,
            self._first_child_column,
            self._next_sibling_column,
            self._previous_sibling_column,
        )

    def _place_blocks(self, levels: tuple[RowArray, ...], version: int) -> Blocks:
        """Cut the columns of `place` into blocks; good for one version."""
        working: tuple[Cells, ...] = (
            ("f4", (4, 4), True),
            ("f4", (4, 4), True),
            ("f4", (4, 4), True),
            ("f4", (4, 4), False),
            ("f4", (4, 4), False),
            ("f4", (4, 4), False),
            ("f4", (4, 4), False),
        )
        blocks = LevelBlocks(levels, self._parent_column, version, working)
        self._kernels["place"] = blocks
        return blocks

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._local_column = cut(buffer, COLUMNS[1], capacity)
        self._local_items = items(self._local_column)
        self._local_cells = flat_cells(self._local_column)
        self._world_column = cut(buffer, COLUMNS[2], capacity)
        self._world_items = items(self._world_column)
        self._world_cells = flat_cells(self._world_column)
        self._parent_column = cut(buffer, COLUMNS[3], capacity)
        self._parent_cells = cells(self._parent_column)
        self._first_child_column = cut(buffer, COLUMNS[4], capacity)
        self._first_child_cells = cells(self._first_child_column)
        self._next_sibling_column = cut(buffer, COLUMNS[5], capacity)
        self._next_sibling_cells = cells(self._next_sibling_column)
        self._previous_sibling_column = cut(buffer, COLUMNS[6], capacity)
        self._previous_sibling_cells = cells(self._previous_sibling_column)
        self._kernels = {}

    def _allocate(self, capacity: int, borrowed: tuple[object, ...] = ()) -> None:
        """Move the rows into a new buffer; O(n). `borrowed`: the caller's arguments."""
        buffer = allocate(ROW_BYTES, capacity)
        old, held, rows = self._buffer, self._allocated, self._n
        self._place(buffer, capacity)
        copy_rows(COLUMNS, old, held, buffer, capacity, rows)
        try:
            warn_if_viewed(old, MANAGER, borrowed)
        except StaleViewWarning:  # made an error by a filter
            self._place(old, held)
            raise

    def _save(self) -> dict[str, NDArray[Any]]:
        """Return the rows in use, by column."""
        return saved_rows(COLUMNS, self._buffer, self._allocated, self._n)

    def _load(self, rows: dict[str, NDArray[Any]]) -> None:
        """Fill the rows in use from what `_save` returned."""
        load_rows(COLUMNS, self._buffer, self._allocated, rows)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._local_items[dst] = self._local_items[src]
        self._world_items[dst] = self._world_items[src]
        self._parent_column[dst] = self._parent_column[src]
        self._first_child_column[dst] = self._first_child_column[src]
        self._next_sibling_column[dst] = self._next_sibling_column[src]
        self._previous_sibling_column[dst] = self._previous_sibling_column[src]


class SceneNodeManager:
    """Owns every SceneNode: lookup sparse, instances one, destroy callback, release.

    Place of an entity relative to its parent, and in the world.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_entities",
        "_levels",
        "_locks",
        "_released",
        "_sparse",
        "_sparse_cells",
        "_version",
        "data",
    )
    data: SceneNodeData
    _entities: EntityManager
    _sparse: NDArray[np.uint32]
    _sparse_cells: memoryview[Instance]
    _levels: LevelCache
    _released: Callbacks[RowArray]

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = SceneNodeData(capacity=0)
        self._entities = entities
        self._set_map(sparse_map(64))
        self._levels = LevelCache()
        self._entities._attach(self._before_destroy, self._entities_destroyed)
        self._released = Callbacks()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        data = self.data
        return {
            "version": self._version,
            "n": data._n,
            "allocated": data._allocated,
            "columns": data._save(),
            "entities": self._entities,
            "sparse": self._sparse,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._locks = 0
        self._version = state["version"]
        self.data = data = SceneNodeData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._entities = state["entities"]
        self._set_map(state["sparse"].copy())
        self._levels = LevelCache()
        self._entities._attach(self._before_destroy, self._entities_destroyed)
        self._released = Callbacks()

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self.data._n

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over the owners, one per row, in row order."""
        return iter(self.data.entity.tolist())

    def __contains__(self, entity: object) -> bool:
        """Return whether an entity has an instance; O(1)."""
        return is_integer(entity) and self.lookup(Entity(index(entity))) != NIL

    @property
    def version(self) -> int:
        """How many structural changes there were; views and rows are good until the next."""
        return self._version

    @property
    def capacity(self) -> int:
        """Rows that fit before the buffer must grow."""
        return self.data._allocated

    @property
    def nbytes(self) -> int:
        """Bytes that the manager holds: the buffer and the map and the levels and
        scratch; O(1)."""
        total = self.data._buffer.nbytes
        total += self._sparse.nbytes
        total += self._levels.rows.nbytes
        total += sum(blocks.nbytes for blocks in self.data._kernels.values())
        return total

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let structural changes raise StructureLockedError inside the `with` block."""
        self._locks += 1
        try:
            yield
        finally:
            self._locks -= 1

    def entity(self, row: Instance, /) -> Entity:
        """Return the owner of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._entity_cells[row]

    def local(self, row: Instance, /) -> tuple[tuple[float, ...], ...]:
        """Matrix from the node's space to its parent's."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        cell = LOCAL_STRUCT.unpack_from(data._local_cells, 64 * row)
        return nested(cell, (4, 4))

    def set_local(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `local` of a row: 16 values."""
        _value = _LOCAL.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        LOCAL_STRUCT.pack_into(data._local_cells, 64 * row, *_value)

    def world(self, row: Instance, /) -> tuple[tuple[float, ...], ...]:
        """Matrix from the node's space to the world's."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        cell = WORLD_STRUCT.unpack_from(data._world_cells, 64 * row)
        return nested(cell, (4, 4))

    def set_world(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `world` of a row: 16 values."""
        _value = _WORLD.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        WORLD_STRUCT.pack_into(data._world_cells, 64 * row, *_value)

    def row(self, row: Instance, /) -> SceneNode:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return SceneNode(self.local(row), self.world(row))

    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        try:
            row = self._sparse_cells[entity & INDEX_MASK]
        except IndexError:
            return NIL
        if row == NIL or self.data._entity_cells[row] != entity:
            return NIL
        return row

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        given = as_entities(entities)
        data = self.data
        owners = data._entity_column[: data._n]
        return sparse_lookup(self._sparse, owners, given, INDEX_MASK)

    def has(self, entity: Entity, /) -> bool:
        """Return whether the entity has an instance; O(1)."""
        return self.lookup(entity) != NIL

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]:
        """Return which of k entities have an instance, shape (k,); O(k)."""
        return has_row(self.lookup_many(entities))

    def require(self, entity: Entity, /) -> Instance:
        """Return the entity's row; O(1).

        Raises:
            MissingInstanceError: it has none.
        """
        row = self.lookup(entity)
        if row == NIL:
            raise missing(MANAGER, entity)
        return row

    def require_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, shape (k,); O(k).

        Raises:
            MissingInstanceError: one of them has none.
        """
        given = as_entities(entities)
        rows = self.lookup_many(given)
        first_missing(MANAGER, given, rows)
        return rows

    def parent(self, row: Instance, /) -> Instance:
        """Return the row's parent, or NIL for a root; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._parent_cells[row]

    def first_child(self, row: Instance, /) -> Instance:
        """Return the child that was attached first, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._first_child_cells[row]

    def next_sibling(self, row: Instance, /) -> Instance:
        """Return the same parent's child that was attached after this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._next_sibling_cells[row]

    def previous_sibling(self, row: Instance, /) -> Instance:
        """Return the same parent's child that was attached before this one, or NIL; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        before = data._previous_sibling_cells[row]
        return NIL if data._next_sibling_cells[before] == NIL else before

    def children(self, row: Instance, /) -> RowArray:
        """Return the row's children in order of attachment, shape (k,); O(k)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return walk(data._next_sibling_cells, data._first_child_cells[row])

    def roots(self) -> RowArray:
        """Return the rows without a parent, ascending; O(n)."""
        return np.flatnonzero(self.data.parent == NIL)

    def levels(self) -> tuple[RowArray, ...]:
        """Return the rows level by level, from the roots down, ascending in each; read-only.

        O(n log depth), once per `version`.
        """
        return self._levels.levels(self.data.parent, self._version)

    def set_parent(self, row: Instance, parent: Instance, /) -> None:
        """Attach a row behind a parent's children, or make it a root with NIL; O(1).

        No row moves. A row with children costs O(depth of the parent). Nothing changes if
        that is its parent already.

        Raises:
            StaleInstanceError: a row is not in use.
            HierarchyError: the parent is the row itself or below it.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        parent = Instance(index(parent))
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        if parent != NIL and not 0 <= parent < data._n:
            raise unused(parent, data._n, MANAGER)
        parents = data._parent_cells
        if parents[row] == parent:
            return
        is_leaf = data._first_child_cells[row] == NIL
        if parent == row or (not is_leaf and is_below(parents, parent, row)):
            raise circular(MANAGER, row)
        if parents[row] != NIL:
            self._leave_parent(row)
        self._join_parent(row, parent)
        self._version += 1

    def set_parent_many(self, rows: ArrayLike, parents: ArrayLike, /) -> None:
        """Give k distinct rows, or a mask's, their parents: one for all, or one each; O(k * depth).

        NIL makes roots. Rows are attached in the order given; those that have that parent
        already stay where they are. Only the final state counts: rows may change places
        with their ancestors. Never more than O(n log depth), as for many rows in deep trees.

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            ValueError: not as many parents as rows.
            HierarchyError: a row would become its own ancestor.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        numbers = parent_numbers(parents, MANAGER)
        given = rows_in_use(rows, data, MANAGER)
        n = data._n
        distinct(given, n, MANAGER)
        wanted = parents_given(numbers, len(given), n, MANAGER)
        changed = data._parent_column[given] != wanted
        given, wanted = given[changed], wanted[changed]
        if len(given) == 0:
            return
        links = data._family()
        culprit = closed_circle(links, given, wanted, n)
        if culprit != NIL:
            raise circular(MANAGER, culprit)
        set_parents(links, given, wanted)
        self._version += 1

    def create(
        self,
        entity: Entity,
        /,
        *,
        local: ArrayLike = LOCAL_DEFAULT,
        world: ArrayLike = WORLD_DEFAULT,
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
            _local_ = LOCAL_CELL
            if local is not LOCAL_DEFAULT:
                _local_ = _LOCAL.one(local)
            _world_ = WORLD_CELL
            if world is not WORLD_DEFAULT:
                _world_ = _WORLD.one(world)
        except Exception:
            self._entities.require(entity)  # death is the graver error
            raise
        _slot = entity & INDEX_MASK
        try:
            _is_alive = self._entities._cells[_slot] == entity
        except IndexError:
            _is_alive = False
        if not _is_alive:
            self._entities.require(entity)  # raises StaleEntityError
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        _map = None
        try:
            _found = self._sparse_cells[_slot]
        except IndexError:
            _found, _map = NIL, grown_map(self._sparse, _slot)
        if _found != NIL and data._entity_cells[_found] == entity:
            raise duplicate_instance(MANAGER, entity)
        if data._n == data._allocated:
            data._allocate(grown_capacity(data._allocated, data._n + 1), (local, world))
        if _map is not None:
            self._set_map(_map)
        with self._entities.dispatch:
            if _found != NIL and data._entity_cells[_found] != entity:
                # a dead entity had the same index
                self._destroy_rows(np.array([_found]))
                _found = NIL
            row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
            data._entity_cells[row] = entity
            LOCAL_STRUCT.pack_into(data._local_cells, 64 * row, *_local_)
            WORLD_STRUCT.pack_into(data._world_cells, 64 * row, *_world_)
            data._n = row + 1
            self._sparse_cells[_slot] = row
            data._parent_cells[row] = NIL
            data._first_child_cells[row] = NIL
            data._next_sibling_cells[row] = NIL
            data._previous_sibling_cells[row] = row
            self._version += 1
            return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        local: ArrayLike = LOCAL_DEFAULT,
        world: ArrayLike = WORLD_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(len(_given), local=local, world=world)
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        first_repeated(MANAGER, entities)
        first_present(MANAGER, entities, self.lookup_many(entities))
        _borrowed = (entities, local, world)
        self._make_room(entities, columns, _borrowed)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        local: ArrayLike = LOCAL_DEFAULT,
        world: ArrayLike = WORLD_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "local": _LOCAL.many(local, count, data._buffer),
            "world": _WORLD.many(world, count, data._buffer),
        }
        if self._locks:
            raise locked(MANAGER)
        return columns

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Let the buffer grow if it must: the second part. `borrowed`: the caller's arguments."""
        data = self.data
        needed = data._n + len(entities)
        if needed > data._allocated:
            data._allocate(grown_capacity(data._allocated, needed), borrowed)

    def _append_many(self, entities: EntityArray, columns: Columns) -> RowArray:
        """Add rows of checked columns: the last part, which only the map can stop."""
        data = self.data
        count = len(entities)
        if count == 0:
            return np.empty(0, np.intp)
        slots = indices(entities, INDEX_MASK)
        highest = int(slots.max())
        if highest >= len(self._sparse):
            self._set_map(grown_map(self._sparse, highest))
        with self._entities.dispatch:
            owners = data._entity_column[: data._n]
            dead = predecessors(self._sparse, slots, owners, entities)
            if len(dead):
                self._destroy_rows(np.sort(self.lookup_many(dead)))
            n = data._n
            end = n + count
            span = slice(n, end)
            rows = np.arange(n, end)
            data._entity_column[span] = entities
            put_cells(
                data._local_column,
                data._local_items,
                span,
                columns["local"],
            )
            put_cells(
                data._world_column,
                data._world_items,
                span,
                columns["world"],
            )
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            data._parent_column[span] = NIL
            data._first_child_column[span] = NIL
            data._next_sibling_column[span] = NIL
            data._previous_sibling_column[span] = rows
            self._version += 1
            return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        local: ArrayLike = LOCAL_DEFAULT,
        world: ArrayLike = WORLD_DEFAULT,
    ) -> Instance:
        """Return the entity's instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        if row != NIL:
            return row
        return self.create(entity, local=local, world=world)

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). The last row moves into its place.

        Its descendants go too; O(their number), O(n log depth) for large trees.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        self._destroy_row(row)

    def destroy_many(self, rows: ArrayLike, /) -> None:
        """Remove k instances, given as distinct rows or as a mask of length n; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = rows_in_use(rows, self.data, MANAGER)
        self._destroy_rows(distinct(given, self.data._n, MANAGER))

    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            raise locked(MANAGER)
        if type(entity) is not int:
            entity = Entity(index(entity))
        try:
            row = self._sparse_cells[entity & INDEX_MASK]
        except IndexError:
            return 0
        if row == NIL or self.data._entity_cells[row] != entity:
            return 0
        return self._destroy_row(row)

    def remove_many(self, entities: ArrayLike, /) -> int:
        """Remove the instances of k entities and return how many went; O(k)."""
        if self._locks:
            raise locked(MANAGER)
        rows = self.lookup_many(entities)
        gone = np.unique(rows[rows != NIL])
        return self._destroy_rows(gone)

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            raise locked(MANAGER)
        self._destroy_rows(np.arange(self.data._n))

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        if data._first_child_cells[row] != NIL:
            return self._destroy_rows(np.array([row]))
        with self._entities.dispatch:
            self._release(np.array([row]))
            self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
            if data._parent_cells[row] != NIL:
                self._leave_parent(row)
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
                self._relink_family(src, dst)
            data._n = src
            self._version += 1
            return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        gone = with_descendants(data._family(), gone, data._n)
        with self._entities.dispatch:
            self._release(gone)
            self._sparse[indices(data._entity_column[gone], INDEX_MASK)] = NIL
            leave_family(data._family(), gone, data._n)
            n = data._n
            src, dst = fill(gone, n)
            if len(src):
                data._move_rows(src, dst)
                self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst
                remap_family(data._family(), src, dst, n)
            data._n = n - len(gone)
            self._version += 1
            return len(gone)

    def sort(self, key: ArrayLike, /) -> None:
        """Sort the rows by a key; O(n log n).

        Ascending, stable, NaN last. A key array has one value per row.

        Raises:
            ValueError: no such field, or a key of another length.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        key = sort_key(key_values(key, MANAGER), data._n, MANAGER)
        self._permute(sort_order(key))

    def reorder(self, order: ArrayLike, /) -> None:
        """Let row k become what row order[k] was; O(n).

        Raises:
            ValueError: the order is not a permutation of the rows.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = integers(order, MANAGER, "the order")
        order = permutation(given, self.data._n, MANAGER)
        self._permute(order)

    def _permute(self, src: RowArray) -> None:
        """Move every row src[k] to k."""
        data = self.data
        n = data._n
        dst = np.arange(n)
        data._move_rows(src, dst)
        self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst
        remap_family(data._family(), src, dst, n)
        self._version += 1

    def reserve(self, rows: int, /) -> None:
        """Make room for `rows` instances in all, so that creating them moves nothing; O(n)."""
        rows = index(rows)
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if rows > data._allocated:
            data._allocate(whole_rows(rows))
            self._version += 1

    def shrink_to_fit(self) -> None:
        """Give back the memory of rows not in use; O(n)."""
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        capacity = whole_rows(data._n)
        if capacity < data._allocated:
            data._allocate(capacity)
            self._version += 1
        owners = indices(data._entity_column[: data._n], INDEX_MASK)
        size = whole_rows(int(owners.max()) + 1) if len(owners) else 64
        if size < len(self._sparse):
            self._set_map(self._sparse[:size].copy())

    def _set_map(self, sparse: NDArray[np.uint32]) -> None:
        self._sparse = sparse
        self._sparse_cells = cells(sparse)

    def _join_parent(self, row: Instance, parent: Instance) -> None:
        """Append a row without a parent to the children of one, or leave it a root."""
        data = self.data
        nexts, previous = data._next_sibling_cells, data._previous_sibling_cells
        data._parent_cells[row] = parent
        nexts[row] = NIL
        previous[row] = row
        if parent == NIL:
            return
        first = data._first_child_cells[parent]
        if first == NIL:
            data._first_child_cells[parent] = row
            return
        last = previous[first]
        nexts[last] = row
        previous[row] = last
        previous[first] = row

    def _leave_parent(self, row: Instance) -> None:
        """Take a row out of its parent's children."""
        data = self.data
        firsts = data._first_child_cells
        nexts, previous = data._next_sibling_cells, data._previous_sibling_cells
        owner = data._parent_cells[row]
        before, after = previous[row], nexts[row]
        if before == row:  # the only one
            firsts[owner] = NIL
            return
        if nexts[before] == NIL:  # the first; before it comes the last
            firsts[owner] = after
        else:
            nexts[before] = after
        behind = firsts[owner] if after == NIL else after
        previous[behind] = before

    def _relink_family(self, src: int, dst: Instance) -> None:
        """Mend the links of children, siblings and parent after row src went to dst."""
        data = self.data
        firsts = data._first_child_cells
        nexts, previous = data._next_sibling_cells, data._previous_sibling_cells
        if firsts[dst] != NIL:
            self._tell_children(src, dst)
        owner = data._parent_cells[dst]
        if owner == NIL:
            previous[dst] = dst
            return
        before, after = previous[dst], nexts[dst]
        if before == src:  # the only one
            firsts[owner] = dst
            previous[dst] = dst
            return
        if nexts[before] == NIL:  # the first; before it comes the last
            firsts[owner] = dst
        else:
            nexts[before] = dst
        behind = firsts[owner] if after == NIL else after
        previous[behind] = dst

    def _tell_children(self, src: int, dst: Instance) -> None:
        """Let the children of a row that went from src to dst know it."""
        data = self.data
        parents = data._parent_cells
        child = data._first_child_cells[dst]
        for _ in range(ROUNDS):
            parents[child] = dst
            child = data._next_sibling_cells[child]
            if child == NIL:
                return
        column = data._parent_column[: data._n + 1]  # the spare row as well
        column[column == src] = dst  # many children: one pass over all rows is quicker

    def _before_destroy(self) -> None:
        """Refuse the destruction of entities while the manager is locked."""
        if self._locks:
            raise locked(MANAGER)

    def _entities_destroyed(self, entities: EntityArray) -> None:
        """Remove the rows of entities that have just died."""
        self.remove_many(entities)

    def place(self) -> None:
        """Find every node's matrix in the world, parents first.

        Reads parent.world, local; writes world. O(n), n rows; no structural change.
        """
        data = self.data
        _blocks = data._kernels.get("place")
        if _blocks is None or _blocks.stamp != self._version:
            _blocks = data._place_blocks(self.levels(), self._version)
        _all_world = rows_last(data._world_column)
        _all_local = rows_last(data._local_column)
        for (
            _rows,
            _parents,
            world,
            _parent_world,
            local,
            _tmp,
            _tmp2,
            _tmp3,
            _tmp4,
        ) in _blocks.views:
            gather(_all_local, _rows, local)
            if _parents is None:
                _parent_world[...] = WORLD_ABOVE_ROOTS
            else:
                gather(_all_world, _parents, _parent_world)
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
            scatter(_all_world, _rows, world)

    def on_release(self, callback: Callable[[RowArray], object], /) -> Subscription:
        """Have `callback(rows)` called with rows about to go, still readable, on every way out.

        Inside, this manager is locked, and entities that are destroyed wait for their
        turn. Exceptions stop nothing; they are raised together, as an ExceptionGroup,
        when all is done. `cancel()` of what is returned ends it. Pickle does not save it.
        """
        return self._released.add(callback)

    def _release(self, rows: RowArray) -> None:
        self._locks += 1
        try:
            self._released.run(rows, self._entities.dispatch.errors)
        finally:
            self._locks -= 1
