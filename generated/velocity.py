"""Velocity: lookup sparse, instances one, destroy gc.

Where to and how fast an entity moves.

One buffer of 20 bytes per row, column after column:

    column  type    bytes/row  offset (64 rows)  tags
    ------  ------  ---------  ----------------  ----
    entity  u64             8                 0  hot
    value   f32[3]         12               512  hot
    20 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import index
from random import Random
from struct import Struct
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
    flat_cells,
    grown_capacity,
    is_same_view,
    items,
    load_rows,
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
from ._runtime.groups.group import (
    GroupMember,
    having_all,
    joined_at,
    locked_in_group,
    sorted_by_group,
    unshared,
)
from ._runtime.maps.sparse import (
    grown_map,
    indices,
    predecessors,
    sparse_lookup,
    sparse_map,
)
from ._runtime.placement.partition import exchange, fill_parts
from ._runtime.placement.rows import (
    Remap,
    distinct,
    duplicate_instance,
    first_missing,
    first_present,
    first_repeated,
    has_row,
    integers,
    is_integer,
    missing,
    permutation,
    row_in_use,
    rows_in_use,
)
from ._runtime.placement.sorting import key_values, sort_key, sort_order
from ._runtime.queries.columns import QueryColumn, QueryColumns
from ._runtime.queries.joined import JoinedBlocks

MANAGER: Final = "VelocityManager"
ROW_BYTES: Final = 20
COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("value", np.dtype(np.float32), (3,), 12, ("hot",), 8),
)
_VALUE: Final = FloatField("Velocity.value", "f32", (3,))
VALUE_STRUCT: Final = Struct("=3f")
VALUE_DEFAULT: Final = (0.0, 0.0, 0.0)


class Velocity(NamedTuple):
    """One row of a VelocityManager, copied out."""

    value: tuple[float, float, float]
    """The value. [m/s]"""


class VelocityFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    value: ArrayLike


class VelocityHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    value: NDArray[np.float32]


class VelocityData:
    """The columns of a VelocityManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_buffer",
        "_entity_cells",
        "_entity_column",
        "_joined",
        "_n",
        "_n_grouped",
        "_value_cells",
        "_value_column",
        "_value_items",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _n_grouped: int
    _joined: dict[str, JoinedBlocks]
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _value_column: NDArray[np.float32]
    _value_items: NDArray[Any]
    _value_cells: memoryview[float]

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._n_grouped = 0
        self._joined = {}
        self._place(allocate(ROW_BYTES, capacity), capacity)

    @property
    def n(self) -> int:
        """Rows in use, those of the group `bodies` first."""
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
    def value(self) -> NDArray[np.float32]:
        """The value of each row. [m/s] Shape (n, 3)."""
        return self._value_column[: self._n]

    @value.setter
    def value(self, values: ArrayLike) -> None:
        if not is_same_view(self.value, values):
            self._value_column[: self._n] = _VALUE.many(values, self._n)

    def tagged(self, tag: Literal["hot"], /) -> VelocityHotColumns:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return VelocityHotColumns(self.value)
        raise ValueError(f"Velocity has no tag {tag!r}; it has hot")

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._value_column = cut(buffer, COLUMNS[1], capacity)
        self._value_items = items(self._value_column)
        self._value_cells = flat_cells(self._value_column)
        for blocks in self._joined.values():
            blocks.drop()
        self._joined = {}

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

    def _move_row(self, src: int, dst: int) -> None:
        """Copy one row over another, column by column."""
        self._entity_cells[dst] = self._entity_cells[src]
        self._value_items[dst] = self._value_items[src]

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._value_items[dst] = self._value_items[src]


class VelocityGroupedData:
    """The columns of the rows in the group `bodies`: views, assigned to like those of
    `data`."""

    __slots__ = ("_data",)

    def __init__(self, data: VelocityData) -> None:
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
        """The value of each row. [m/s] Shape (n, 3)."""
        data = self._data
        return data._value_column[: data._n_grouped]

    @value.setter
    def value(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.value, values):
            checked = _VALUE.many(values, data._n_grouped)
            data._value_column[: data._n_grouped] = checked


class VelocityColumns(QueryColumns):
    """The columns of Velocity in a query's rows: one cell per entity.

    A column is a view where the rows follow each other, else a copy: assign to it to
    write.
    """

    __slots__ = ()

    value = QueryColumn[np.float32]("value", _VALUE, VALUE_DEFAULT)
    """The value of each row. [m/s] Shape (n, 3)."""


class VelocityManager:
    """Owns every Velocity: lookup sparse, instances one, destroy gc.

    Where to and how fast an entity moves.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_entities",
        "_holds",
        "_locks",
        "_mates",
        "_rng",
        "_sparse",
        "_sparse_cells",
        "_version",
        "data",
    )
    data: VelocityData
    _mates: tuple[GroupMember, ...]
    _holds: int
    _entities: EntityManager
    _sparse: NDArray[np.uint32]
    _sparse_cells: memoryview[Instance]
    _rng: Random

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = VelocityData(capacity=0)
        self._entities = entities
        self._set_map(sparse_map(64))
        self._rng = Random(0)
        self._mates = ()
        self._holds = 0

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
        self.data = data = VelocityData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._entities = state["entities"]
        self._set_map(state["sparse"].copy())
        self._rng = Random()
        self._rng.setstate(state["rng"])
        self._mates = ()
        self._holds = 0

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
        """Bytes that the manager holds: the buffer and the map and a share of the
        world's scratch; O(1)."""
        total = self.data._buffer.nbytes
        total += self._sparse.nbytes
        total += sum(blocks.nbytes for blocks in self.data._joined.values())
        return total

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let structural changes raise StructureLockedError inside the `with` block."""
        self._holds += 1
        for mate in self._mates:
            mate._locks += 1
        self._locks += 1
        try:
            yield
        finally:
            self._locks -= 1
            for mate in self._mates:
                mate._locks -= 1
            self._holds -= 1

    def entity(self, row: Instance, /) -> Entity:
        """Return the owner of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._entity_cells[row]

    def value(self, row: Instance, /) -> tuple[float, float, float]:
        """The value. [m/s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return VALUE_STRUCT.unpack_from(data._value_cells, 12 * row)

    def set_value(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `value` of a row: 3 values."""
        _value = _VALUE.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 3 * row
        data._value_cells[_at] = _value[0]
        data._value_cells[_at + 1] = _value[1]
        data._value_cells[_at + 2] = _value[2]

    def row(self, row: Instance, /) -> Velocity:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return Velocity(VALUE_STRUCT.unpack_from(data._value_cells, 12 * row))

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

    def create(
        self,
        entity: Entity,
        /,
        *,
        value: ArrayLike = VALUE_DEFAULT,
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
            _value_ = VALUE_DEFAULT
            if value is not VALUE_DEFAULT:
                _value_ = _VALUE.one(value)
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
            raise locked_in_group(MANAGER, (self, *self._mates))
        data = self.data
        _map = None
        try:
            _found = self._sparse_cells[_slot]
        except IndexError:
            _found, _map = NIL, grown_map(self._sparse, _slot)
        if _found != NIL and data._entity_cells[_found] == entity:
            raise duplicate_instance(MANAGER, entity)
        if data._n == data._allocated:
            data._allocate(grown_capacity(data._allocated, data._n + 1), (value,))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            # a dead entity had the same index
            self._destroy_rows(np.array([_found]))
            _found = NIL
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        data._entity_cells[row] = entity
        _at = 3 * row
        data._value_cells[_at] = _value_[0]
        data._value_cells[_at + 1] = _value_[1]
        data._value_cells[_at + 2] = _value_[2]
        data._n = row + 1
        self._sparse_cells[_slot] = row
        self._version += 1
        if self._mates:
            row = self._join_group(row, entity)
        return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        value: ArrayLike = VALUE_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(len(_given), value=value)
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        first_repeated(MANAGER, entities)
        first_present(MANAGER, entities, self.lookup_many(entities))
        _borrowed = (entities, value)
        self._make_room(entities, columns, _borrowed)
        if self._mates:
            entities, columns = unshared(entities, columns)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        value: ArrayLike = VALUE_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "value": _VALUE.many(value, count, data._buffer),
        }
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
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
        put_cells(
            data._value_column,
            data._value_items,
            span,
            columns["value"],
        )
        data._n = end
        self._sparse[slots] = rows.astype(np.uint32)
        self._version += 1
        if self._mates:
            rows = self._join_group_many(rows, entities)
        return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        value: ArrayLike = VALUE_DEFAULT,
    ) -> Instance:
        """Return the entity's instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        if row != NIL:
            return row
        return self.create(entity, value=value)

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). The group's last row and the last of all move up.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
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
            raise locked_in_group(MANAGER, (self, *self._mates))
        given = rows_in_use(rows, self.data, MANAGER)
        self._destroy_rows(distinct(given, self.data._n, MANAGER))

    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
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
            raise locked_in_group(MANAGER, (self, *self._mates))
        rows = self.lookup_many(entities)
        gone = np.unique(rows[rows != NIL])
        return self._destroy_rows(gone)

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        self._destroy_rows(np.arange(self.data._n))

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
        if row < data._n_grouped:
            for mate in self._mates:
                mate._leave_group(row)
            last = Instance(data._n_grouped - 1)
            if row != last:
                self._move(last, row)
            data._n_grouped = row = last  # the hole is behind the group now
        last = Instance(data._n - 1)
        if row != last:
            self._move(last, row)
        data._n = last
        self._version += 1
        return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        self._sparse[indices(data._entity_column[gone], INDEX_MASK)] = NIL
        n, bound = data._n, data._n_grouped
        leaving = gone[: np.searchsorted(gone, bound)]
        if len(leaving):
            for mate in self._mates:
                mate._leave_group_many(leaving)
        src, dst = fill_parts(gone, bound, n)
        self._move_many(src, dst)
        data._n_grouped = bound - len(leaving)
        data._n = n - len(gone)
        self._version += 1
        return len(gone)

    def sort(self, key: ArrayLike, /) -> None:
        """Sort the rows by a key; O(n log n).

        Ascending, stable, NaN last. A key array has one value per row.

        Raises:
            ValueError: no such field, or a key of another length.
            StructureLockedError: the manager is locked, or a world's group orders its rows.
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        if self._mates:
            raise sorted_by_group(MANAGER, "bodies")
        data = self.data
        key = sort_key(key_values(key, MANAGER), data._n, MANAGER)
        self._permute(sort_order(key))

    def reorder(self, order: ArrayLike, /) -> None:
        """Let row k become what row order[k] was; O(n).

        Raises:
            ValueError: the order is not a permutation of the rows.
            StructureLockedError: the manager is locked, or a world's group orders its rows.
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        if self._mates:
            raise sorted_by_group(MANAGER, "bodies")
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
        self._version += 1

    def reserve(self, rows: int, /) -> None:
        """Make room for `rows` instances in all, so that creating them moves nothing; O(n)."""
        rows = index(rows)
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        data = self.data
        if rows > data._allocated:
            data._allocate(whole_rows(rows))
            self._version += 1

    def shrink_to_fit(self) -> None:
        """Give back the memory of rows not in use; O(n)."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        data = self.data
        capacity = whole_rows(data._n)
        if capacity < data._allocated:
            data._allocate(capacity)
            self._version += 1
        owners = indices(data._entity_column[: data._n], INDEX_MASK)
        size = whole_rows(int(owners.max()) + 1) if len(owners) else 64
        if size < len(self._sparse):
            self._set_map(self._sparse[:size].copy())

    def _link_group(self, mates: tuple[GroupMember, ...], n: int) -> None:
        """Be told of the group's other members, with which the first n rows are aligned."""
        self._mates = mates
        self.data._n_grouped = n

    def _join_group(self, row: Instance, entity: Entity) -> Instance:
        """Let an entity join that has a row in every mate too; return its row; O(1) per mate."""
        for mate in self._mates:
            if mate.lookup(entity) == NIL:
                return row
        for mate in self._mates:
            mate._enter_group(mate.lookup(entity))
            mate._version += 1
        return self._enter_group(row)

    def _join_group_many(self, rows: RowArray, entities: EntityArray) -> RowArray:
        """Let those of k entities join that have rows in every mate; return all rows; O(k)."""
        joining, found = having_all(entities, self._mates)
        if len(joining) == 0:
            return rows
        for mate, rows_there in zip(self._mates, found, strict=True):
            mate._enter_group_many(rows_there)
            mate._version += 1
        src, dst = self._enter_group_many(rows[joining])
        return Remap(src, dst, self.data._n)(rows)

    def _enter_group(self, row: Instance) -> Instance:
        """Bring a row to the end of the group; O(1). The caller counts the change."""
        data = self.data
        last = Instance(data._n_grouped)
        self._swap(row, last)
        data._n_grouped = last + 1
        return last

    def _enter_group_many(self, rows: RowArray) -> tuple[RowArray, RowArray]:
        """Bring k rows, in this order, to the end of the group; return (src, dst); O(k)."""
        data = self.data
        src, dst = joined_at(rows, data._n_grouped)
        self._move_many(src, dst)
        data._n_grouped += len(rows)
        return src, dst

    def _leave_group(self, row: Instance) -> None:
        """Swap a row with the group's last and end the group before it; O(1)."""
        data = self.data
        last = Instance(data._n_grouped - 1)
        self._swap(row, last)
        data._n_grouped = last
        self._version += 1

    def _leave_group_many(self, gone: RowArray) -> None:
        """Bring k ascending rows behind the group, which ends before them; O(k)."""
        data = self.data
        start = data._n_grouped - len(gone)
        src, dst = exchange(gone, start, data._n_grouped)
        self._move_many(src, dst)
        data._n_grouped = start
        self._version += 1

    def _group_key(self, key: ArrayLike) -> NDArray[Any]:
        """Return the key by which the group is sorted, one value per row in it."""
        data = self.data
        return sort_key(key_values(key, MANAGER), data._n_grouped, "bodies")

    def _permute_group(self, src: RowArray) -> None:
        """Move every row src[k] of the group to k."""
        self._move_many(src, np.arange(len(src)))
        self._version += 1

    def _swap(self, one: Instance, other: Instance) -> None:
        """Let two rows change places, over the spare row behind the last one if there is one."""
        data = self.data
        spare = Instance(data._n)
        if one == other:
            return
        if spare == data._allocated:
            self._move_many(np.array([one, other]), np.array([other, one]))
            return
        self._move(one, spare)
        self._move(other, one)
        self._move(spare, other)

    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and tell what knows its number."""
        data = self.data
        data._move_row(src, dst)
        self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst

    def _move_many(self, src: RowArray, dst: RowArray) -> None:
        """Move rows src[k] to dst[k], and tell what knows their numbers."""
        if len(src) == 0:
            return
        data = self.data
        data._move_rows(src, dst)
        self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst

    def _set_map(self, sparse: NDArray[np.uint32]) -> None:
        self._sparse = sparse
        self._sparse_cells = cells(sparse)

    def gc(self, rng: Random | None = None) -> int:
        """Remove rows of dead entities, picked at random, until four picks in a row are alive.

        Costs next to nothing when nobody died, and finds the dead quickly when many
        did. Returns how many rows went. The manager's own generator is seeded, so runs
        repeat. (Bitsquid, "Building a Data-Oriented Entity System".)
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
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
            raise locked_in_group(MANAGER, (self, *self._mates))
        owners = self.data.entity
        alive = self._entities.alive_many(owners)
        gone = np.flatnonzero(~alive)
        return self._destroy_rows(gone)
