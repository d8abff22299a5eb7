"""PointMass: lookup hash, instances one, destroy gc.

A point mass moved by explicit integration.

One buffer of 72 bytes per row, column after column:

    column        type     bytes/row  offset (64 rows)  tags
    ------------  -------  ---------  ----------------  ----
    entity        u64              8                 0  hot
    mass          f32              4               512  hot
    position      f32[3]          12               768  hot
    velocity      f32[3]          12              1536  hot
    acceleration  f32[3]          12              2304  hot
    label         str[24]         24              3072  cold
    72 bytes per row, 8192 for 64 rows
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
    WorldKernelRows,
    rows_last,
    selected_blocks,
)
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Hash, remember
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy, RowField
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view, put_cells
from ecsgen_runtime.tables.columns import OwnedRows
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import FloatField, TextField
from ecsgen_runtime.values.interchange import TableLike
from ecsgen_runtime.world.queries.query_columns import (
    ComparableQueryColumn,
    QueryColumn,
    QueryColumns,
)
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("mass", np.dtype(np.float32), (), 4, ("hot",), 8),
    Column("position", np.dtype(np.float32), (3,), 12, ("hot",), 12),
    Column("velocity", np.dtype(np.float32), (3,), 12, ("hot",), 24),
    Column("acceleration", np.dtype(np.float32), (3,), 12, ("hot",), 36),
    Column("label", np.dtype("S24"), (), 24, ("cold",), 48),
)
_MASS_FIELD: Final = FloatField("PointMass.mass", "f32")
_POSITION_FIELD: Final = FloatField("PointMass.position", "f32", (3,))
_VELOCITY_FIELD: Final = FloatField("PointMass.velocity", "f32", (3,))
_ACCELERATION_FIELD: Final = FloatField("PointMass.acceleration", "f32", (3,))
_LABEL_FIELD: Final = TextField("PointMass.label", 24)
_POSITION_STRUCT: Final = Struct("=3f")
_VELOCITY_STRUCT: Final = Struct("=3f")
_ACCELERATION_STRUCT: Final = Struct("=3f")
_MASS_DEFAULT: Final = 1.0
_POSITION_DEFAULT: Final = (0.0, 0.0, 0.0)
_VELOCITY_DEFAULT: Final = (0.0, 0.0, 0.0)
_ACCELERATION_DEFAULT: Final = (0.0, 0.0, 0.0)
_LABEL_DEFAULT: Final = ""
_LABEL_CELL: Final = _LABEL_FIELD.to_cell(_LABEL_DEFAULT)
_FIELDS: Final = component_fields(
    (_MASS_FIELD, "f32", _MASS_DEFAULT, ("hot",), "kg", "Mass of the object."),
    (
        _POSITION_FIELD,
        "f32[3]",
        _POSITION_DEFAULT,
        ("hot",),
        "m",
        "Place in world space.",
    ),
    (
        _VELOCITY_FIELD,
        "f32[3]",
        _VELOCITY_DEFAULT,
        ("hot",),
        "m/s",
        "Change of place per second.",
    ),
    (
        _ACCELERATION_FIELD,
        "f32[3]",
        _ACCELERATION_DEFAULT,
        ("hot",),
        "m/s^2",
        "Change of velocity per second.",
    ),
    (_LABEL_FIELD, "str[24]", _LABEL_DEFAULT, ("cold",), "", "A name for debugging."),
)
_SIMULATE_DT_ARGUMENT: Final = FloatField("PointMass.simulate.dt", "f32")


class PointMass(NamedTuple):
    """One row of a PointMassManager, copied out."""

    mass: float = _MASS_DEFAULT
    """Mass of the object. [kg]"""

    position: tuple[float, float, float] = _POSITION_DEFAULT
    """Place in world space. [m]"""

    velocity: tuple[float, float, float] = _VELOCITY_DEFAULT
    """Change of place per second. [m/s]"""

    acceleration: tuple[float, float, float] = _ACCELERATION_DEFAULT
    """Change of velocity per second. [m/s^2]"""

    label: str = _LABEL_DEFAULT
    """A name for debugging."""


class PointMassFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    mass: ArrayLike
    position: ArrayLike
    velocity: ArrayLike
    acceleration: ArrayLike
    label: ArrayLike


class PointMassHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    mass: NDArray[np.float32]
    position: NDArray[np.float32]
    velocity: NDArray[np.float32]
    acceleration: NDArray[np.float32]


class PointMassColdColumns(NamedTuple):
    """The columns tagged `cold`."""

    label: NDArray[np.bytes_]


class PointMassColumns(QueryColumns):
    """The columns of PointMass in a query's rows: one cell per entity."""

    __slots__ = ()

    mass = QueryColumn[np.float32]("mass", _MASS_FIELD, _MASS_DEFAULT)
    """Mass of the object. [kg] Shape (n,)."""

    position = QueryColumn[np.float32]("position", _POSITION_FIELD, _POSITION_DEFAULT)
    """Place in world space. [m] Shape (n, 3)."""

    velocity = QueryColumn[np.float32]("velocity", _VELOCITY_FIELD, _VELOCITY_DEFAULT)
    """Change of place per second. [m/s] Shape (n, 3)."""

    acceleration = QueryColumn[np.float32](
        "acceleration", _ACCELERATION_FIELD, _ACCELERATION_DEFAULT
    )
    """Change of velocity per second. [m/s^2] Shape (n, 3)."""

    label = ComparableQueryColumn[np.bytes_]("label", _LABEL_FIELD, _LABEL_DEFAULT)
    """A name for debugging. Shape (n,)."""


class PointMassData(OwnedRows, WorldKernelRows, KernelRows):
    """The columns of a PointMassManager: views of the rows in use."""

    __slots__ = (
        "_acceleration_cells",
        "_acceleration_column",
        "_acceleration_items",
        "_entity_cells",
        "_entity_column",
        "_kernels",
        "_label_column",
        "_label_view",
        "_mass_cells",
        "_mass_column",
        "_position_cells",
        "_position_column",
        "_position_items",
        "_velocity_cells",
        "_velocity_column",
        "_velocity_items",
        "_world_kernels",
    )
    MANAGER: ClassVar = "PointMassManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    def _simulate_blocks(self) -> KernelBlocks:
        """Cut the columns of `simulate` into blocks; good until they move or n changes."""
        n = self._n
        columns = (
            rows_last(self._velocity_column[:n]),
            rows_last(self._acceleration_column[:n]),
            rows_last(self._position_column[:n]),
        )
        working = (("f4", (3,), True),)
        blocks = KernelBlocks(n, columns, working, self._kernels.get("simulate"))
        self._kernels["simulate"] = blocks
        return blocks

    @property
    def mass(self) -> NDArray[np.float32]:
        """Mass of the object. [kg] Shape (n,)."""
        return self._mass_column[: self._n]

    @mass.setter
    def mass(self, values: ArrayLike) -> None:
        if not is_same_view(self.mass, values):
            self._mass_column[: self._n] = _MASS_FIELD.to_column(values, self._n)

    @property
    def position(self) -> NDArray[np.float32]:
        """Place in world space. [m] Shape (n, 3)."""
        return self._position_column[: self._n]

    @position.setter
    def position(self, values: ArrayLike) -> None:
        if not is_same_view(self.position, values):
            self._position_column[: self._n] = _POSITION_FIELD.to_column(
                values, self._n
            )

    @property
    def velocity(self) -> NDArray[np.float32]:
        """Change of place per second. [m/s] Shape (n, 3)."""
        return self._velocity_column[: self._n]

    @velocity.setter
    def velocity(self, values: ArrayLike) -> None:
        if not is_same_view(self.velocity, values):
            self._velocity_column[: self._n] = _VELOCITY_FIELD.to_column(
                values, self._n
            )

    @property
    def acceleration(self) -> NDArray[np.float32]:
        """Change of velocity per second. [m/s^2] Shape (n, 3)."""
        return self._acceleration_column[: self._n]

    @acceleration.setter
    def acceleration(self, values: ArrayLike) -> None:
        if not is_same_view(self.acceleration, values):
            self._acceleration_column[: self._n] = _ACCELERATION_FIELD.to_column(
                values, self._n
            )

    @property
    def label(self) -> NDArray[np.bytes_]:
        """A name for debugging. Shape (n,)."""
        return self._label_view[: self._n]

    @label.setter
    def label(self, values: ArrayLike) -> None:
        if not is_same_view(self.label, values):
            self._label_column[: self._n] = _LABEL_FIELD.to_column(values, self._n)

    @overload
    def tagged(self, tag: Literal["hot"], /) -> PointMassHotColumns: ...

    @overload
    def tagged(self, tag: Literal["cold"], /) -> PointMassColdColumns: ...

    def tagged(self, tag: str, /) -> tuple[NDArray[Any], ...]:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return PointMassHotColumns(
                self.mass, self.position, self.velocity, self.acceleration
            )
        if tag == "cold":
            return PointMassColdColumns(self.label)
        raise ValueError(f"PointMass has no tag {tag!r}; it has hot, cold")

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._mass_column: NDArray[np.float32] = self._column_view(1)
        self._mass_cells: memoryview[float] = cell_view(self._mass_column)
        self._position_column: NDArray[np.float32] = self._column_view(2)
        self._position_items: NDArray[Any] = self._item_view(2)
        self._position_cells: memoryview[float] = cell_view(self._position_column)
        self._velocity_column: NDArray[np.float32] = self._column_view(3)
        self._velocity_items: NDArray[Any] = self._item_view(3)
        self._velocity_cells: memoryview[float] = cell_view(self._velocity_column)
        self._acceleration_column: NDArray[np.float32] = self._column_view(4)
        self._acceleration_items: NDArray[Any] = self._item_view(4)
        self._acceleration_cells: memoryview[float] = cell_view(
            self._acceleration_column
        )
        self._label_column: NDArray[np.bytes_] = self._column_view(5)
        self._label_view: NDArray[np.bytes_] = _LABEL_FIELD.comparable(
            self._label_column
        )

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._mass_column[dst] = self._mass_column[src]
        self._position_items[dst] = self._position_items[src]
        self._velocity_items[dst] = self._velocity_items[src]
        self._acceleration_items[dst] = self._acceleration_items[src]
        self._label_column[dst] = self._label_column[src]


class PointMassManager(Hash, MappedOne, Gc):
    """Manager of every PointMass: lookup hash, instances one, destroy gc.

    A point mass moved by explicit integration.
    """

    __slots__ = ("_entities", "_rng", "_rows")
    PARTS: ClassVar = ManagerParts(
        row=PointMass,
        accessors=("packed",),
        create=("packed", "hash", "one"),
        destroy_row=("packed", "hash"),
    )
    ROWS: ClassVar = PointMassData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("mass", "label")
    data: PointMassData

    def mass(self, row: int, /) -> float:
        """Mass of the object. [kg]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._mass_cells[row]

    def set_mass(self, row: int, value: float, /) -> None:
        """Set `mass` of a row."""
        _value = _MASS_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._mass_cells[row] = _value

    def position(self, row: int, /) -> tuple[float, float, float]:
        """Place in world space. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _POSITION_STRUCT.unpack_from(data._position_cells, 12 * row)

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
        return _VELOCITY_STRUCT.unpack_from(data._velocity_cells, 12 * row)

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
        """Change of velocity per second. [m/s^2]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _ACCELERATION_STRUCT.unpack_from(data._acceleration_cells, 12 * row)

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

    def label(self, row: int, /) -> str:
        """A name for debugging."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return str(data._label_column[row], "utf-8")

    def set_label(self, row: int, value: str, /) -> None:
        """Set `label` of a row: at most 24 bytes of UTF-8."""
        _value = _LABEL_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._label_column[row] = _value

    def row(self, row: int, /) -> PointMass:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return PointMass(
            data._mass_cells[row],
            _POSITION_STRUCT.unpack_from(data._position_cells, 12 * row),
            _VELOCITY_STRUCT.unpack_from(data._velocity_cells, 12 * row),
            _ACCELERATION_STRUCT.unpack_from(data._acceleration_cells, 12 * row),
            str(data._label_column[row], "utf-8"),
        )

    def __getitem__(self, entity: Entity, /) -> PointMassRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(PointMassRef, entity)

    def rows(self) -> Iterator[PointMassRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(PointMassRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        mass: float = _MASS_DEFAULT,
        position: ArrayLike = _POSITION_DEFAULT,
        velocity: ArrayLike = _VELOCITY_DEFAULT,
        acceleration: ArrayLike = _ACCELERATION_DEFAULT,
        label: str = _LABEL_DEFAULT,
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
            _mass_ = _MASS_DEFAULT
            if mass is not _MASS_DEFAULT:
                _mass_ = _MASS_FIELD.to_cell(mass)
            _position_ = _POSITION_DEFAULT
            if position is not _POSITION_DEFAULT:
                _position_ = _POSITION_FIELD.to_cell(position)
            _velocity_ = _VELOCITY_DEFAULT
            if velocity is not _VELOCITY_DEFAULT:
                _velocity_ = _VELOCITY_FIELD.to_cell(velocity)
            _acceleration_ = _ACCELERATION_DEFAULT
            if acceleration is not _ACCELERATION_DEFAULT:
                _acceleration_ = _ACCELERATION_FIELD.to_cell(acceleration)
            _label_ = _LABEL_CELL
            if label is not _LABEL_DEFAULT:
                _label_ = _LABEL_FIELD.to_cell(label)
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
        _found = self._rows.get(entity, NIL)
        if _found != NIL and data._entity_cells[_found] == entity:
            raise self._duplicate(entity)
        if data._n == data._allocated:
            data._grow(data._n + 1, (position, velocity, acceleration))
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            data._mass_cells[row] = _mass_
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
            data._label_column[row] = _label_
            data._n = row + 1
            self._rows[entity] = row
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
        **columns: Unpack[PointMassFields],
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
        try:
            data._entity_column[span] = entities
            data._mass_column[span] = columns["mass"]
            put_cells(data._position_column, span, columns["position"])
            put_cells(data._velocity_column, span, columns["velocity"])
            put_cells(data._acceleration_column, span, columns["acceleration"])
            data._label_column[span] = columns["label"]
            data._n = end
            remember(self._rows, entities, rows)
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
            del self._rows[data._entity_cells[row]]
            src, dst = data._n - 1, row
            if src != dst:
                data._entity_cells[dst] = data._entity_cells[src]
                data._mass_cells[dst] = data._mass_cells[src]
                data._position_items[dst] = data._position_items[src]
                data._velocity_items[dst] = data._velocity_items[src]
                data._acceleration_items[dst] = data._acceleration_items[src]
                data._label_column[dst] = data._label_column[src]
                self._rows[data._entity_cells[dst]] = dst
            data._n = src
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def simulate(self, dt: float, *, rows: ArrayLike | None = None) -> None:
        """Advance every instance by dt seconds.

        Reads velocity [m/s], acceleration [m/s^2], position [m]; writes velocity [m/s],
        position [m]; `dt` is in s. O(n), n rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _dt = np.array(_SIMULATE_DT_ARGUMENT.to_cell(dt), np.float32)
        data = self.data
        _blocks = data._kernels.get("simulate")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._simulate_blocks()
        _views: Iterable[tuple[Any, ...]] = _blocks.views
        if rows is not None:
            _views = selected_blocks(_blocks, SelectedRows(self, rows).rows, (0, 2))
        for velocity, acceleration, position, _tmp in _views:
            # velocity += acceleration * dt
            np.multiply(acceleration, _dt, out=_tmp)
            velocity += _tmp
            # position += velocity * dt
            np.multiply(velocity, _dt, out=_tmp)
            position += _tmp


class PointMassRef(EntityProxy):
    """A row of a PointMassManager, which follows its entity."""

    __slots__ = ()

    mass = RowField.cell(PointMassManager.mass, PointMassManager.set_mass, _MASS_FIELD)
    position = ArrayField.of(np.float32, PointMassManager.set_position)
    velocity = ArrayField.of(np.float32, PointMassManager.set_velocity)
    acceleration = ArrayField.of(np.float32, PointMassManager.set_acceleration)
    label = RowField.of(PointMassManager.label, PointMassManager.set_label)
