"""CelestialBody: lookup sparse, instances one, destroy gc.

A body that moves under the gravity of all the others.

One buffer of 112 bytes per row, column after column:

    column        type     bytes/row  offset (64 rows)  tags
    ------------  -------  ---------  ----------------  ----
    entity        u64              8                 0  hot
    gm            f64              8               512  hot
    position      f64[3]          24              1024  hot
    velocity      f64[3]          24              2560  hot
    acceleration  f64[3]          24              4096  hot
    radius        f64              8              5632  cold
    name          str[16]         16              6144  cold
    112 bytes per row, 8192 for 64 rows
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
)
from ._runtime.convert.numbers import FloatField
from ._runtime.convert.text import TextField
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

MANAGER: Final = "CelestialBodyManager"
ROW_BYTES: Final = 112
COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("gm", np.dtype(np.float64), (), 8, ("hot",), 8),
    Column("position", np.dtype(np.float64), (3,), 24, ("hot",), 16),
    Column("velocity", np.dtype(np.float64), (3,), 24, ("hot",), 40),
    Column("acceleration", np.dtype(np.float64), (3,), 24, ("hot",), 64),
    Column("radius", np.dtype(np.float64), (), 8, ("cold",), 88),
    Column("name", np.dtype("S16"), (), 16, ("cold",), 96),
)
_GM: Final = FloatField("CelestialBody.gm", "f64")
_POSITION: Final = FloatField("CelestialBody.position", "f64", (3,))
_VELOCITY: Final = FloatField("CelestialBody.velocity", "f64", (3,))
_ACCELERATION: Final = FloatField("CelestialBody.acceleration", "f64", (3,))
_RADIUS: Final = FloatField("CelestialBody.radius", "f64")
_NAME: Final = TextField("CelestialBody.name", 16)
POSITION_STRUCT: Final = Struct("=3d")
VELOCITY_STRUCT: Final = Struct("=3d")
ACCELERATION_STRUCT: Final = Struct("=3d")
GM_DEFAULT: Final = 0.0
POSITION_DEFAULT: Final = (0.0, 0.0, 0.0)
VELOCITY_DEFAULT: Final = (0.0, 0.0, 0.0)
ACCELERATION_DEFAULT: Final = (0.0, 0.0, 0.0)
RADIUS_DEFAULT: Final = 0.0
NAME_DEFAULT: Final = ""
NAME_CELL: Final = _NAME.one(NAME_DEFAULT)
SORT_KEYS: Final = ("gm", "radius", "name")
KICK_DT_ARGUMENT: Final = FloatField("CelestialBody.kick.dt", "f64")
DRIFT_DT_ARGUMENT: Final = FloatField("CelestialBody.drift.dt", "f64")


class CelestialBody(NamedTuple):
    """One row of a CelestialBodyManager, copied out."""

    gm: float
    """Mass times the constant of gravitation. [m^3/s^2]"""

    position: tuple[float, float, float]
    """Place from the system's centre of mass, ecliptic of J2000. [m]"""

    velocity: tuple[float, float, float]
    """Change of place per second. [m/s]"""

    acceleration: tuple[float, float, float]
    """What gravity does to the velocity, per second. [m/s^2]"""

    radius: float
    """Mean radius of the body. [m]"""

    name: str
    """What it is called."""


class CelestialBodyFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    gm: ArrayLike
    position: ArrayLike
    velocity: ArrayLike
    acceleration: ArrayLike
    radius: ArrayLike
    name: ArrayLike


class CelestialBodyHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    gm: NDArray[np.float64]
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    acceleration: NDArray[np.float64]


class CelestialBodyColdColumns(NamedTuple):
    """The columns tagged `cold`."""

    radius: NDArray[np.float64]
    name: NDArray[np.bytes_]


class CelestialBodyData:
    """The columns of a CelestialBodyManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_acceleration_cells",
        "_acceleration_column",
        "_acceleration_items",
        "_allocated",
        "_buffer",
        "_entity_cells",
        "_entity_column",
        "_gm_cells",
        "_gm_column",
        "_kernels",
        "_n",
        "_name_column",
        "_position_cells",
        "_position_column",
        "_position_items",
        "_radius_cells",
        "_radius_column",
        "_velocity_cells",
        "_velocity_column",
        "_velocity_items",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _kernels: dict[str, Blocks]
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _gm_column: NDArray[np.float64]
    _gm_cells: memoryview[float]
    _position_column: NDArray[np.float64]
    _position_items: NDArray[Any]
    _position_cells: memoryview[float]
    _velocity_column: NDArray[np.float64]
    _velocity_items: NDArray[Any]
    _velocity_cells: memoryview[float]
    _acceleration_column: NDArray[np.float64]
    _acceleration_items: NDArray[Any]
    _acceleration_cells: memoryview[float]
    _radius_column: NDArray[np.float64]
    _radius_cells: memoryview[float]
    _name_column: NDArray[np.bytes_]

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
    def gm(self) -> NDArray[np.float64]:
        """Mass times the constant of gravitation. [m^3/s^2] Shape (n,)."""
        return self._gm_column[: self._n]

    @gm.setter
    def gm(self, values: ArrayLike) -> None:
        if not is_same_view(self.gm, values):
            self._gm_column[: self._n] = _GM.many(values, self._n)

    @property
    def position(self) -> NDArray[np.float64]:
        """Place from the system's centre of mass, ecliptic of J2000. [m] Shape (n, 3)."""
        return self._position_column[: self._n]

    @position.setter
    def position(self, values: ArrayLike) -> None:
        if not is_same_view(self.position, values):
            self._position_column[: self._n] = _POSITION.many(values, self._n)

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Change of place per second. [m/s] Shape (n, 3)."""
        return self._velocity_column[: self._n]

    @velocity.setter
    def velocity(self, values: ArrayLike) -> None:
        if not is_same_view(self.velocity, values):
            self._velocity_column[: self._n] = _VELOCITY.many(values, self._n)

    @property
    def acceleration(self) -> NDArray[np.float64]:
        """What gravity does to the velocity, per second. [m/s^2] Shape (n, 3)."""
        return self._acceleration_column[: self._n]

    @acceleration.setter
    def acceleration(self, values: ArrayLike) -> None:
        if not is_same_view(self.acceleration, values):
            self._acceleration_column[: self._n] = _ACCELERATION.many(values, self._n)

    @property
    def radius(self) -> NDArray[np.float64]:
        """Mean radius of the body. [m] Shape (n,)."""
        return self._radius_column[: self._n]

    @radius.setter
    def radius(self, values: ArrayLike) -> None:
        if not is_same_view(self.radius, values):
            self._radius_column[: self._n] = _RADIUS.many(values, self._n)

    @property
    def name(self) -> NDArray[np.bytes_]:
        """What it is called. Shape (n,)."""
        return self._name_column[: self._n]

    @name.setter
    def name(self, values: ArrayLike) -> None:
        if not is_same_view(self.name, values):
            self._name_column[: self._n] = _NAME.many(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> CelestialBodyHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> CelestialBodyColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return CelestialBodyHotColumns(
                self.gm, self.position, self.velocity, self.acceleration
            )
        if tag == "cold":
            return CelestialBodyColdColumns(self.radius, self.name)
        raise ValueError(f"CelestialBody has no tag {tag!r}; it has hot, cold")

    def _kick_blocks(self) -> Blocks:
        """Cut the columns of `kick` into blocks; good until they move or n changes."""
        n = self._n
        columns = (
            rows_last(self._velocity_column[:n]),
            rows_last(self._acceleration_column[:n]),
        )
        working: tuple[Cells, ...] = (("f8", (3,), True),)
        blocks = Blocks(n, columns, working)
        self._kernels["kick"] = blocks
        return blocks

    def _drift_blocks(self) -> Blocks:
        """Cut the columns of `drift` into blocks; good until they move or n changes."""
        n = self._n
        columns = (
            rows_last(self._position_column[:n]),
            rows_last(self._velocity_column[:n]),
        )
        working: tuple[Cells, ...] = (("f8", (3,), True),)
        blocks = Blocks(n, columns, working)
        self._kernels["drift"] = blocks
        return blocks

    def _kinetic_energy_blocks(self) -> Blocks:
        """Cut the columns of `kinetic_energy` into blocks; good until they move or n changes."""
        n = self._n
        columns = (self._gm_column[:n], rows_last(self._velocity_column[:n]))
        working: tuple[Cells, ...] = (
            ("f8", (), False),
            ("f8", (), False),
            ("f8", (), False),
        )
        blocks = Blocks(n, columns, working)
        self._kernels["kinetic_energy"] = blocks
        return blocks

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._gm_column = cut(buffer, COLUMNS[1], capacity)
        self._gm_cells = cells(self._gm_column)
        self._position_column = cut(buffer, COLUMNS[2], capacity)
        self._position_items = items(self._position_column)
        self._position_cells = flat_cells(self._position_column)
        self._velocity_column = cut(buffer, COLUMNS[3], capacity)
        self._velocity_items = items(self._velocity_column)
        self._velocity_cells = flat_cells(self._velocity_column)
        self._acceleration_column = cut(buffer, COLUMNS[4], capacity)
        self._acceleration_items = items(self._acceleration_column)
        self._acceleration_cells = flat_cells(self._acceleration_column)
        self._radius_column = cut(buffer, COLUMNS[5], capacity)
        self._radius_cells = cells(self._radius_column)
        self._name_column = cut(buffer, COLUMNS[6], capacity)
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
        self._gm_column[dst] = self._gm_column[src]
        self._position_items[dst] = self._position_items[src]
        self._velocity_items[dst] = self._velocity_items[src]
        self._acceleration_items[dst] = self._acceleration_items[src]
        self._radius_column[dst] = self._radius_column[src]
        self._name_column[dst] = self._name_column[src]


class CelestialBodyManager:
    """Owns every CelestialBody: lookup sparse, instances one, destroy gc.

    A body that moves under the gravity of all the others.

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
    data: CelestialBodyData
    _entities: EntityManager
    _sparse: NDArray[np.uint32]
    _sparse_cells: memoryview[Instance]
    _rng: Random

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = CelestialBodyData(capacity=0)
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
        self.data = data = CelestialBodyData(state["allocated"])
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

    def gm(self, row: Instance, /) -> float:
        """Mass times the constant of gravitation. [m^3/s^2]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._gm_cells[row]

    def set_gm(self, row: Instance, value: float, /) -> None:
        """Set `gm` of a row."""
        _value = _GM.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._gm_cells[row] = _value

    def position(self, row: Instance, /) -> tuple[float, float, float]:
        """Place from the system's centre of mass, ecliptic of J2000. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return POSITION_STRUCT.unpack_from(data._position_cells, 24 * row)

    def set_position(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `position` of a row: 3 values."""
        _value = _POSITION.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 3 * row
        data._position_cells[_at] = _value[0]
        data._position_cells[_at + 1] = _value[1]
        data._position_cells[_at + 2] = _value[2]

    def velocity(self, row: Instance, /) -> tuple[float, float, float]:
        """Change of place per second. [m/s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return VELOCITY_STRUCT.unpack_from(data._velocity_cells, 24 * row)

    def set_velocity(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `velocity` of a row: 3 values."""
        _value = _VELOCITY.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 3 * row
        data._velocity_cells[_at] = _value[0]
        data._velocity_cells[_at + 1] = _value[1]
        data._velocity_cells[_at + 2] = _value[2]

    def acceleration(self, row: Instance, /) -> tuple[float, float, float]:
        """What gravity does to the velocity, per second. [m/s^2]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return ACCELERATION_STRUCT.unpack_from(data._acceleration_cells, 24 * row)

    def set_acceleration(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `acceleration` of a row: 3 values."""
        _value = _ACCELERATION.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 3 * row
        data._acceleration_cells[_at] = _value[0]
        data._acceleration_cells[_at + 1] = _value[1]
        data._acceleration_cells[_at + 2] = _value[2]

    def radius(self, row: Instance, /) -> float:
        """Mean radius of the body. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._radius_cells[row]

    def set_radius(self, row: Instance, value: float, /) -> None:
        """Set `radius` of a row."""
        _value = _RADIUS.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._radius_cells[row] = _value

    def name(self, row: Instance, /) -> str:
        """What it is called."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return str(data._name_column[row], "utf-8")

    def set_name(self, row: Instance, value: str, /) -> None:
        """Set `name` of a row: at most 16 bytes of UTF-8."""
        _value = _NAME.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._name_column[row] = _value

    def row(self, row: Instance, /) -> CelestialBody:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return CelestialBody(
            data._gm_cells[row],
            POSITION_STRUCT.unpack_from(data._position_cells, 24 * row),
            VELOCITY_STRUCT.unpack_from(data._velocity_cells, 24 * row),
            ACCELERATION_STRUCT.unpack_from(data._acceleration_cells, 24 * row),
            data._radius_cells[row],
            str(data._name_column[row], "utf-8"),
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
        gm: float = GM_DEFAULT,
        position: ArrayLike = POSITION_DEFAULT,
        velocity: ArrayLike = VELOCITY_DEFAULT,
        acceleration: ArrayLike = ACCELERATION_DEFAULT,
        radius: float = RADIUS_DEFAULT,
        name: str = NAME_DEFAULT,
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
            _gm_ = GM_DEFAULT
            if gm is not GM_DEFAULT:
                _gm_ = _GM.one(gm)
            _position_ = POSITION_DEFAULT
            if position is not POSITION_DEFAULT:
                _position_ = _POSITION.one(position)
            _velocity_ = VELOCITY_DEFAULT
            if velocity is not VELOCITY_DEFAULT:
                _velocity_ = _VELOCITY.one(velocity)
            _acceleration_ = ACCELERATION_DEFAULT
            if acceleration is not ACCELERATION_DEFAULT:
                _acceleration_ = _ACCELERATION.one(acceleration)
            _radius_ = RADIUS_DEFAULT
            if radius is not RADIUS_DEFAULT:
                _radius_ = _RADIUS.one(radius)
            _name_ = NAME_CELL
            if name is not NAME_DEFAULT:
                _name_ = _NAME.one(name)
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
                (position, velocity, acceleration),
            )
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            # a dead entity had the same index
            self._destroy_rows(np.array([_found]))
            _found = NIL
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        data._entity_cells[row] = entity
        data._gm_cells[row] = _gm_
        _at = 3 * row
        data._position_cells[_at] = _position_[0]
        data._position_cells[_at + 1] = _position_[1]
        data._position_cells[_at + 2] = _position_[2]
        _at = 3 * row
        data._velocity_cells[_at] = _velocity_[0]
        data._velocity_cells[_at + 1] = _velocity_[1]
        data._velocity_cells[_at + 2] = _velocity_[2]
        _at = 3 * row
        data._acceleration_cells[_at] = _acceleration_[0]
        data._acceleration_cells[_at + 1] = _acceleration_[1]
        data._acceleration_cells[_at + 2] = _acceleration_[2]
        data._radius_cells[row] = _radius_
        data._name_column[row] = _name_
        data._n = row + 1
        self._sparse_cells[_slot] = row
        self._version += 1
        return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        gm: ArrayLike = GM_DEFAULT,
        position: ArrayLike = POSITION_DEFAULT,
        velocity: ArrayLike = VELOCITY_DEFAULT,
        acceleration: ArrayLike = ACCELERATION_DEFAULT,
        radius: ArrayLike = RADIUS_DEFAULT,
        name: ArrayLike = NAME_DEFAULT,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(
                len(_given),
                gm=gm,
                position=position,
                velocity=velocity,
                acceleration=acceleration,
                radius=radius,
                name=name,
            )
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        first_repeated(MANAGER, entities)
        first_present(MANAGER, entities, self.lookup_many(entities))
        _borrowed = (entities, gm, position, velocity, acceleration, radius, name)
        self._make_room(entities, columns, _borrowed)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        gm: ArrayLike = GM_DEFAULT,
        position: ArrayLike = POSITION_DEFAULT,
        velocity: ArrayLike = VELOCITY_DEFAULT,
        acceleration: ArrayLike = ACCELERATION_DEFAULT,
        radius: ArrayLike = RADIUS_DEFAULT,
        name: ArrayLike = NAME_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "gm": _GM.many(gm, count, data._buffer),
            "position": _POSITION.many(position, count, data._buffer),
            "velocity": _VELOCITY.many(velocity, count, data._buffer),
            "acceleration": _ACCELERATION.many(acceleration, count, data._buffer),
            "radius": _RADIUS.many(radius, count, data._buffer),
            "name": _NAME.many(name, count, data._buffer),
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
        data._gm_column[span] = columns["gm"]
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
        put_cells(
            data._acceleration_column,
            data._acceleration_items,
            span,
            columns["acceleration"],
        )
        data._radius_column[span] = columns["radius"]
        data._name_column[span] = columns["name"]
        data._n = end
        self._sparse[slots] = rows.astype(np.uint32)
        self._version += 1
        return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        gm: float = GM_DEFAULT,
        position: ArrayLike = POSITION_DEFAULT,
        velocity: ArrayLike = VELOCITY_DEFAULT,
        acceleration: ArrayLike = ACCELERATION_DEFAULT,
        radius: float = RADIUS_DEFAULT,
        name: str = NAME_DEFAULT,
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
            entity,
            gm=gm,
            position=position,
            velocity=velocity,
            acceleration=acceleration,
            radius=radius,
            name=name,
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
            data._gm_cells[dst] = data._gm_cells[src]
            data._position_items[dst] = data._position_items[src]
            data._velocity_items[dst] = data._velocity_items[src]
            data._acceleration_items[dst] = data._acceleration_items[src]
            data._radius_cells[dst] = data._radius_cells[src]
            data._name_column[dst] = data._name_column[src]
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

    def kick(self, dt: float) -> None:
        """Change velocities by what gravity does in dt seconds.

        Reads velocity [m/s], acceleration [m/s^2]; writes velocity [m/s]; `dt` is in s.
        O(n), n rows; no structural change.
        """
        _dt = np.float64(KICK_DT_ARGUMENT.one(dt))
        data = self.data
        _blocks = data._kernels.get("kick")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._kick_blocks()
        for velocity, acceleration, _tmp in _blocks.views:
            # velocity += acceleration * dt
            np.multiply(acceleration, _dt, out=_tmp)
            velocity += _tmp

    def drift(self, dt: float) -> None:
        """Move every body for dt seconds.

        Reads position [m], velocity [m/s]; writes position [m]; `dt` is in s. O(n), n
        rows; no structural change.
        """
        _dt = np.float64(DRIFT_DT_ARGUMENT.one(dt))
        data = self.data
        _blocks = data._kernels.get("drift")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._drift_blocks()
        for position, velocity, _tmp in _blocks.views:
            # position += velocity * dt
            np.multiply(velocity, _dt, out=_tmp)
            position += _tmp

    def kinetic_energy(self) -> float:
        """Return the energy of motion, times the constant of gravitation.

        Reads gm [m^3/s^2], velocity [m/s]. Added in f64. Without rows it is 0. O(n).
        """
        data = self.data
        _blocks = data._kernels.get("kinetic_energy")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._kinetic_energy_blocks()
        _parts: list[Any] = []
        for gm, velocity, _tmp, _tmp2, _tmp3 in _blocks.views:
            np.multiply(0.5, gm, out=_tmp)
            np.multiply(velocity[0], velocity[0], out=_tmp2)
            np.multiply(velocity[1], velocity[1], out=_tmp3)
            _tmp2 += _tmp3
            np.multiply(velocity[2], velocity[2], out=_tmp3)
            _tmp2 += _tmp3
            _tmp *= _tmp2
            _parts.append(np.add.reduce(_tmp, axis=-1, dtype=np.float64))
        result: float = added(_parts, np.float64, ())
        return result
