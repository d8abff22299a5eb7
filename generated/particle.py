"""Particle: lookup sparse, instances one, destroy gc.

A particle that flies until its life is over.

One buffer of 32 bytes per row, column after column:

    column    type    bytes/row  offset (64 rows)  tags
    --------  ------  ---------  ----------------  ----
    entity    u64             8                 0  hot
    position  f32[2]          8               512  hot
    velocity  f32[2]          8              1024  hot
    life      f32             4              1536  hot
    colour    u8[4]           4              1792  cold
    32 bytes per row, 4096 for 64 rows
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
    word,
)
from ._runtime.convert.numbers import FloatField, IntField
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
from ._runtime.kernels.blocks import Blocks, Cells, rows_last
from ._runtime.kernels.reductions import added
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

MANAGER: Final = "ParticleManager"
ROW_BYTES: Final = 32
COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("position", np.dtype(np.float32), (2,), 8, ("hot",), 8),
    Column("velocity", np.dtype(np.float32), (2,), 8, ("hot",), 16),
    Column("life", np.dtype(np.float32), (), 4, ("hot",), 24),
    Column("colour", np.dtype(np.uint8), (4,), 4, ("cold",), 28),
)
_POSITION: Final = FloatField("Particle.position", "f32", (2,))
_VELOCITY: Final = FloatField("Particle.velocity", "f32", (2,))
_LIFE: Final = FloatField("Particle.life", "f32")
_COLOUR: Final = IntField("Particle.colour", "u8", (4,))
POSITION_STRUCT: Final = Struct("=2f")
VELOCITY_STRUCT: Final = Struct("=2f")
COLOUR_STRUCT: Final = Struct("=4B")
POSITION_DEFAULT: Final = (0.0, 0.0)
POSITION_WORD: Final = word(_POSITION, POSITION_DEFAULT)
VELOCITY_DEFAULT: Final = (0.0, 0.0)
VELOCITY_WORD: Final = word(_VELOCITY, VELOCITY_DEFAULT)
LIFE_DEFAULT: Final = 1.0
COLOUR_DEFAULT: Final = (255, 255, 255, 255)
COLOUR_WORD: Final = word(_COLOUR, COLOUR_DEFAULT)
SORT_KEYS: Final = ("life",)
SIMULATE_DT_ARGUMENT: Final = FloatField("Particle.simulate.dt", "f32")
SIMULATE_GRAVITY_ARGUMENT: Final = FloatField("Particle.simulate.gravity", "f32")


class Particle(NamedTuple):
    """One row of a ParticleManager, copied out."""

    position: tuple[float, float]
    """Place in the plane. [m]"""

    velocity: tuple[float, float]
    """Change of place per second. [m/s]"""

    life: float
    """Time that it has left. [s]"""

    colour: tuple[int, int, int, int]
    """Red, green, blue and opacity."""


class ParticleFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    position: ArrayLike
    velocity: ArrayLike
    life: ArrayLike
    colour: ArrayLike


class ParticleHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    position: NDArray[np.float32]
    velocity: NDArray[np.float32]
    life: NDArray[np.float32]


class ParticleColdColumns(NamedTuple):
    """The columns tagged `cold`."""

    colour: NDArray[np.uint8]


class ParticleData:
    """The columns of a ParticleManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_buffer",
        "_colour_cells",
        "_colour_column",
        "_colour_items",
        "_colour_words",
        "_entity_cells",
        "_entity_column",
        "_kernels",
        "_life_cells",
        "_life_column",
        "_n",
        "_position_cells",
        "_position_column",
        "_position_items",
        "_position_words",
        "_velocity_cells",
        "_velocity_column",
        "_velocity_items",
        "_velocity_words",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _kernels: dict[str, Blocks]
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _position_column: NDArray[np.float32]
    _position_items: NDArray[Any]
    _position_words: memoryview[int]
    _position_cells: memoryview[float]
    _velocity_column: NDArray[np.float32]
    _velocity_items: NDArray[Any]
    _velocity_words: memoryview[int]
    _velocity_cells: memoryview[float]
    _life_column: NDArray[np.float32]
    _life_cells: memoryview[float]
    _colour_column: NDArray[np.uint8]
    _colour_items: NDArray[Any]
    _colour_words: memoryview[int]
    _colour_cells: memoryview[int]

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
    def position(self) -> NDArray[np.float32]:
        """Place in the plane. [m] Shape (n, 2)."""
        return self._position_column[: self._n]

    @position.setter
    def position(self, values: ArrayLike) -> None:
        if not is_same_view(self.position, values):
            self._position_column[: self._n] = _POSITION.many(values, self._n)

    @property
    def velocity(self) -> NDArray[np.float32]:
        """Change of place per second. [m/s] Shape (n, 2)."""
        return self._velocity_column[: self._n]

    @velocity.setter
    def velocity(self, values: ArrayLike) -> None:
        if not is_same_view(self.velocity, values):
            self._velocity_column[: self._n] = _VELOCITY.many(values, self._n)

    @property
    def life(self) -> NDArray[np.float32]:
        """Time that it has left. [s] Shape (n,)."""
        return self._life_column[: self._n]

    @life.setter
    def life(self, values: ArrayLike) -> None:
        if not is_same_view(self.life, values):
            self._life_column[: self._n] = _LIFE.many(values, self._n)

    @property
    def colour(self) -> NDArray[np.uint8]:
        """Red, green, blue and opacity. Shape (n, 4)."""
        return self._colour_column[: self._n]

    @colour.setter
    def colour(self, values: ArrayLike) -> None:
        if not is_same_view(self.colour, values):
            self._colour_column[: self._n] = _COLOUR.many(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> ParticleHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> ParticleColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return ParticleHotColumns(self.position, self.velocity, self.life)
        if tag == "cold":
            return ParticleColdColumns(self.colour)
        raise ValueError(f"Particle has no tag {tag!r}; it has hot, cold")

    def _simulate_blocks(self) -> Blocks:
        """Cut the columns of `simulate` into blocks; good until they move or n changes."""
        n = self._n
        columns = (
            rows_last(self._velocity_column[:n]),
            rows_last(self._position_column[:n]),
            self._life_column[:n],
        )
        working: tuple[Cells, ...] = (("f4", (2,), True),)
        blocks = Blocks(n, columns, working)
        self._kernels["simulate"] = blocks
        return blocks

    def _expired_blocks(self) -> Blocks:
        """Cut the columns of `expired` into blocks; good until they move or n changes."""
        n = self._n
        columns = (self._life_column[:n],)
        working: tuple[Cells, ...] = (("?", (), False),)
        blocks = Blocks(n, columns, working)
        self._kernels["expired"] = blocks
        return blocks

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._position_column = cut(buffer, COLUMNS[1], capacity)
        self._position_items = items(self._position_column)
        self._position_words = cells(self._position_items)
        self._position_cells = flat_cells(self._position_column)
        self._velocity_column = cut(buffer, COLUMNS[2], capacity)
        self._velocity_items = items(self._velocity_column)
        self._velocity_words = cells(self._velocity_items)
        self._velocity_cells = flat_cells(self._velocity_column)
        self._life_column = cut(buffer, COLUMNS[3], capacity)
        self._life_cells = cells(self._life_column)
        self._colour_column = cut(buffer, COLUMNS[4], capacity)
        self._colour_items = items(self._colour_column)
        self._colour_words = cells(self._colour_items)
        self._colour_cells = flat_cells(self._colour_column)
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
        self._position_items[dst] = self._position_items[src]
        self._velocity_items[dst] = self._velocity_items[src]
        self._life_column[dst] = self._life_column[src]
        self._colour_items[dst] = self._colour_items[src]


class ParticleManager:
    """Owns every Particle: lookup sparse, instances one, destroy gc.

    A particle that flies until its life is over.

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
    data: ParticleData
    _entities: EntityManager
    _sparse: NDArray[np.uint32]
    _sparse_cells: memoryview[Instance]
    _rng: Random

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = ParticleData(capacity=0)
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
        self.data = data = ParticleData(state["allocated"])
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
        """Bytes that the manager holds: the buffer and the map and scratch; O(1)."""
        total = self.data._buffer.nbytes
        total += self._sparse.nbytes
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

    def position(self, row: Instance, /) -> tuple[float, float]:
        """Place in the plane. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return POSITION_STRUCT.unpack_from(data._position_cells, 8 * row)

    def set_position(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `position` of a row: 2 values."""
        _value = _POSITION.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 2 * row
        data._position_cells[_at] = _value[0]
        data._position_cells[_at + 1] = _value[1]

    def velocity(self, row: Instance, /) -> tuple[float, float]:
        """Change of place per second. [m/s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return VELOCITY_STRUCT.unpack_from(data._velocity_cells, 8 * row)

    def set_velocity(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `velocity` of a row: 2 values."""
        _value = _VELOCITY.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 2 * row
        data._velocity_cells[_at] = _value[0]
        data._velocity_cells[_at + 1] = _value[1]

    def life(self, row: Instance, /) -> float:
        """Time that it has left. [s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._life_cells[row]

    def set_life(self, row: Instance, value: float, /) -> None:
        """Set `life` of a row."""
        _value = _LIFE.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._life_cells[row] = _value

    def colour(self, row: Instance, /) -> tuple[int, int, int, int]:
        """Red, green, blue and opacity."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return COLOUR_STRUCT.unpack_from(data._colour_cells, 4 * row)

    def set_colour(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `colour` of a row: 4 values."""
        _value = _COLOUR.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 4 * row
        data._colour_cells[_at] = _value[0]
        data._colour_cells[_at + 1] = _value[1]
        data._colour_cells[_at + 2] = _value[2]
        data._colour_cells[_at + 3] = _value[3]

    def row(self, row: Instance, /) -> Particle:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return Particle(
            POSITION_STRUCT.unpack_from(data._position_cells, 8 * row),
            VELOCITY_STRUCT.unpack_from(data._velocity_cells, 8 * row),
            data._life_cells[row],
            COLOUR_STRUCT.unpack_from(data._colour_cells, 4 * row),
        )

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
        position: ArrayLike = POSITION_DEFAULT,
        velocity: ArrayLike = VELOCITY_DEFAULT,
        life: float = LIFE_DEFAULT,
        colour: ArrayLike = COLOUR_DEFAULT,
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
            _position_ = POSITION_DEFAULT
            if position is not POSITION_DEFAULT:
                _position_ = _POSITION.one(position)
            _velocity_ = VELOCITY_DEFAULT
            if velocity is not VELOCITY_DEFAULT:
                _velocity_ = _VELOCITY.one(velocity)
            _life_ = LIFE_DEFAULT
            if life is not LIFE_DEFAULT:
                _life_ = _LIFE.one(life)
            _colour_ = COLOUR_DEFAULT
            if colour is not COLOUR_DEFAULT:
                _colour_ = _COLOUR.one(colour)
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
            data._allocate(
                grown_capacity(data._allocated, data._n + 1),
                (position, velocity, colour),
            )
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            # a dead entity had the same index
            self._destroy_rows(np.array([_found]))
            _found = NIL
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        data._entity_cells[row] = entity
        if _position_ is POSITION_DEFAULT:
            data._position_words[row] = POSITION_WORD
        else:
            _at = 2 * row
            data._position_cells[_at] = _position_[0]
            data._position_cells[_at + 1] = _position_[1]
        if _velocity_ is VELOCITY_DEFAULT:
            data._velocity_words[row] = VELOCITY_WORD
        else:
            _at = 2 * row
            data._velocity_cells[_at] = _velocity_[0]
            data._velocity_cells[_at + 1] = _velocity_[1]
        data._life_cells[row] = _life_
        if _colour_ is COLOUR_DEFAULT:
            data._colour_words[row] = COLOUR_WORD
        else:
            _at = 4 * row
            data._colour_cells[_at] = _colour_[0]
            data._colour_cells[_at + 1] = _colour_[1]
            data._colour_cells[_at + 2] = _colour_[2]
            data._colour_cells[_at + 3] = _colour_[3]
        data._n = row + 1
        self._sparse_cells[_slot] = row
        self._version += 1
        return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        position: ArrayLike = POSITION_DEFAULT,
        velocity: ArrayLike = VELOCITY_DEFAULT,
        life: ArrayLike = LIFE_DEFAULT,
        colour: ArrayLike = COLOUR_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(
                len(_given),
                position=position,
                velocity=velocity,
                life=life,
                colour=colour,
            )
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        first_repeated(MANAGER, entities)
        first_present(MANAGER, entities, self.lookup_many(entities))
        _borrowed = (entities, position, velocity, life, colour)
        self._make_room(entities, columns, _borrowed)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        position: ArrayLike = POSITION_DEFAULT,
        velocity: ArrayLike = VELOCITY_DEFAULT,
        life: ArrayLike = LIFE_DEFAULT,
        colour: ArrayLike = COLOUR_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "position": _POSITION.many(position, count, data._buffer),
            "velocity": _VELOCITY.many(velocity, count, data._buffer),
            "life": _LIFE.many(life, count, data._buffer),
            "colour": _COLOUR.many(colour, count, data._buffer),
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
        put_cells(
            data._position_column,
            data._position_items,
            span,
            columns["position"],
        )
        put_cells(
            data._velocity_column,
            data._velocity_items,
            span,
            columns["velocity"],
        )
        data._life_column[span] = columns["life"]
        put_cells(
            data._colour_column,
            data._colour_items,
            span,
            columns["colour"],
        )
        data._n = end
        self._sparse[slots] = rows.astype(np.uint32)
        self._version += 1
        return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        position: ArrayLike = POSITION_DEFAULT,
        velocity: ArrayLike = VELOCITY_DEFAULT,
        life: float = LIFE_DEFAULT,
        colour: ArrayLike = COLOUR_DEFAULT,
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
            entity, position=position, velocity=velocity, life=life, colour=colour
        )

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
            data._position_words[dst] = data._position_words[src]
            data._velocity_words[dst] = data._velocity_words[src]
            data._life_cells[dst] = data._life_cells[src]
            data._colour_words[dst] = data._colour_words[src]
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

    def simulate(self, dt: float, gravity: float) -> None:
        """Let all particles fly and age.

        Reads velocity [m/s], position [m], life [s]; writes velocity [m/s], position
        [m], life [s]; `dt` is in s; `gravity` is in m/s^2. O(n), n rows; no structural
        change.
        """
        _dt = np.float32(SIMULATE_DT_ARGUMENT.one(dt))
        _gravity = np.float32(SIMULATE_GRAVITY_ARGUMENT.one(gravity))
        data = self.data
        _blocks = data._kernels.get("simulate")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._simulate_blocks()
        _once = np.multiply(_gravity, _dt)
        for velocity, position, life, _tmp in _blocks.views:
            # velocity.y += gravity * dt
            np.add(velocity[1], _once, out=velocity[1])
            # position += velocity * dt
            np.multiply(velocity, _dt, out=_tmp)
            position += _tmp
            # life -= dt
            life -= _dt

    def expired(self) -> int:
        """Return how many particles have no time left.

        Reads life [s]. Without rows it is 0. O(n).
        """
        data = self.data
        _blocks = data._kernels.get("expired")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._expired_blocks()
        _parts: list[Any] = []
        for life, _tmp in _blocks.views:
            np.less_equal(life, 0.0, out=_tmp)
            _parts.append(np.count_nonzero(_tmp))
        result: int = added(_parts, np.int64, ())
        return result
