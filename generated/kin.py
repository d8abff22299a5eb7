"""Kin: lookup sparse, instances one, destroy gc.

Who is whose child. The young of the dead are on their own.

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
from contextlib import contextmanager
from operator import index
from random import Random
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime.columns.buffers import (
    Column,
    allocate,
    cells,
    copied_if_view,
    copy_rows,
    cut,
    grown_capacity,
    is_same_view,
    load_rows,
    saved_rows,
    warn_if_viewed,
    whole_rows,
)
from ._runtime.convert.numbers import IntField
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
    children_of,
    circular,
    closed_circle,
    leave_family,
    make_roots,
    parent_numbers,
    parents_given,
    remap_family,
    set_parents,
)
from ._runtime.hierarchy.trees import LevelCache, is_below
from ._runtime.instances.chains import ROUNDS, walk
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
from ._runtime.queries.columns import QueryColumn, QueryColumns

MANAGER: Final = "KinManager"
ROW_BYTES: Final = 28
COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("born", np.dtype(np.int32), (), 4, ("hot",), 8),
    Column("parent", np.dtype(np.uint32), (), 4, ("hot",), 12),
    Column("first_child", np.dtype(np.uint32), (), 4, ("hot",), 16),
    Column("next_sibling", np.dtype(np.uint32), (), 4, ("hot",), 20),
    Column("previous_sibling", np.dtype(np.uint32), (), 4, ("hot",), 24),
)
_BORN: Final = IntField("Kin.born", "i32")
BORN_DEFAULT: Final = 0
SORT_KEYS: Final = ("born",)


class Kin(NamedTuple):
    """One row of a KinManager, copied out."""

    born: int
    """The tick of its birth."""


class KinFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    born: ArrayLike


class KinHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    born: NDArray[np.int32]


class KinData:
    """The columns of a KinManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_born_cells",
        "_born_column",
        "_buffer",
        "_entity_cells",
        "_entity_column",
        "_first_child_cells",
        "_first_child_column",
        "_n",
        "_next_sibling_cells",
        "_next_sibling_column",
        "_parent_cells",
        "_parent_column",
        "_previous_sibling_cells",
        "_previous_sibling_column",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _born_column: NDArray[np.int32]
    _born_cells: memoryview[int]
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
    def born(self) -> NDArray[np.int32]:
        """The tick of its birth. Shape (n,)."""
        return self._born_column[: self._n]

    @born.setter
    def born(self, values: ArrayLike) -> None:
        if not is_same_view(self.born, values):
            self._born_column[: self._n] = _BORN.many(values, self._n)

    def tagged(self, tag: Literal["hot"], /) -> KinHotColumns:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return KinHotColumns(self.born)
        raise ValueError(f"Kin has no tag {tag!r}; it has hot")

    def _family(self) -> FamilyLinks:
        """Return the columns that make the hierarchy."""
        return FamilyLinks(
            self._parent_column,
            self._first_child_column,
            self._next_sibling_column,
            self._previous_sibling_column,
        )

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._born_column = cut(buffer, COLUMNS[1], capacity)
        self._born_cells = cells(self._born_column)
        self._parent_column = cut(buffer, COLUMNS[2], capacity)
        self._parent_cells = cells(self._parent_column)
        self._first_child_column = cut(buffer, COLUMNS[3], capacity)
        self._first_child_cells = cells(self._first_child_column)
        self._next_sibling_column = cut(buffer, COLUMNS[4], capacity)
        self._next_sibling_cells = cells(self._next_sibling_column)
        self._previous_sibling_column = cut(buffer, COLUMNS[5], capacity)
        self._previous_sibling_cells = cells(self._previous_sibling_column)

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
        self._born_column[dst] = self._born_column[src]
        self._parent_column[dst] = self._parent_column[src]
        self._first_child_column[dst] = self._first_child_column[src]
        self._next_sibling_column[dst] = self._next_sibling_column[src]
        self._previous_sibling_column[dst] = self._previous_sibling_column[src]


class KinColumns(QueryColumns):
    """The columns of Kin in a query's rows: one cell per entity.

    A column is a view where the rows follow each other, else a copy: assign to it to
    write.
    """

    __slots__ = ()

    born = QueryColumn[np.int32]("born", _BORN, BORN_DEFAULT)
    """The tick of its birth. Shape (n,)."""


class KinManager:
    """Owns every Kin: lookup sparse, instances one, destroy gc.

    Who is whose child. The young of the dead are on their own.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_entities",
        "_levels",
        "_locks",
        "_rng",
        "_sparse",
        "_sparse_cells",
        "_version",
        "data",
    )
    data: KinData
    _entities: EntityManager
    _sparse: NDArray[np.uint32]
    _sparse_cells: memoryview[Instance]
    _levels: LevelCache
    _rng: Random

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = KinData(capacity=0)
        self._entities = entities
        self._set_map(sparse_map(64))
        self._rng = Random(0)
        self._levels = LevelCache()

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
            "rng": self._rng.getstate(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._locks = 0
        self._version = state["version"]
        self.data = data = KinData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._entities = state["entities"]
        self._set_map(state["sparse"].copy())
        self._rng = Random()
        self._rng.setstate(state["rng"])
        self._levels = LevelCache()

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
        """Bytes that the manager holds: the buffer and the map and the levels; O(1)."""
        total = self.data._buffer.nbytes
        total += self._sparse.nbytes
        total += self._levels.rows.nbytes
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

    def born(self, row: Instance, /) -> int:
        """The tick of its birth."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._born_cells[row]

    def set_born(self, row: Instance, value: int, /) -> None:
        """Set `born` of a row."""
        _value = _BORN.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._born_cells[row] = _value

    def row(self, row: Instance, /) -> Kin:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return Kin(data._born_cells[row])

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
        born: int = BORN_DEFAULT,
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
            _born_ = BORN_DEFAULT
            if born is not BORN_DEFAULT:
                _born_ = _BORN.one(born)
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
            data._allocate(grown_capacity(data._allocated, data._n + 1))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            # a dead entity had the same index
            self._destroy_rows(np.array([_found]))
            _found = NIL
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        data._entity_cells[row] = entity
        data._born_cells[row] = _born_
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
        born: ArrayLike = BORN_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(len(_given), born=born)
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        first_repeated(MANAGER, entities)
        first_present(MANAGER, entities, self.lookup_many(entities))
        _borrowed = (entities, born)
        self._make_room(entities, columns, _borrowed)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        born: ArrayLike = BORN_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "born": _BORN.many(born, count, data._buffer),
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
        owners = data._entity_column[: data._n]
        dead = predecessors(self._sparse, slots, owners, entities)
        if len(dead):
            self._destroy_rows(np.sort(self.lookup_many(dead)))
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
        data._entity_column[span] = entities
        data._born_column[span] = columns["born"]
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
        born: int = BORN_DEFAULT,
    ) -> Instance:
        """Return the entity's instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        if row != NIL:
            return row
        return self.create(entity, born=born)

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). The last row moves into its place.

        Its children become roots; O(children).

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
        self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
        if data._parent_cells[row] != NIL:
            self._leave_parent(row)
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
            self._relink_family(src, dst)
        data._n = src
        self._version += 1
        return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        self._sparse[indices(data._entity_column[gone], INDEX_MASK)] = NIL
        leave_family(data._family(), gone, data._n)
        make_roots(data._family(), children_of(data._family(), gone, data._n))
        n = data._n
        src, dst = fill(gone, n)
        if len(src):
            data._move_rows(src, dst)
            self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst
            remap_family(data._family(), src, dst, n)
        data._n = n - len(gone)
        self._version += 1
        return len(gone)

    def sort(self, key: str | ArrayLike, /) -> None:
        """Sort the rows by a scalar field, by name, or by a key; O(n log n).

        Ascending, stable, NaN last. A key array has one value per row.

        Raises:
            ValueError: no such field, or a key of another length.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if isinstance(key, str):
            if key not in SORT_KEYS:
                raise ValueError(f"{MANAGER} sorts by {SORT_KEYS}, not {key!r}")
            key = getattr(data, key)
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

    def _release_children(self, row: Instance) -> None:
        """Make the children of a row roots."""
        data = self.data
        child = data._first_child_cells[row]
        while child != NIL:
            following = data._next_sibling_cells[child]
            data._parent_cells[child] = NIL
            data._next_sibling_cells[child] = NIL
            data._previous_sibling_cells[child] = child
            child = following

    def gc(self, rng: Random | None = None) -> int:
        """Remove rows of dead entities, picked at random, until four picks in a row are alive.

        Costs next to nothing when nobody died, and finds the dead quickly when many
        did. Returns how many rows went. The manager's own generator is seeded, so runs
        repeat. (Bitsquid, "Building a Data-Oriented Entity System".)
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        pick = (self._rng if rng is None else rng).random
        alive = self._entities.alive
        collected = alive_in_row = 0
        while data._n and alive_in_row < 4:
            row = Instance(int(pick() * data._n))
            if alive(data._entity_cells[row]):
                alive_in_row += 1
                continue
            alive_in_row = 0
            collected += self._destroy_row(row)
        return collected

    def collect(self) -> int:
        """Remove the rows of all dead entities at once and return how many went; O(n)."""
        if self._locks:
            raise locked(MANAGER)
        owners = self.data.entity
        alive = self._entities.alive_many(owners)
        gone = np.flatnonzero(~alive)
        return self._destroy_rows(gone)
