"""Energy: lookup sparse, instances one, destroy gc.

What keeps an animal alive. At nothing it starves, with enough it has young.

One buffer of 12 bytes per row, column after column:

    column  type  bytes/row  offset (64 rows)  tags
    ------  ----  ---------  ----------------  ----
    entity  u64           8                 0  hot
    stored  f32           4               512  hot
    12 bytes per row, 4096 for 64 rows
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
)
from ._runtime.placement.sorting import key_values, sort_key, sort_order
from ._runtime.queries.columns import QueryColumn, QueryColumns

MANAGER: Final = "EnergyManager"
ROW_BYTES: Final = 12
COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("stored", np.dtype(np.float32), (), 4, ("hot",), 8),
)
_STORED: Final = FloatField("Energy.stored", "f32")
STORED_DEFAULT: Final = 1.0
SORT_KEYS: Final = ("stored",)


class Energy(NamedTuple):
    """One row of a EnergyManager, copied out."""

    stored: float
    """Used up by living and moving."""


class EnergyFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    stored: ArrayLike


class EnergyHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    stored: NDArray[np.float32]


class EnergyData:
    """The columns of a EnergyManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_buffer",
        "_entity_cells",
        "_entity_column",
        "_n",
        "_stored_cells",
        "_stored_column",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _stored_column: NDArray[np.float32]
    _stored_cells: memoryview[float]

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
    def stored(self) -> NDArray[np.float32]:
        """Used up by living and moving. Shape (n,)."""
        return self._stored_column[: self._n]

    @stored.setter
    def stored(self, values: ArrayLike) -> None:
        if not is_same_view(self.stored, values):
            self._stored_column[: self._n] = _STORED.many(values, self._n)

    def tagged(self, tag: Literal["hot"], /) -> EnergyHotColumns:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return EnergyHotColumns(self.stored)
        raise ValueError(f"Energy has no tag {tag!r}; it has hot")

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._stored_column = cut(buffer, COLUMNS[1], capacity)
        self._stored_cells = cells(self._stored_column)

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
        self._stored_column[dst] = self._stored_column[src]


class EnergyColumns(QueryColumns):
    """The columns of Energy in a query's rows: one cell per entity.

    A column is a view where the rows follow each other, else a copy: assign to it to
    write.
    """

    __slots__ = ()

    stored = QueryColumn[np.float32]("stored", _STORED, STORED_DEFAULT)
    """Used up by living and moving. Shape (n,)."""


class EnergyManager:
    """Owns every Energy: lookup sparse, instances one, destroy gc.

    What keeps an animal alive. At nothing it starves, with enough it has young.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_entities",
        "_locks",
        "_rng",
        "_sparse",
        "_sparse_cells",
        "_version",
        "data",
    )
    data: EnergyData
    _entities: EntityManager
    _sparse: NDArray[np.uint32]
    _sparse_cells: memoryview[Instance]
    _rng: Random

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = EnergyData(capacity=0)
        self._entities = entities
        self._set_map(sparse_map(64))
        self._rng = Random(0)

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
        self.data = data = EnergyData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._entities = state["entities"]
        self._set_map(state["sparse"].copy())
        self._rng = Random()
        self._rng.setstate(state["rng"])

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
        """Bytes that the manager holds: the buffer and the map; O(1)."""
        total = self.data._buffer.nbytes
        total += self._sparse.nbytes
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

    def stored(self, row: Instance, /) -> float:
        """Used up by living and moving."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._stored_cells[row]

    def set_stored(self, row: Instance, value: float, /) -> None:
        """Set `stored` of a row."""
        _value = _STORED.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._stored_cells[row] = _value

    def row(self, row: Instance, /) -> Energy:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return Energy(data._stored_cells[row])

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
        stored: float = STORED_DEFAULT,
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
            _stored_ = STORED_DEFAULT
            if stored is not STORED_DEFAULT:
                _stored_ = _STORED.one(stored)
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
        data._stored_cells[row] = _stored_
        data._n = row + 1
        self._sparse_cells[_slot] = row
        self._version += 1
        return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        stored: ArrayLike = STORED_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(len(_given), stored=stored)
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        first_repeated(MANAGER, entities)
        first_present(MANAGER, entities, self.lookup_many(entities))
        _borrowed = (entities, stored)
        self._make_room(entities, columns, _borrowed)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        stored: ArrayLike = STORED_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "stored": _STORED.many(stored, count, data._buffer),
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
        data._stored_column[span] = columns["stored"]
        data._n = end
        self._sparse[slots] = rows.astype(np.uint32)
        self._version += 1
        return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        stored: float = STORED_DEFAULT,
    ) -> Instance:
        """Return the entity's instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        if row != NIL:
            return row
        return self.create(entity, stored=stored)

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). The last row moves into its place.

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
        src, dst = data._n - 1, row
        if src != dst:
            data._entity_cells[dst] = data._entity_cells[src]
            data._stored_cells[dst] = data._stored_cells[src]
            self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
        data._n = src
        self._version += 1
        return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        self._sparse[indices(data._entity_column[gone], INDEX_MASK)] = NIL
        n = data._n
        src, dst = fill(gone, n)
        if len(src):
            data._move_rows(src, dst)
            self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst
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
