"""Spark: lookup sparse, instances one, destroy gc.

A spark that flies until it has cooled down, and waits to be lit again.

One buffer of 32 bytes per row, column after column:

    column         type  bytes/row  offset (64 rows)  tags
    -------------  ----  ---------  ----------------  ----
    position_x     f32           4                 0  hot
    position_y     f32           4               256  hot
    velocity_x     f32           4               512  hot
    velocity_y     f32           4               768  hot
    heat           f32           4              1024  hot
    id_slot        u32           4              1280  hot
    id_row         u32           4              1536  hot
    id_generation  u32           4              1792  hot
    32 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final, Literal, Unpack

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import (
    NIL,
    Columns,
    EntityArray,
    Id,
    IdArray,
    Instance,
    RowArray,
)
from ecsgen_runtime.kernels.blocks import (
    KernelBlocks,
    KernelRows,
    SelectedRows,
    planes,
    selected_blocks,
)
from ecsgen_runtime.kernels.random_streams import (
    derive_stream_keys,
    draw_normal,
    draw_random,
)
from ecsgen_runtime.kernels.seeding import Seeded
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.ids import SLOT_BITS, IdRows, Ids, ids_of
from ecsgen_runtime.managers.policies.owners import Unowned
from ecsgen_runtime.managers.policies.packed import Partition, PartitionedRows
from ecsgen_runtime.managers.row_proxies import ArrayField, IdProxy, RowField
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view
from ecsgen_runtime.tables.columns import LeadingRows
from ecsgen_runtime.tables.placement import make_room_moves
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import FloatField
from ecsgen_runtime.values.interchange import TableLike
from numpy.typing import ArrayLike, NDArray

from .entities import EntityManager

_COLUMNS: Final = (
    Column("position_x", np.dtype(np.float32), (), 4, ("hot",), 0),
    Column("position_y", np.dtype(np.float32), (), 4, ("hot",), 4),
    Column("velocity_x", np.dtype(np.float32), (), 4, ("hot",), 8),
    Column("velocity_y", np.dtype(np.float32), (), 4, ("hot",), 12),
    Column("heat", np.dtype(np.float32), (), 4, ("hot",), 16),
    Column("id_slot", np.dtype(np.uint32), (), 4, ("hot",), 20),
    Column("id_row", np.dtype(np.uint32), (), 4, ("hot",), 24),
    Column("id_generation", np.dtype(np.uint32), (), 4, ("hot",), 28),
)
_POSITION_FIELD: Final = FloatField("Spark.position", "f32", (2,))
_VELOCITY_FIELD: Final = FloatField("Spark.velocity", "f32", (2,))
_HEAT_FIELD: Final = FloatField("Spark.heat", "f32")
_POSITION_X_FIELD: Final = FloatField("Spark.position_x", "f32")
_POSITION_Y_FIELD: Final = FloatField("Spark.position_y", "f32")
_VELOCITY_X_FIELD: Final = FloatField("Spark.velocity_x", "f32")
_VELOCITY_Y_FIELD: Final = FloatField("Spark.velocity_y", "f32")
_POSITION_DEFAULT: Final = (0.0, 0.0)
_VELOCITY_DEFAULT: Final = (0.0, 0.0)
_HEAT_DEFAULT: Final = 1.0
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
    (
        _HEAT_FIELD,
        "f32",
        _HEAT_DEFAULT,
        ("hot",),
        "",
        "What is left of its glow, 0 to 1.",
    ),
)
_FLICKER_STRENGTH_ARGUMENT: Final = FloatField("Spark.flicker.strength", "f32")
_0_09999999999999998_f64: Final = np.array(0.09999999999999998, np.float64)
_0_9_f64: Final = np.array(0.9, np.float64)


class Spark(NamedTuple):
    """One row of a SparkManager, copied out."""

    position: tuple[float, float] = _POSITION_DEFAULT
    """Place in the plane. [m]"""

    velocity: tuple[float, float] = _VELOCITY_DEFAULT
    """Change of place per second. [m/s]"""

    heat: float = _HEAT_DEFAULT
    """What is left of its glow, 0 to 1."""


class SparkFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    position: ArrayLike
    velocity: ArrayLike
    heat: ArrayLike


class SparkHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    position_x: NDArray[np.float32]
    position_y: NDArray[np.float32]
    velocity_x: NDArray[np.float32]
    velocity_y: NDArray[np.float32]
    heat: NDArray[np.float32]


class SparkActiveData(LeadingRows):
    """The columns of the active rows: views that are assigned to like those of `data`."""

    __slots__ = ("_data",)
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    def __init__(self, data: SparkData) -> None:
        self._data = data

    @property
    def n(self) -> int:
        """Active rows."""
        return self._data._n_active

    @property
    def position_x(self) -> NDArray[np.float32]:
        """Place in the plane: element x. [m] Shape (n,)."""
        data = self._data
        return data._position_x_column[: data._n_active]

    @position_x.setter
    def position_x(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.position_x, values):
            checked = _POSITION_X_FIELD.to_column(values, data._n_active)
            data._position_x_column[: data._n_active] = checked

    @property
    def position_y(self) -> NDArray[np.float32]:
        """Place in the plane: element y. [m] Shape (n,)."""
        data = self._data
        return data._position_y_column[: data._n_active]

    @position_y.setter
    def position_y(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.position_y, values):
            checked = _POSITION_Y_FIELD.to_column(values, data._n_active)
            data._position_y_column[: data._n_active] = checked

    @property
    def velocity_x(self) -> NDArray[np.float32]:
        """Change of place per second: element x. [m/s] Shape (n,)."""
        data = self._data
        return data._velocity_x_column[: data._n_active]

    @velocity_x.setter
    def velocity_x(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.velocity_x, values):
            checked = _VELOCITY_X_FIELD.to_column(values, data._n_active)
            data._velocity_x_column[: data._n_active] = checked

    @property
    def velocity_y(self) -> NDArray[np.float32]:
        """Change of place per second: element y. [m/s] Shape (n,)."""
        data = self._data
        return data._velocity_y_column[: data._n_active]

    @velocity_y.setter
    def velocity_y(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.velocity_y, values):
            checked = _VELOCITY_Y_FIELD.to_column(values, data._n_active)
            data._velocity_y_column[: data._n_active] = checked

    @property
    def heat(self) -> NDArray[np.float32]:
        """What is left of its glow, 0 to 1. Shape (n,)."""
        data = self._data
        return data._heat_column[: data._n_active]

    @heat.setter
    def heat(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.heat, values):
            checked = _HEAT_FIELD.to_column(values, data._n_active)
            data._heat_column[: data._n_active] = checked


class SparkData(PartitionedRows, IdRows, KernelRows):
    """The columns of a SparkManager: views of the rows in use."""

    __slots__ = (
        "_first_generation",
        "_heat_cells",
        "_heat_column",
        "_id_generation_cells",
        "_id_generation_column",
        "_id_row_cells",
        "_id_row_column",
        "_id_slot_cells",
        "_id_slot_column",
        "_kernels",
        "_n_active",
        "_peak",
        "_position_x_cells",
        "_position_x_column",
        "_position_y_cells",
        "_position_y_column",
        "_slots",
        "_velocity_x_cells",
        "_velocity_x_column",
        "_velocity_y_cells",
        "_velocity_y_column",
    )
    MANAGER: ClassVar = "SparkManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def active(self) -> SparkActiveData:
        """The columns of the active rows alone: the first `n_active` of each."""
        return SparkActiveData(self)

    def _flicker_blocks(self) -> KernelBlocks:
        """Cut the columns of `flicker` into blocks; good until they move or n_active
        changes."""
        n = self._n_active
        columns = (
            self._id_slot_column[:n],
            planes(self._buffer, _COLUMNS[2], self._allocated, (2,))[..., :n],
            self._heat_column[:n],
        )
        working = (
            ("u8", (), False),
            ("u8", (), False),
            ("u8", (), False),
            ("f8", (2,), False),
            ("f8", (), False),
        )
        blocks = KernelBlocks(n, columns, working, self._kernels.get("flicker"))
        self._kernels["flicker"] = blocks
        return blocks

    @property
    def position_x(self) -> NDArray[np.float32]:
        """Place in the plane: element x. [m] Shape (n,)."""
        return self._position_x_column[: self._n]

    @position_x.setter
    def position_x(self, values: ArrayLike) -> None:
        if not is_same_view(self.position_x, values):
            self._position_x_column[: self._n] = _POSITION_X_FIELD.to_column(
                values, self._n
            )

    @property
    def position_y(self) -> NDArray[np.float32]:
        """Place in the plane: element y. [m] Shape (n,)."""
        return self._position_y_column[: self._n]

    @position_y.setter
    def position_y(self, values: ArrayLike) -> None:
        if not is_same_view(self.position_y, values):
            self._position_y_column[: self._n] = _POSITION_Y_FIELD.to_column(
                values, self._n
            )

    @property
    def velocity_x(self) -> NDArray[np.float32]:
        """Change of place per second: element x. [m/s] Shape (n,)."""
        return self._velocity_x_column[: self._n]

    @velocity_x.setter
    def velocity_x(self, values: ArrayLike) -> None:
        if not is_same_view(self.velocity_x, values):
            self._velocity_x_column[: self._n] = _VELOCITY_X_FIELD.to_column(
                values, self._n
            )

    @property
    def velocity_y(self) -> NDArray[np.float32]:
        """Change of place per second: element y. [m/s] Shape (n,)."""
        return self._velocity_y_column[: self._n]

    @velocity_y.setter
    def velocity_y(self, values: ArrayLike) -> None:
        if not is_same_view(self.velocity_y, values):
            self._velocity_y_column[: self._n] = _VELOCITY_Y_FIELD.to_column(
                values, self._n
            )

    @property
    def heat(self) -> NDArray[np.float32]:
        """What is left of its glow, 0 to 1. Shape (n,)."""
        return self._heat_column[: self._n]

    @heat.setter
    def heat(self, values: ArrayLike) -> None:
        if not is_same_view(self.heat, values):
            self._heat_column[: self._n] = _HEAT_FIELD.to_column(values, self._n)

    def tagged(self, tag: Literal["hot"], /) -> SparkHotColumns:
        """Return the columns that have a tag; ValueError if none has it."""
        if tag == "hot":
            return SparkHotColumns(
                self.position_x,
                self.position_y,
                self.velocity_x,
                self.velocity_y,
                self.heat,
            )
        raise ValueError(f"Spark has no tag {tag!r}; it has hot")

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._position_x_column: NDArray[np.float32] = self._column_view(0)
        self._position_x_cells: memoryview[float] = cell_view(self._position_x_column)
        self._position_y_column: NDArray[np.float32] = self._column_view(1)
        self._position_y_cells: memoryview[float] = cell_view(self._position_y_column)
        self._velocity_x_column: NDArray[np.float32] = self._column_view(2)
        self._velocity_x_cells: memoryview[float] = cell_view(self._velocity_x_column)
        self._velocity_y_column: NDArray[np.float32] = self._column_view(3)
        self._velocity_y_cells: memoryview[float] = cell_view(self._velocity_y_column)
        self._heat_column: NDArray[np.float32] = self._column_view(4)
        self._heat_cells: memoryview[float] = cell_view(self._heat_column)
        self._id_slot_column = self._column_view(5)
        self._id_slot_cells = cell_view(self._id_slot_column)
        self._id_row_column = self._column_view(6)
        self._id_row_cells = cell_view(self._id_row_column)
        self._id_generation_column = self._column_view(7)
        self._id_generation_cells = cell_view(self._id_generation_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._position_x_column[dst] = self._position_x_column[src]
        self._position_y_column[dst] = self._position_y_column[src]
        self._velocity_x_column[dst] = self._velocity_x_column[src]
        self._velocity_y_column[dst] = self._velocity_y_column[src]
        self._heat_column[dst] = self._heat_column[src]
        self._id_slot_column[dst] = self._id_slot_column[src]


class SparkManager(Partition, Unowned, Ids, Seeded):
    """Manager of every Spark: lookup sparse, instances one, destroy gc.

    A spark that flies until it has cooled down, and waits to be lit again.
    """

    __slots__ = ("_failures", "_stream_state")
    _STARTS_ACTIVE: ClassVar = True
    _RANDOM_KERNELS: ClassVar = {
        "flicker": 0x7A394F986D178C10,
    }
    PARTS: ClassVar = ManagerParts(
        row=Spark,
        accessors=("partition",),
        create=("partition", "ids"),
        destroy_row=("partition", "ids"),
    )
    ROWS: ClassVar = SparkData
    _CAPACITY: ClassVar = 1024
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("heat",)
    data: SparkData

    def position(self, row: int, /) -> tuple[float, float]:
        """Place in the plane. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return (data._position_x_cells[row], data._position_y_cells[row])

    def set_position(self, row: int, value: ArrayLike, /) -> None:
        """Set `position` of a row: 2 values."""
        _value = _POSITION_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._position_x_cells[row] = _value[0]
        data._position_y_cells[row] = _value[1]

    def velocity(self, row: int, /) -> tuple[float, float]:
        """Change of place per second. [m/s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return (data._velocity_x_cells[row], data._velocity_y_cells[row])

    def set_velocity(self, row: int, value: ArrayLike, /) -> None:
        """Set `velocity` of a row: 2 values."""
        _value = _VELOCITY_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._velocity_x_cells[row] = _value[0]
        data._velocity_y_cells[row] = _value[1]

    def heat(self, row: int, /) -> float:
        """What is left of its glow, 0 to 1."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._heat_cells[row]

    def set_heat(self, row: int, value: float, /) -> None:
        """Set `heat` of a row."""
        _value = _HEAT_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._heat_cells[row] = _value

    def row(self, row: int, /) -> Spark:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Spark(self.position(row), self.velocity(row), data._heat_cells[row])

    def __getitem__(self, id: Id, /) -> SparkRef:
        """Return a proxy of the id's row, or raise StaleIdError; O(1)."""
        return self._proxy(SparkRef, id)

    def rows(self) -> Iterator[SparkRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(SparkRef)

    def create(
        self,
        *,
        position: ArrayLike = _POSITION_DEFAULT,
        velocity: ArrayLike = _VELOCITY_DEFAULT,
        heat: float = _HEAT_DEFAULT,
    ) -> Id:
        """Add an instance and return its id; O(1); it is active.

        Raises:
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        _position_ = _POSITION_DEFAULT
        if position is not _POSITION_DEFAULT:
            _position_ = _POSITION_FIELD.to_cell(position)
        _velocity_ = _VELOCITY_DEFAULT
        if velocity is not _VELOCITY_DEFAULT:
            _velocity_ = _VELOCITY_FIELD.to_cell(velocity)
        _heat_ = _HEAT_DEFAULT
        if heat is not _HEAT_DEFAULT:
            _heat_ = _HEAT_FIELD.to_cell(heat)
        if self._locks:
            self._raise_if_locked()
        data = self.data
        if data._n == data._allocated:
            data._grow(data._n + 1, (position, velocity))
        if data._n == data._slots and data._peak == data._allocated:
            data._grow(data._peak + 1, (position, velocity))
        row: Instance = data._n_active  # type: ignore[assignment]  # calling Instance takes time
        try:
            _new_slot = data._take_slot()
            if row != data._n:  # the first inactive row makes room
                self._move(row, Instance(data._n))
            data._position_x_cells[row] = _position_[0]
            data._position_y_cells[row] = _position_[1]
            data._velocity_x_cells[row] = _velocity_[0]
            data._velocity_y_cells[row] = _velocity_[1]
            data._heat_cells[row] = _heat_
            data._n += 1
            data._n_active = row + 1
            data._id_slot_cells[row] = _new_slot
            data._id_row_cells[_new_slot] = row
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return Id(data._id_generation_cells[_new_slot] << SLOT_BITS | _new_slot)

    def create_many(
        self,
        count: int,
        table: TableLike | None = None,
        /,
        **columns: Unpack[SparkFields],
    ) -> IdArray:
        """Add `count` instances and return their ids, shape (count,); O(k).

        Each column broadcasts to (k, *shape) of its field. A table, of Arrow or a
        mapping, has columns as well: keywords win, `entity` is ignored. The errors are
        those of `create`; whatever raises changes nothing.
        """
        return self._create_many(count, columns, table)

    def _append_many(self, entities: EntityArray, columns: Columns) -> IdArray:
        """Add rows of checked columns, for which there is room."""
        data = self.data
        count = len(entities)
        n = data._n
        start = data._n_active
        end = start + count
        src, dst = make_room_moves(start, n, count)
        moves = self._plan_moves(src, dst)
        span = slice(start, end)
        rows = np.arange(start, end)
        taken = data._next_slots(count)
        ids = ids_of(taken, data._id_generation_column)
        try:
            data._take_slots(count)
            self._move_many(src, dst, moves)
            parts = np.broadcast_to(columns["position"], (count, 2))
            data._position_x_column[span] = parts[:, 0]
            data._position_y_column[span] = parts[:, 1]
            parts = np.broadcast_to(columns["velocity"], (count, 2))
            data._velocity_x_column[span] = parts[:, 0]
            data._velocity_y_column[span] = parts[:, 1]
            data._heat_column[span] = columns["heat"]
            data._n = n + count
            data._n_active = end
            data._id_slot_column[rows] = taken
            data._id_row_column[taken] = rows
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return ids

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        try:
            slot = data._id_slot_cells[row]
            data._id_row_cells[slot] = NIL
            if row < data._n_active:
                last = Instance(data._n_active - 1)
                if row != last:
                    self._move(last, row)
                data._n_active = row = last  # the inactive part has the hole now
            last = Instance(data._n - 1)
            if row != last:
                self._move(last, row)
            data._n = last
            data._free_slot(slot)
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and update what refers to its index."""
        data = self.data
        data._position_x_cells[dst] = data._position_x_cells[src]
        data._position_y_cells[dst] = data._position_y_cells[src]
        data._velocity_x_cells[dst] = data._velocity_x_cells[src]
        data._velocity_y_cells[dst] = data._velocity_y_cells[src]
        data._heat_cells[dst] = data._heat_cells[src]
        data._id_slot_cells[dst] = data._id_slot_cells[src]
        data._id_row_cells[data._id_slot_cells[dst]] = dst

    def _swap_via_spare(
        self, first: Instance, second: Instance, spare: Instance
    ) -> None:
        """Swap two rows through a third one, which is not in use."""
        data = self.data
        free = data._id_slot_cells[spare]
        self._move(first, spare)
        self._move(second, first)
        self._move(spare, second)
        data._id_slot_cells[spare] = free

    def flicker(self, strength: float, *, rows: ArrayLike | None = None) -> None:
        """Let the air play with what flies; a spark burns down more or less quickly.

        Reads velocity [m/s], heat; writes velocity [m/s], heat; draws random numbers;
        `strength` is in m/s. O(n), n active rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _strength = np.float32(_FLICKER_STRENGTH_ARGUMENT.to_cell(strength))
        data = self.data
        _blocks = data._kernels.get("flicker")
        if _blocks is None or _blocks.stamp != data._n_active:
            _blocks = data._flicker_blocks()
        _views: Iterable[tuple[Any, ...]] = _blocks.views
        if rows is not None:
            _views = selected_blocks(
                _blocks, SelectedRows(self, rows, data._n_active).rows, (1, 2)
            )
        _key = self._next_call_key("flicker")
        with np.errstate(all="ignore"):
            for id_slot, velocity, heat, _row_keys, _word, _bits, _tmp, _tmp2 in _views:
                derive_stream_keys(
                    ids_of(id_slot, data._id_generation_column), _key, _row_keys, _bits
                )
                # velocity += normal(2) * strength
                draw_normal(_row_keys, 0, _tmp, _word, _bits)
                _tmp *= _strength
                velocity += _tmp
                # heat *= uniform(0.9, 1.0)
                draw_random(_row_keys, 2, _tmp2, _word, _bits)
                np.multiply(_0_09999999999999998_f64, _tmp2, out=_tmp2)
                np.add(_0_9_f64, _tmp2, out=_tmp2)
                heat *= _tmp2


class SparkRef(IdProxy):
    """A row of a SparkManager, which follows its id."""

    __slots__ = ()

    position = ArrayField.of(
        np.float32,
        SparkManager.set_position,
        ArrayField.split((2,), "position_x", "position_y"),
    )
    velocity = ArrayField.of(
        np.float32,
        SparkManager.set_velocity,
        ArrayField.split((2,), "velocity_x", "velocity_y"),
    )
    heat = RowField.cell(SparkManager.heat, SparkManager.set_heat, _HEAT_FIELD)
