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
from contextlib import contextmanager
from operator import index
from random import Random
from struct import Struct
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime.columns.buffers import (
    Column,
    cells,
    copied_if_view,
    cut,
    flat_cells,
    is_same_view,
    items,
    load_rows,
    put_cells,
    saved_rows,
    word,
)
from ._runtime.convert.numbers import BoolField, FloatField, IntField
from ._runtime.entities.arrays import as_entities
from ._runtime.entities.handles import (
    NIL,
    NULL_ENTITY,
    Columns,
    Entity,
    EntityArray,
    Id,
    IdArray,
    Instance,
    RowArray,
)
from ._runtime.entities.layout import INDEX_MASK
from ._runtime.entities.manager import EntityManager
from ._runtime.growth.reserved import beyond_reserve, give_back, reserve_pages
from ._runtime.ids.slots import (
    SLOT_BITS,
    SLOT_MASK,
    WORN_OUT,
    first_worn_out,
    ids_of,
    resolve_ids,
    rows_of_ids,
    stale_id,
    worn_out,
)
from ._runtime.maps.sparse import indices
from ._runtime.placement.direct import (
    direct_lookup,
    last_owner,
    present_row,
    present_rows,
    rows_spanned,
)
from ._runtime.placement.rows import (
    distinct,
    duplicate_instance,
    first_missing,
    first_present,
    first_repeated,
    has_row,
    is_integer,
    locked,
    missing,
)

MANAGER: Final = "TileManager"
ROW_BYTES: Final = 26
COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("height", np.dtype(np.float32), (), 4, ("hot",), 8),
    Column("walk_cost", np.dtype(np.uint8), (), 1, ("hot",), 12),
    Column("flow", np.dtype(np.float32), (2,), 8, ("hot",), 13),
    Column("id_generation", np.dtype(np.uint32), (), 4, ("hot",), 21),
    Column("explored", np.dtype(np.bool_), (), 1, ("cold",), 25),
)
_HEIGHT: Final = FloatField("Tile.height", "f32")
_WALK_COST: Final = IntField("Tile.walk_cost", "u8")
_FLOW: Final = FloatField("Tile.flow", "f32", (2,))
_EXPLORED: Final = BoolField("Tile.explored")
FLOW_STRUCT: Final = Struct("=2f")
HEIGHT_DEFAULT: Final = 0.0
WALK_COST_DEFAULT: Final = 1
FLOW_DEFAULT: Final = (0.0, 0.0)
FLOW_WORD: Final = word(_FLOW, FLOW_DEFAULT)
EXPLORED_DEFAULT: Final = False


class Tile(NamedTuple):
    """One row of a TileManager, copied out."""

    height: float
    """Height above the sea. [m]"""

    walk_cost: int
    """Effort of crossing it; 255 is impassable."""

    flow: tuple[float, float]
    """Direction towards the goal."""

    explored: bool
    """Whether the player has seen it."""


class TileFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

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


class TileData:
    """The columns of a TileManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_buffer",
        "_entity_cells",
        "_entity_column",
        "_explored_cells",
        "_explored_column",
        "_flow_cells",
        "_flow_column",
        "_flow_items",
        "_flow_words",
        "_height_cells",
        "_height_column",
        "_id_generation_cells",
        "_id_generation_column",
        "_n",
        "_peak",
        "_walk_cost_cells",
        "_walk_cost_column",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _peak: int
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _height_column: NDArray[np.float32]
    _height_cells: memoryview[float]
    _walk_cost_column: NDArray[np.uint8]
    _walk_cost_cells: memoryview[int]
    _flow_column: NDArray[np.float32]
    _flow_items: NDArray[Any]
    _flow_words: memoryview[int]
    _flow_cells: memoryview[float]
    _id_generation_column: NDArray[np.uint32]
    _id_generation_cells: memoryview[int]
    _explored_column: NDArray[np.bool_]
    _explored_cells: memoryview[bool]

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._peak = 0
        self._place(reserve_pages(ROW_BYTES, capacity), capacity)

    @property
    def n(self) -> int:
        """The highest row in use + 1; rows without an owner are holes."""
        return self._n

    @property
    def allocated(self) -> int:
        """Rows that fit into the buffer: all that are reserved."""
        return self._allocated

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """The one buffer that all columns are cut from."""
        return self._buffer

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,); read-only, 0 in holes."""
        column = self._entity_column[: self._n]
        column.flags.writeable = False
        return column

    @property
    def height(self) -> NDArray[np.float32]:
        """Height above the sea. [m] Shape (n,)."""
        return self._height_column[: self._n]

    @height.setter
    def height(self, values: ArrayLike) -> None:
        if not is_same_view(self.height, values):
            self._height_column[: self._n] = _HEIGHT.many(values, self._n)

    @property
    def walk_cost(self) -> NDArray[np.uint8]:
        """Effort of crossing it; 255 is impassable. Shape (n,)."""
        return self._walk_cost_column[: self._n]

    @walk_cost.setter
    def walk_cost(self, values: ArrayLike) -> None:
        if not is_same_view(self.walk_cost, values):
            self._walk_cost_column[: self._n] = _WALK_COST.many(values, self._n)

    @property
    def flow(self) -> NDArray[np.float32]:
        """Direction towards the goal. Shape (n, 2)."""
        return self._flow_column[: self._n]

    @flow.setter
    def flow(self, values: ArrayLike) -> None:
        if not is_same_view(self.flow, values):
            self._flow_column[: self._n] = _FLOW.many(values, self._n)

    @property
    def explored(self) -> NDArray[np.bool_]:
        """Whether the player has seen it. Shape (n,)."""
        return self._explored_column[: self._n]

    @explored.setter
    def explored(self, values: ArrayLike) -> None:
        if not is_same_view(self.explored, values):
            self._explored_column[: self._n] = _EXPLORED.many(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> TileHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> TileColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return TileHotColumns(self.height, self.walk_cost, self.flow)
        if tag == "cold":
            return TileColdColumns(self.explored)
        raise ValueError(f"Tile has no tag {tag!r}; it has hot, cold")

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows are in use, shape (n,): a mask for columns with holes."""
        return self._entity_column[: self._n].astype(np.bool_)

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._height_column = cut(buffer, COLUMNS[1], capacity)
        self._height_cells = cells(self._height_column)
        self._walk_cost_column = cut(buffer, COLUMNS[2], capacity)
        self._walk_cost_cells = cells(self._walk_cost_column)
        self._flow_column = cut(buffer, COLUMNS[3], capacity)
        self._flow_items = items(self._flow_column)
        self._flow_words = cells(self._flow_items)
        self._flow_cells = flat_cells(self._flow_column)
        self._id_generation_column = cut(buffer, COLUMNS[4], capacity)
        self._id_generation_cells = cells(self._id_generation_column)
        self._explored_column = cut(buffer, COLUMNS[5], capacity)
        self._explored_cells = cells(self._explored_column)

    def _used_bytes(self) -> int:
        """Return the bytes of the columns up to the last row in use."""
        return 14 * self._n + 12 * self._peak

    def _give_back(self) -> None:
        """Give the pages of every column behind the last row in use back to the system."""
        buffer, capacity = self._buffer, self._allocated
        give_back(buffer, COLUMNS[0], capacity, self._peak)
        give_back(buffer, COLUMNS[1], capacity, self._n)
        give_back(buffer, COLUMNS[2], capacity, self._n)
        give_back(buffer, COLUMNS[3], capacity, self._n)
        give_back(buffer, COLUMNS[4], capacity, self._peak)
        give_back(buffer, COLUMNS[5], capacity, self._n)

    def _save(self) -> dict[str, NDArray[Any]]:
        """Return the rows in use, by column."""
        return saved_rows(COLUMNS, self._buffer, self._allocated, self._peak)

    def _load(self, rows: dict[str, NDArray[Any]]) -> None:
        """Fill the rows in use from what `_save` returned."""
        load_rows(COLUMNS, self._buffer, self._allocated, rows)


class TileManager:
    """Owns every Tile: lookup direct, instances one, destroy gc.

    A square of the map.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_count",
        "_entities",
        "_locks",
        "_rng",
        "_version",
        "data",
    )
    data: TileData
    _count: int
    _entities: EntityManager
    _rng: Random

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = TileData(capacity=4096)
        self._count = 0
        self._entities = entities
        self._rng = Random(0)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        data = self.data
        return {
            "version": self._version,
            "n": data._n,
            "allocated": data._allocated,
            "columns": data._save(),
            "count": self._count,
            "entities": self._entities,
            "peak": data._peak,
            "rng": self._rng.getstate(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._locks = 0
        self._version = state["version"]
        self.data = data = TileData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._count = state["count"]
        self._entities = state["entities"]
        data._peak = state["peak"]
        self._rng = Random()
        self._rng.setstate(state["rng"])

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self._count

    def __contains__(self, entity: object) -> bool:
        """Return whether an entity has an instance; O(1)."""
        return is_integer(entity) and self.lookup(Entity(index(entity))) != NIL

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over the owners, in order of their indices."""
        owners = self.data.entity
        return iter(owners[owners != NULL_ENTITY].tolist())

    @property
    def version(self) -> int:
        """How many structural changes there were; views and rows are good until the next."""
        return self._version

    @property
    def capacity(self) -> int:
        """Rows that fit: all that are reserved."""
        return self.data._allocated

    @property
    def nbytes(self) -> int:
        """Bytes that the manager holds: the columns up to the last row; O(1).

        The rest of the reserve is not counted. Pages of it that were once in use stay with
        the process until `shrink_to_fit`.
        """
        return self.data._used_bytes()

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
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return data._entity_cells[row]

    def height(self, row: Instance, /) -> float:
        """Height above the sea. [m]"""
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return data._height_cells[row]

    def set_height(self, row: Instance, value: float, /) -> None:
        """Set `height` of a row."""
        _value = _HEIGHT.one(value)
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        data._height_cells[row] = _value

    def walk_cost(self, row: Instance, /) -> int:
        """Effort of crossing it; 255 is impassable."""
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return data._walk_cost_cells[row]

    def set_walk_cost(self, row: Instance, value: int, /) -> None:
        """Set `walk_cost` of a row."""
        _value = _WALK_COST.one(value)
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        data._walk_cost_cells[row] = _value

    def flow(self, row: Instance, /) -> tuple[float, float]:
        """Direction towards the goal."""
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return FLOW_STRUCT.unpack_from(data._flow_cells, 8 * row)

    def set_flow(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `flow` of a row: 2 values."""
        _value = _FLOW.one(value)
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        _at = 2 * row
        data._flow_cells[_at] = _value[0]
        data._flow_cells[_at + 1] = _value[1]

    def explored(self, row: Instance, /) -> bool:
        """Whether the player has seen it."""
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return data._explored_cells[row]

    def set_explored(self, row: Instance, value: bool, /) -> None:
        """Set `explored` of a row."""
        _value = _EXPLORED.one(value)
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        data._explored_cells[row] = _value

    def row(self, row: Instance, /) -> Tile:
        """Return a copy of a row; O(1)."""
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return Tile(
            data._height_cells[row],
            data._walk_cost_cells[row],
            FLOW_STRUCT.unpack_from(data._flow_cells, 8 * row),
            data._explored_cells[row],
        )

    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        data = self.data
        row: Instance = entity & INDEX_MASK  # type: ignore[assignment]  # a call takes time
        if row < data._n and data._entity_cells[row] == entity and entity:
            return row
        return NIL

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        given = as_entities(entities)
        data = self.data
        return direct_lookup(data._entity_column[: data._n], given, INDEX_MASK)

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
        height: float = HEIGHT_DEFAULT,
        walk_cost: int = WALK_COST_DEFAULT,
        flow: ArrayLike = FLOW_DEFAULT,
        explored: bool = EXPLORED_DEFAULT,
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
            _height_ = HEIGHT_DEFAULT
            if height is not HEIGHT_DEFAULT:
                _height_ = _HEIGHT.one(height)
            _walk_cost_ = WALK_COST_DEFAULT
            if walk_cost is not WALK_COST_DEFAULT:
                _walk_cost_ = _WALK_COST.one(walk_cost)
            _flow_ = FLOW_DEFAULT
            if flow is not FLOW_DEFAULT:
                _flow_ = _FLOW.one(flow)
            _explored_ = EXPLORED_DEFAULT
            if explored is not EXPLORED_DEFAULT:
                _explored_ = _EXPLORED.one(explored)
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
        row: Instance = _slot  # type: ignore[assignment]  # calling Instance takes time
        _owner = data._entity_cells[row] if row < data._n else NULL_ENTITY
        if _owner == entity:
            raise duplicate_instance(MANAGER, entity)
        if row < data._allocated and data._id_generation_cells[row] == WORN_OUT:
            raise worn_out(MANAGER, row)
        if row >= data._allocated:
            raise beyond_reserve(MANAGER, data._allocated)
        if _owner != NULL_ENTITY:
            self._destroy_row(row)  # of a dead entity with the same index
        data._entity_cells[row] = entity
        data._height_cells[row] = _height_
        data._walk_cost_cells[row] = _walk_cost_
        if _flow_ is FLOW_DEFAULT:
            data._flow_words[row] = FLOW_WORD
        else:
            _at = 2 * row
            data._flow_cells[_at] = _flow_[0]
            data._flow_cells[_at + 1] = _flow_[1]
        data._explored_cells[row] = _explored_
        if row >= data._n:
            data._n = row + 1
        self._count += 1
        data._id_generation_cells[row] += 1
        if row >= data._peak:
            data._peak = row + 1
        self._version += 1
        return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        height: ArrayLike = HEIGHT_DEFAULT,
        walk_cost: ArrayLike = WALK_COST_DEFAULT,
        flow: ArrayLike = FLOW_DEFAULT,
        explored: ArrayLike = EXPLORED_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(
                len(_given),
                height=height,
                walk_cost=walk_cost,
                flow=flow,
                explored=explored,
            )
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        first_repeated(MANAGER, entities)
        first_present(MANAGER, entities, self.lookup_many(entities))
        _borrowed = (entities, height, walk_cost, flow, explored)
        self._make_room(entities, columns, _borrowed)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        height: ArrayLike = HEIGHT_DEFAULT,
        walk_cost: ArrayLike = WALK_COST_DEFAULT,
        flow: ArrayLike = FLOW_DEFAULT,
        explored: ArrayLike = EXPLORED_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "height": _HEIGHT.many(height, count, data._buffer),
            "walk_cost": _WALK_COST.many(walk_cost, count, data._buffer),
            "flow": _FLOW.many(flow, count, data._buffer),
            "explored": _EXPLORED.many(explored, count, data._buffer),
        }
        if self._locks:
            raise locked(MANAGER)
        return columns

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Let the buffer grow if it must: the second part. `borrowed`: the caller's arguments."""
        data = self.data
        needed = rows_spanned(entities, INDEX_MASK)
        if needed > data._allocated:
            raise beyond_reserve(MANAGER, data._allocated)

    def _append_many(self, entities: EntityArray, columns: Columns) -> RowArray:
        """Add rows of checked columns: the last part, which only the map can stop."""
        data = self.data
        count = len(entities)
        if count == 0:
            return np.empty(0, np.intp)
        rows_needed = rows_spanned(entities, INDEX_MASK)
        slots = indices(entities, INDEX_MASK)
        first_worn_out(MANAGER, slots, data._id_generation_column)
        rows = span = indices(entities, INDEX_MASK)
        used = rows[rows < data._n]
        self._destroy_rows(np.sort(used[data._entity_column[used] != NULL_ENTITY]))
        data._entity_column[span] = entities
        data._height_column[span] = columns["height"]
        data._walk_cost_column[span] = columns["walk_cost"]
        put_cells(
            data._flow_column,
            data._flow_items,
            span,
            columns["flow"],
        )
        data._explored_column[span] = columns["explored"]
        data._n = max(data._n, rows_needed)
        self._count += count
        data._id_generation_column[rows] += 1
        data._peak = max(data._peak, rows_needed)
        self._version += 1
        return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        height: float = HEIGHT_DEFAULT,
        walk_cost: int = WALK_COST_DEFAULT,
        flow: ArrayLike = FLOW_DEFAULT,
        explored: bool = EXPLORED_DEFAULT,
    ) -> Instance:
        """Return the entity's instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        if row != NIL:
            return row
        return self.create(
            entity, height=height, walk_cost=walk_cost, flow=flow, explored=explored
        )

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). Nothing moves.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        self._destroy_row(row)

    def destroy_many(self, rows: ArrayLike, /) -> None:
        """Remove k instances, given as distinct rows or as a mask of length n; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = present_rows(rows, self.data, MANAGER)
        self._destroy_rows(distinct(given, self.data._n, MANAGER))

    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            raise locked(MANAGER)
        row = self.lookup(entity)
        if row == NIL:
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
        self._destroy_rows(np.flatnonzero(self.data.entity))

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        data._entity_cells[row] = NULL_ENTITY
        if row == data._n - 1:
            data._n = last_owner(data._entity_column, row)
        self._count -= 1
        self._version += 1
        return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        data._entity_column[gone] = NULL_ENTITY
        data._n = last_owner(data._entity_column, data._n)
        self._count -= len(gone)
        self._version += 1
        return len(gone)

    def reserve(self, rows: int, /) -> None:
        """Raise CapacityError if fewer than `rows` rows are reserved; O(1)."""
        rows = index(rows)
        if self._locks:
            raise locked(MANAGER)
        if rows > self.data._allocated:
            raise beyond_reserve(MANAGER, self.data._allocated)

    def shrink_to_fit(self) -> None:
        """Give the pages behind the last row back to the system; O(n). Rows stay in place."""
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        data._give_back()

    def id_of(self, row: Instance, /) -> Id:
        """Return the stable id of a row: `generation << 32 | row`; O(1)."""
        data = self.data
        if (
            type(row) is not int
            or not 0 <= row < data._n
            or not data._entity_cells[row]
        ):
            row = Instance(present_row(row, data, MANAGER))
        return Id(data._id_generation_cells[row] << SLOT_BITS | row)

    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the stable ids of k rows, or of a mask's; O(k)."""
        data = self.data
        given = present_rows(rows, data, MANAGER)
        return ids_of(given, data._id_generation_column)

    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if its instance is gone; O(1)."""
        if type(id) is not int:
            id = Id(index(id))
        data = self.data
        row = id & SLOT_MASK
        if row < data._n and data._id_generation_cells[row] == id >> SLOT_BITS:
            return Instance(row) if data._entity_cells[row] else NIL
        return NIL

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k ids, NIL for those whose instance is gone; O(k)."""
        given = as_entities(ids)
        data = self.data
        n = data._n
        rows = np.where(data.present, np.arange(n), NIL)
        return resolve_ids(given, rows, data._id_generation_column[:n])

    def destroy_id(self, id: Id, /) -> None:
        """Remove the instance with this id; O(1).

        Raises:
            StaleIdError: it is gone already.
            StructureLockedError: the manager is locked.
        """
        row = self.resolve(id)
        if row == NIL:
            raise stale_id(MANAGER, id)
        self.destroy(row)

    def destroy_id_many(self, ids: ArrayLike, /) -> None:
        """Remove the instances with these k ids; O(k). Nothing goes if one is stale.

        Raises:
            StaleIdError: an id is stale, or given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = as_entities(ids)
        self._destroy_rows(rows_of_ids(MANAGER, given, self.resolve_many(given)))

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
            if not (owner := data._entity_cells[row]) or alive(owner):
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
        gone = np.flatnonzero(~alive & (owners != NULL_ENTITY))
        return self._destroy_rows(gone)
