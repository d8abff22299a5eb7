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
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view, put_cells
from ecsgen_runtime.tables.columns import OwnedRows
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import FloatField, TextField
from ecsgen_runtime.values.interchange import TableLike
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("gm", np.dtype(np.float64), (), 8, ("hot",), 8),
    Column("position", np.dtype(np.float64), (3,), 24, ("hot",), 16),
    Column("velocity", np.dtype(np.float64), (3,), 24, ("hot",), 40),
    Column("acceleration", np.dtype(np.float64), (3,), 24, ("hot",), 64),
    Column("radius", np.dtype(np.float64), (), 8, ("cold",), 88),
    Column("name", np.dtype("S16"), (), 16, ("cold",), 96),
)
_GM_FIELD: Final = FloatField("CelestialBody.gm", "f64")
_POSITION_FIELD: Final = FloatField("CelestialBody.position", "f64", (3,))
_VELOCITY_FIELD: Final = FloatField("CelestialBody.velocity", "f64", (3,))
_ACCELERATION_FIELD: Final = FloatField("CelestialBody.acceleration", "f64", (3,))
_RADIUS_FIELD: Final = FloatField("CelestialBody.radius", "f64")
_NAME_FIELD: Final = TextField("CelestialBody.name", 16)
_POSITION_STRUCT: Final = Struct("=3d")
_VELOCITY_STRUCT: Final = Struct("=3d")
_ACCELERATION_STRUCT: Final = Struct("=3d")
_GM_DEFAULT: Final = 0.0
_POSITION_DEFAULT: Final = (0.0, 0.0, 0.0)
_VELOCITY_DEFAULT: Final = (0.0, 0.0, 0.0)
_ACCELERATION_DEFAULT: Final = (0.0, 0.0, 0.0)
_RADIUS_DEFAULT: Final = 0.0
_NAME_DEFAULT: Final = ""
_NAME_CELL: Final = _NAME_FIELD.to_cell(_NAME_DEFAULT)
_FIELDS: Final = component_fields(
    (
        _GM_FIELD,
        "f64",
        _GM_DEFAULT,
        ("hot",),
        "m^3/s^2",
        "Mass times the constant of gravitation.",
    ),
    (
        _POSITION_FIELD,
        "f64[3]",
        _POSITION_DEFAULT,
        ("hot",),
        "m",
        "Place from the system's centre of mass, ecliptic of J2000.",
    ),
    (
        _VELOCITY_FIELD,
        "f64[3]",
        _VELOCITY_DEFAULT,
        ("hot",),
        "m/s",
        "Change of place per second.",
    ),
    (
        _ACCELERATION_FIELD,
        "f64[3]",
        _ACCELERATION_DEFAULT,
        ("hot",),
        "m/s^2",
        "What gravity does to the velocity, per second.",
    ),
    (_RADIUS_FIELD, "f64", _RADIUS_DEFAULT, ("cold",), "m", "Mean radius of the body."),
    (_NAME_FIELD, "str[16]", _NAME_DEFAULT, ("cold",), "", "What it is called."),
)
_KICK_DT_ARGUMENT: Final = FloatField("CelestialBody.kick.dt", "f64")
_DRIFT_DT_ARGUMENT: Final = FloatField("CelestialBody.drift.dt", "f64")
_ORBIT_1_DT_ARGUMENT: Final = FloatField("CelestialBody.orbit_1.dt", "f64")
_0_5_f64: Final = np.array(0.5, np.float64)


class CelestialBody(NamedTuple):
    """One row of a CelestialBodyManager, copied out."""

    gm: float = _GM_DEFAULT
    """Mass times the constant of gravitation. [m^3/s^2]"""

    position: tuple[float, float, float] = _POSITION_DEFAULT
    """Place from the system's centre of mass, ecliptic of J2000. [m]"""

    velocity: tuple[float, float, float] = _VELOCITY_DEFAULT
    """Change of place per second. [m/s]"""

    acceleration: tuple[float, float, float] = _ACCELERATION_DEFAULT
    """What gravity does to the velocity, per second. [m/s^2]"""

    radius: float = _RADIUS_DEFAULT
    """Mean radius of the body. [m]"""

    name: str = _NAME_DEFAULT
    """What it is called."""


class CelestialBodyFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

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


class CelestialBodyData(OwnedRows, KernelRows):
    """The columns of a CelestialBodyManager: views of the rows in use."""

    __slots__ = (
        "_acceleration_cells",
        "_acceleration_column",
        "_acceleration_items",
        "_entity_cells",
        "_entity_column",
        "_gm_cells",
        "_gm_column",
        "_kernels",
        "_name_column",
        "_name_view",
        "_position_cells",
        "_position_column",
        "_position_items",
        "_radius_cells",
        "_radius_column",
        "_velocity_cells",
        "_velocity_column",
        "_velocity_items",
    )
    MANAGER: ClassVar = "CelestialBodyManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    def _kick_blocks(self) -> KernelBlocks:
        """Cut the columns of `kick` into blocks; good until they move or n changes."""
        n = self._n
        columns = (
            rows_last(self._velocity_column[:n]),
            rows_last(self._acceleration_column[:n]),
        )
        working = (("f8", (3,), True),)
        blocks = KernelBlocks(n, columns, working, self._kernels.get("kick"))
        self._kernels["kick"] = blocks
        return blocks

    def _drift_blocks(self) -> KernelBlocks:
        """Cut the columns of `drift` into blocks; good until they move or n changes."""
        n = self._n
        columns = (
            rows_last(self._position_column[:n]),
            rows_last(self._velocity_column[:n]),
        )
        working = (("f8", (3,), True),)
        blocks = KernelBlocks(n, columns, working, self._kernels.get("drift"))
        self._kernels["drift"] = blocks
        return blocks

    def _orbit_1_blocks(self) -> KernelBlocks:
        """Cut the columns of `orbit_1` into blocks; good until they move or n changes."""
        n = self._n
        columns = (
            rows_last(self._velocity_column[:n]),
            rows_last(self._acceleration_column[:n]),
            rows_last(self._position_column[:n]),
        )
        working = (("f8", (3,), True),)
        blocks = KernelBlocks(n, columns, working, self._kernels.get("orbit_1"), 3)
        self._kernels["orbit_1"] = blocks
        return blocks

    def _kinetic_energy_blocks(self) -> KernelBlocks:
        """Cut the columns of `kinetic_energy` into blocks; good until they move or n
        changes."""
        n = self._n
        columns = (self._gm_column[:n], rows_last(self._velocity_column[:n]))
        working = (("f8", (), False), ("f8", (), False), ("f8", (), False))
        blocks = KernelBlocks(n, columns, working, self._kernels.get("kinetic_energy"))
        self._kernels["kinetic_energy"] = blocks
        return blocks

    @property
    def gm(self) -> NDArray[np.float64]:
        """Mass times the constant of gravitation. [m^3/s^2] Shape (n,)."""
        return self._gm_column[: self._n]

    @gm.setter
    def gm(self, values: ArrayLike) -> None:
        if not is_same_view(self.gm, values):
            self._gm_column[: self._n] = _GM_FIELD.to_column(values, self._n)

    @property
    def position(self) -> NDArray[np.float64]:
        """Place from the system's centre of mass, ecliptic of J2000. [m] Shape (n, 3)."""
        return self._position_column[: self._n]

    @position.setter
    def position(self, values: ArrayLike) -> None:
        if not is_same_view(self.position, values):
            self._position_column[: self._n] = _POSITION_FIELD.to_column(
                values, self._n
            )

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Change of place per second. [m/s] Shape (n, 3)."""
        return self._velocity_column[: self._n]

    @velocity.setter
    def velocity(self, values: ArrayLike) -> None:
        if not is_same_view(self.velocity, values):
            self._velocity_column[: self._n] = _VELOCITY_FIELD.to_column(
                values, self._n
            )

    @property
    def acceleration(self) -> NDArray[np.float64]:
        """What gravity does to the velocity, per second. [m/s^2] Shape (n, 3)."""
        return self._acceleration_column[: self._n]

    @acceleration.setter
    def acceleration(self, values: ArrayLike) -> None:
        if not is_same_view(self.acceleration, values):
            self._acceleration_column[: self._n] = _ACCELERATION_FIELD.to_column(
                values, self._n
            )

    @property
    def radius(self) -> NDArray[np.float64]:
        """Mean radius of the body. [m] Shape (n,)."""
        return self._radius_column[: self._n]

    @radius.setter
    def radius(self, values: ArrayLike) -> None:
        if not is_same_view(self.radius, values):
            self._radius_column[: self._n] = _RADIUS_FIELD.to_column(values, self._n)

    @property
    def name(self) -> NDArray[np.bytes_]:
        """What it is called. Shape (n,)."""
        return self._name_view[: self._n]

    @name.setter
    def name(self, values: ArrayLike) -> None:
        if not is_same_view(self.name, values):
            self._name_column[: self._n] = _NAME_FIELD.to_column(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> CelestialBodyHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> CelestialBodyColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return CelestialBodyHotColumns(
                self.gm, self.position, self.velocity, self.acceleration
            )
        if tag == "cold":
            return CelestialBodyColdColumns(self.radius, self.name)
        raise ValueError(f"CelestialBody has no tag {tag!r}; it has hot, cold")

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._gm_column: NDArray[np.float64] = self._column_view(1)
        self._gm_cells: memoryview[float] = cell_view(self._gm_column)
        self._position_column: NDArray[np.float64] = self._column_view(2)
        self._position_items: NDArray[Any] = self._item_view(2)
        self._position_cells: memoryview[float] = cell_view(self._position_column)
        self._velocity_column: NDArray[np.float64] = self._column_view(3)
        self._velocity_items: NDArray[Any] = self._item_view(3)
        self._velocity_cells: memoryview[float] = cell_view(self._velocity_column)
        self._acceleration_column: NDArray[np.float64] = self._column_view(4)
        self._acceleration_items: NDArray[Any] = self._item_view(4)
        self._acceleration_cells: memoryview[float] = cell_view(
            self._acceleration_column
        )
        self._radius_column: NDArray[np.float64] = self._column_view(5)
        self._radius_cells: memoryview[float] = cell_view(self._radius_column)
        self._name_column: NDArray[np.bytes_] = self._column_view(6)
        self._name_view: NDArray[np.bytes_] = _NAME_FIELD.comparable(self._name_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._gm_column[dst] = self._gm_column[src]
        self._position_items[dst] = self._position_items[src]
        self._velocity_items[dst] = self._velocity_items[src]
        self._acceleration_items[dst] = self._acceleration_items[src]
        self._radius_column[dst] = self._radius_column[src]
        self._name_column[dst] = self._name_column[src]


class CelestialBodyManager(Sparse, MappedOne, Gc):
    """Manager of every CelestialBody: lookup sparse, instances one, destroy gc.

    A body that moves under the gravity of all the others.
    """

    __slots__ = ("_entities", "_rng", "_sparse", "_sparse_cells")
    PARTS: ClassVar = ManagerParts(
        row=CelestialBody,
        accessors=("packed",),
        create=("packed", "sparse", "one"),
        destroy_row=("packed", "sparse"),
    )
    ROWS: ClassVar = CelestialBodyData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("gm", "radius", "name")
    data: CelestialBodyData

    def gm(self, row: int, /) -> float:
        """Mass times the constant of gravitation. [m^3/s^2]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._gm_cells[row]

    def set_gm(self, row: int, value: float, /) -> None:
        """Set `gm` of a row."""
        _value = _GM_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._gm_cells[row] = _value

    def position(self, row: int, /) -> tuple[float, float, float]:
        """Place from the system's centre of mass, ecliptic of J2000. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _POSITION_STRUCT.unpack_from(data._position_cells, 24 * row)

    def set_position(self, row: int, value: ArrayLike, /) -> None:
        """Set `position` of a row: 3 values."""
        _value = _POSITION_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 3 * row
        data._position_cells[_at] = _value[0]
        data._position_cells[_at + 1] = _value[1]
        data._position_cells[_at + 2] = _value[2]

    def velocity(self, row: int, /) -> tuple[float, float, float]:
        """Change of place per second. [m/s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _VELOCITY_STRUCT.unpack_from(data._velocity_cells, 24 * row)

    def set_velocity(self, row: int, value: ArrayLike, /) -> None:
        """Set `velocity` of a row: 3 values."""
        _value = _VELOCITY_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 3 * row
        data._velocity_cells[_at] = _value[0]
        data._velocity_cells[_at + 1] = _value[1]
        data._velocity_cells[_at + 2] = _value[2]

    def acceleration(self, row: int, /) -> tuple[float, float, float]:
        """What gravity does to the velocity, per second. [m/s^2]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _ACCELERATION_STRUCT.unpack_from(data._acceleration_cells, 24 * row)

    def set_acceleration(self, row: int, value: ArrayLike, /) -> None:
        """Set `acceleration` of a row: 3 values."""
        _value = _ACCELERATION_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 3 * row
        data._acceleration_cells[_at] = _value[0]
        data._acceleration_cells[_at + 1] = _value[1]
        data._acceleration_cells[_at + 2] = _value[2]

    def radius(self, row: int, /) -> float:
        """Mean radius of the body. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._radius_cells[row]

    def set_radius(self, row: int, value: float, /) -> None:
        """Set `radius` of a row."""
        _value = _RADIUS_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._radius_cells[row] = _value

    def name(self, row: int, /) -> str:
        """What it is called."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return str(data._name_column[row], "utf-8")

    def set_name(self, row: int, value: str, /) -> None:
        """Set `name` of a row: at most 16 bytes of UTF-8."""
        _value = _NAME_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._name_column[row] = _value

    def row(self, row: int, /) -> CelestialBody:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return CelestialBody(
            data._gm_cells[row],
            _POSITION_STRUCT.unpack_from(data._position_cells, 24 * row),
            _VELOCITY_STRUCT.unpack_from(data._velocity_cells, 24 * row),
            _ACCELERATION_STRUCT.unpack_from(data._acceleration_cells, 24 * row),
            data._radius_cells[row],
            str(data._name_column[row], "utf-8"),
        )

    def __getitem__(self, entity: Entity, /) -> CelestialBodyRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(CelestialBodyRef, entity)

    def rows(self) -> Iterator[CelestialBodyRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(CelestialBodyRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        gm: float = _GM_DEFAULT,
        position: ArrayLike = _POSITION_DEFAULT,
        velocity: ArrayLike = _VELOCITY_DEFAULT,
        acceleration: ArrayLike = _ACCELERATION_DEFAULT,
        radius: float = _RADIUS_DEFAULT,
        name: str = _NAME_DEFAULT,
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
            _gm_ = _GM_DEFAULT
            if gm is not _GM_DEFAULT:
                _gm_ = _GM_FIELD.to_cell(gm)
            _position_ = _POSITION_DEFAULT
            if position is not _POSITION_DEFAULT:
                _position_ = _POSITION_FIELD.to_cell(position)
            _velocity_ = _VELOCITY_DEFAULT
            if velocity is not _VELOCITY_DEFAULT:
                _velocity_ = _VELOCITY_FIELD.to_cell(velocity)
            _acceleration_ = _ACCELERATION_DEFAULT
            if acceleration is not _ACCELERATION_DEFAULT:
                _acceleration_ = _ACCELERATION_FIELD.to_cell(acceleration)
            _radius_ = _RADIUS_DEFAULT
            if radius is not _RADIUS_DEFAULT:
                _radius_ = _RADIUS_FIELD.to_cell(radius)
            _name_ = _NAME_CELL
            if name is not _NAME_DEFAULT:
                _name_ = _NAME_FIELD.to_cell(name)
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
            data._grow(data._n + 1, (position, velocity, acceleration))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted,
                entity,
                gm=gm,
                position=position,
                velocity=velocity,
                acceleration=acceleration,
                radius=radius,
                name=name,
            )
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            data._gm_cells[row] = _gm_
            _at = 3 * row
            data._position_cells[_at] = _position_[0]
            data._position_cells[_at + 1] = _position_[1]
            data._position_cells[_at + 2] = _position_[2]
            data._velocity_cells[_at] = _velocity_[0]
            data._velocity_cells[_at + 1] = _velocity_[1]
            data._velocity_cells[_at + 2] = _velocity_[2]
            data._acceleration_cells[_at] = _acceleration_[0]
            data._acceleration_cells[_at + 1] = _acceleration_[1]
            data._acceleration_cells[_at + 2] = _acceleration_[2]
            data._radius_cells[row] = _radius_
            data._name_column[row] = _name_
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
        **columns: Unpack[CelestialBodyFields],
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
            data._gm_column[span] = columns["gm"]
            put_cells(data._position_column, span, columns["position"])
            put_cells(data._velocity_column, span, columns["velocity"])
            put_cells(data._acceleration_column, span, columns["acceleration"])
            data._radius_column[span] = columns["radius"]
            data._name_column[span] = columns["name"]
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
                data._gm_cells[dst] = data._gm_cells[src]
                data._position_items[dst] = data._position_items[src]
                data._velocity_items[dst] = data._velocity_items[src]
                data._acceleration_items[dst] = data._acceleration_items[src]
                data._radius_cells[dst] = data._radius_cells[src]
                data._name_column[dst] = data._name_column[src]
                self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
            data._n = src
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def kick(self, dt: float, *, rows: ArrayLike | None = None) -> None:
        """Change velocities by what gravity does in dt seconds.

        Reads velocity [m/s], acceleration [m/s^2]; writes velocity [m/s]; `dt` is in s.
        O(n), n rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _dt = np.array(_KICK_DT_ARGUMENT.to_cell(dt), np.float64)
        data = self.data
        _blocks = data._kernels.get("kick")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._kick_blocks()
        _views: Iterable[tuple[Any, ...]] = _blocks.views
        if rows is not None:
            _views = selected_blocks(_blocks, SelectedRows(self, rows).rows, (0,))
        for velocity, acceleration, _tmp in _views:
            # velocity += acceleration * dt
            np.multiply(acceleration, _dt, out=_tmp)
            velocity += _tmp

    def drift(self, dt: float, *, rows: ArrayLike | None = None) -> None:
        """Move every body for dt seconds.

        Reads position [m], velocity [m/s]; writes position [m]; `dt` is in s. O(n), n
        rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _dt = np.array(_DRIFT_DT_ARGUMENT.to_cell(dt), np.float64)
        data = self.data
        _blocks = data._kernels.get("drift")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._drift_blocks()
        _views: Iterable[tuple[Any, ...]] = _blocks.views
        if rows is not None:
            _views = selected_blocks(_blocks, SelectedRows(self, rows).rows, (0,))
        for position, velocity, _tmp in _views:
            # position += velocity * dt
            np.multiply(velocity, _dt, out=_tmp)
            position += _tmp

    def _orbit_1(self, dt: float) -> None:
        """Run `kick` and `drift` block by block, as if one after the other.

        Each block goes through all of them. O(n); no structural change.
        """
        _dt = np.array(_ORBIT_1_DT_ARGUMENT.to_cell(dt), np.float64)
        data = self.data
        _blocks = data._kernels.get("orbit_1")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._orbit_1_blocks()
        for velocity, acceleration, position, _tmp in _blocks.views:
            # velocity += acceleration * dt
            np.multiply(acceleration, _dt, out=_tmp)
            velocity += _tmp
            # position += velocity * dt
            np.multiply(velocity, _dt, out=_tmp)
            position += _tmp
            # velocity += acceleration * dt
            np.multiply(acceleration, _dt, out=_tmp)
            velocity += _tmp

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
            np.multiply(_0_5_f64, gm, out=_tmp)
            np.multiply(velocity[0], velocity[0], out=_tmp2)
            np.multiply(velocity[1], velocity[1], out=_tmp3)
            _tmp2 += _tmp3
            np.multiply(velocity[2], velocity[2], out=_tmp3)
            _tmp2 += _tmp3
            _tmp *= _tmp2
            _parts.append(np.add.reduce(_tmp, axis=-1, dtype=np.float64))
        _result: float = combine_sums(_parts, np.float64, ())
        return _result


class CelestialBodyRef(EntityProxy):
    """A row of a CelestialBodyManager, which follows its entity."""

    __slots__ = ()

    gm = RowField.cell(CelestialBodyManager.gm, CelestialBodyManager.set_gm, _GM_FIELD)
    position = ArrayField.of(np.float64, CelestialBodyManager.set_position)
    velocity = ArrayField.of(np.float64, CelestialBodyManager.set_velocity)
    acceleration = ArrayField.of(np.float64, CelestialBodyManager.set_acceleration)
    radius = RowField.cell(
        CelestialBodyManager.radius, CelestialBodyManager.set_radius, _RADIUS_FIELD
    )
    name = RowField.of(CelestialBodyManager.name, CelestialBodyManager.set_name)
