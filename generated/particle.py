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

from collections.abc import Iterable, Iterator
from operator import index
from struct import Struct
from typing import Any, ClassVar, Final, Literal, Unpack, overload

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
    combine_sums,
    rows_last,
    selected_blocks,
)
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy, RowField
from ecsgen_runtime.tables.buffers import (
    Column,
    cell_view,
    is_same_view,
    pack_cell,
    put_cells,
)
from ecsgen_runtime.tables.columns import OwnedRows
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import FloatField, IntField
from ecsgen_runtime.values.interchange import TableLike
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("position", np.dtype(np.float32), (2,), 8, ("hot",), 8),
    Column("velocity", np.dtype(np.float32), (2,), 8, ("hot",), 16),
    Column("life", np.dtype(np.float32), (), 4, ("hot",), 24),
    Column("colour", np.dtype(np.uint8), (4,), 4, ("cold",), 28),
)
_POSITION_FIELD: Final = FloatField("Particle.position", "f32", (2,))
_VELOCITY_FIELD: Final = FloatField("Particle.velocity", "f32", (2,))
_LIFE_FIELD: Final = FloatField("Particle.life", "f32")
_COLOUR_FIELD: Final = IntField("Particle.colour", "u8", (4,))
_POSITION_STRUCT: Final = Struct("=2f")
_VELOCITY_STRUCT: Final = Struct("=2f")
_COLOUR_STRUCT: Final = Struct("=4B")
_POSITION_DEFAULT: Final = (0.0, 0.0)
_POSITION_WORD: Final = pack_cell(_POSITION_FIELD, _POSITION_DEFAULT)
_VELOCITY_DEFAULT: Final = (0.0, 0.0)
_VELOCITY_WORD: Final = pack_cell(_VELOCITY_FIELD, _VELOCITY_DEFAULT)
_LIFE_DEFAULT: Final = 1.0
_COLOUR_DEFAULT: Final = (255, 255, 255, 255)
_COLOUR_WORD: Final = pack_cell(_COLOUR_FIELD, _COLOUR_DEFAULT)
_FIELDS: Final = component_fields(
    (
        _POSITION_FIELD,
        "f32[2]",
        _POSITION_DEFAULT,
        ("hot",),
        "m",
        "Place in the plane.",
    ),
    (
        _VELOCITY_FIELD,
        "f32[2]",
        _VELOCITY_DEFAULT,
        ("hot",),
        "m/s",
        "Change of place per second.",
    ),
    (_LIFE_FIELD, "f32", _LIFE_DEFAULT, ("hot",), "s", "Time that it has left."),
    (
        _COLOUR_FIELD,
        "u8[4]",
        _COLOUR_DEFAULT,
        ("cold",),
        "",
        "Red, green, blue and opacity.",
    ),
)
_SIMULATE_DT_ARGUMENT: Final = FloatField("Particle.simulate.dt", "f32")
_SIMULATE_GRAVITY_ARGUMENT: Final = FloatField("Particle.simulate.gravity", "f32")
_0_0_f32: Final = np.array(0.0, np.float32)


class Particle(NamedTuple):
    """One row of a ParticleManager, copied out."""

    position: tuple[float, float] = _POSITION_DEFAULT
    """Place in the plane. [m]"""

    velocity: tuple[float, float] = _VELOCITY_DEFAULT
    """Change of place per second. [m/s]"""

    life: float = _LIFE_DEFAULT
    """Time that it has left. [s]"""

    colour: tuple[int, int, int, int] = _COLOUR_DEFAULT
    """Red, green, blue and opacity."""


class ParticleFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

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


class ParticleData(OwnedRows, KernelRows):
    """The columns of a ParticleManager: views of the rows in use."""

    __slots__ = (
        "_colour_cells",
        "_colour_column",
        "_colour_items",
        "_colour_words",
        "_entity_cells",
        "_entity_column",
        "_kernels",
        "_life_cells",
        "_life_column",
        "_position_cells",
        "_position_column",
        "_position_items",
        "_position_words",
        "_velocity_cells",
        "_velocity_column",
        "_velocity_items",
        "_velocity_words",
    )
    MANAGER: ClassVar = "ParticleManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    def _simulate_blocks(self) -> KernelBlocks:
        """Cut the columns of `simulate` into blocks; good until they move or n changes."""
        n = self._n
        columns = (
            rows_last(self._velocity_column[:n]),
            rows_last(self._position_column[:n]),
            self._life_column[:n],
        )
        working = (("f4", (2,), True),)
        blocks = KernelBlocks(n, columns, working, self._kernels.get("simulate"))
        self._kernels["simulate"] = blocks
        return blocks

    def _expired_blocks(self) -> KernelBlocks:
        """Cut the columns of `expired` into blocks; good until they move or n changes."""
        n = self._n
        columns = (self._life_column[:n],)
        working = (("?", (), False),)
        blocks = KernelBlocks(n, columns, working, self._kernels.get("expired"))
        self._kernels["expired"] = blocks
        return blocks

    @property
    def position(self) -> NDArray[np.float32]:
        """Place in the plane. [m] Shape (n, 2)."""
        return self._position_column[: self._n]

    @position.setter
    def position(self, values: ArrayLike) -> None:
        if not is_same_view(self.position, values):
            self._position_column[: self._n] = _POSITION_FIELD.to_column(
                values, self._n
            )

    @property
    def velocity(self) -> NDArray[np.float32]:
        """Change of place per second. [m/s] Shape (n, 2)."""
        return self._velocity_column[: self._n]

    @velocity.setter
    def velocity(self, values: ArrayLike) -> None:
        if not is_same_view(self.velocity, values):
            self._velocity_column[: self._n] = _VELOCITY_FIELD.to_column(
                values, self._n
            )

    @property
    def life(self) -> NDArray[np.float32]:
        """Time that it has left. [s] Shape (n,)."""
        return self._life_column[: self._n]

    @life.setter
    def life(self, values: ArrayLike) -> None:
        if not is_same_view(self.life, values):
            self._life_column[: self._n] = _LIFE_FIELD.to_column(values, self._n)

    @property
    def colour(self) -> NDArray[np.uint8]:
        """Red, green, blue and opacity. Shape (n, 4)."""
        return self._colour_column[: self._n]

    @colour.setter
    def colour(self, values: ArrayLike) -> None:
        if not is_same_view(self.colour, values):
            self._colour_column[: self._n] = _COLOUR_FIELD.to_column(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> ParticleHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> ParticleColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return ParticleHotColumns(self.position, self.velocity, self.life)
        if tag == "cold":
            return ParticleColdColumns(self.colour)
        raise ValueError(f"Particle has no tag {tag!r}; it has hot, cold")

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._position_column: NDArray[np.float32] = self._column_view(1)
        self._position_items: NDArray[Any] = self._item_view(1)
        self._position_words: memoryview[int] = cell_view(self._position_items)
        self._position_cells: memoryview[float] = cell_view(self._position_column)
        self._velocity_column: NDArray[np.float32] = self._column_view(2)
        self._velocity_items: NDArray[Any] = self._item_view(2)
        self._velocity_words: memoryview[int] = cell_view(self._velocity_items)
        self._velocity_cells: memoryview[float] = cell_view(self._velocity_column)
        self._life_column: NDArray[np.float32] = self._column_view(3)
        self._life_cells: memoryview[float] = cell_view(self._life_column)
        self._colour_column: NDArray[np.uint8] = self._column_view(4)
        self._colour_items: NDArray[Any] = self._item_view(4)
        self._colour_words: memoryview[int] = cell_view(self._colour_items)
        self._colour_cells: memoryview[int] = cell_view(self._colour_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._position_items[dst] = self._position_items[src]
        self._velocity_items[dst] = self._velocity_items[src]
        self._life_column[dst] = self._life_column[src]
        self._colour_items[dst] = self._colour_items[src]


class ParticleManager(Sparse, MappedOne, Gc):
    """Manager of every Particle: lookup sparse, instances one, destroy gc.

    A particle that flies until its life is over.
    """

    __slots__ = ("_entities", "_rng", "_sparse", "_sparse_cells")
    PARTS: ClassVar = ManagerParts(
        row=Particle,
        accessors=("packed",),
        create=("packed", "sparse", "one"),
        destroy_row=("packed", "sparse"),
    )
    ROWS: ClassVar = ParticleData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("life",)
    data: ParticleData

    def position(self, row: int, /) -> tuple[float, float]:
        """Place in the plane. [m]"""
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

    def velocity(self, row: int, /) -> tuple[float, float]:
        """Change of place per second. [m/s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _VELOCITY_STRUCT.unpack_from(data._velocity_cells, 8 * row)

    def set_velocity(self, row: int, value: ArrayLike, /) -> None:
        """Set `velocity` of a row: 2 values."""
        _value = _VELOCITY_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 2 * row
        data._velocity_cells[_at] = _value[0]
        data._velocity_cells[_at + 1] = _value[1]

    def life(self, row: int, /) -> float:
        """Time that it has left. [s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._life_cells[row]

    def set_life(self, row: int, value: float, /) -> None:
        """Set `life` of a row."""
        _value = _LIFE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._life_cells[row] = _value

    def colour(self, row: int, /) -> tuple[int, int, int, int]:
        """Red, green, blue and opacity."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _COLOUR_STRUCT.unpack_from(data._colour_cells, 4 * row)

    def set_colour(self, row: int, value: ArrayLike, /) -> None:
        """Set `colour` of a row: 4 values."""
        _value = _COLOUR_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 4 * row
        data._colour_cells[_at] = _value[0]
        data._colour_cells[_at + 1] = _value[1]
        data._colour_cells[_at + 2] = _value[2]
        data._colour_cells[_at + 3] = _value[3]

    def row(self, row: int, /) -> Particle:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Particle(
            _POSITION_STRUCT.unpack_from(data._position_cells, 8 * row),
            _VELOCITY_STRUCT.unpack_from(data._velocity_cells, 8 * row),
            data._life_cells[row],
            _COLOUR_STRUCT.unpack_from(data._colour_cells, 4 * row),
        )

    def __getitem__(self, entity: Entity, /) -> ParticleRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(ParticleRef, entity)

    def rows(self) -> Iterator[ParticleRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(ParticleRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        position: ArrayLike = _POSITION_DEFAULT,
        velocity: ArrayLike = _VELOCITY_DEFAULT,
        life: float = _LIFE_DEFAULT,
        colour: ArrayLike = _COLOUR_DEFAULT,
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
            _velocity_ = _VELOCITY_DEFAULT
            if velocity is not _VELOCITY_DEFAULT:
                _velocity_ = _VELOCITY_FIELD.to_cell(velocity)
            _life_ = _LIFE_DEFAULT
            if life is not _LIFE_DEFAULT:
                _life_ = _LIFE_FIELD.to_cell(life)
            _colour_ = _COLOUR_DEFAULT
            if colour is not _COLOUR_DEFAULT:
                _colour_ = _COLOUR_FIELD.to_cell(colour)
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
            data._grow(data._n + 1, (position, velocity, colour))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted,
                entity,
                position=position,
                velocity=velocity,
                life=life,
                colour=colour,
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
            if _velocity_ is _VELOCITY_DEFAULT:
                data._velocity_words[row] = _VELOCITY_WORD
            else:
                _at = 2 * row
                data._velocity_cells[_at] = _velocity_[0]
                data._velocity_cells[_at + 1] = _velocity_[1]
            data._life_cells[row] = _life_
            if _colour_ is _COLOUR_DEFAULT:
                data._colour_words[row] = _COLOUR_WORD
            else:
                _at = 4 * row
                data._colour_cells[_at] = _colour_[0]
                data._colour_cells[_at + 1] = _colour_[1]
                data._colour_cells[_at + 2] = _colour_[2]
                data._colour_cells[_at + 3] = _colour_[3]
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
        **columns: Unpack[ParticleFields],
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
            put_cells(data._velocity_column, span, columns["velocity"])
            data._life_column[span] = columns["life"]
            put_cells(data._colour_column, span, columns["colour"])
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
                data._velocity_words[dst] = data._velocity_words[src]
                data._life_cells[dst] = data._life_cells[src]
                data._colour_words[dst] = data._colour_words[src]
                self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
            data._n = src
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def simulate(
        self, dt: float, gravity: float, *, rows: ArrayLike | None = None
    ) -> None:
        """Let all particles fly and age.

        Reads velocity [m/s], position [m], life [s]; writes velocity [m/s], position
        [m], life [s]; `dt` is in s; `gravity` is in m/s^2. O(n), n rows; no structural
        change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _dt = np.array(_SIMULATE_DT_ARGUMENT.to_cell(dt), np.float32)
        _gravity = np.array(_SIMULATE_GRAVITY_ARGUMENT.to_cell(gravity), np.float32)
        data = self.data
        _blocks = data._kernels.get("simulate")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._simulate_blocks()
        _views: Iterable[tuple[Any, ...]] = _blocks.views
        if rows is not None:
            _views = selected_blocks(_blocks, SelectedRows(self, rows).rows, (0, 1, 2))
        _once = np.multiply(_gravity, _dt)
        for velocity, position, life, _tmp in _views:
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
            np.less_equal(life, _0_0_f32, out=_tmp)
            _parts.append(np.count_nonzero(_tmp))
        _result: int = combine_sums(_parts, np.int64, ())
        return _result


class ParticleRef(EntityProxy):
    """A row of a ParticleManager, which follows its entity."""

    __slots__ = ()

    position = ArrayField.of(np.float32, ParticleManager.set_position)
    velocity = ArrayField.of(np.float32, ParticleManager.set_velocity)
    life = RowField.cell(ParticleManager.life, ParticleManager.set_life, _LIFE_FIELD)
    colour = ArrayField.of(np.uint8, ParticleManager.set_colour)
