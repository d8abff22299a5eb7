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

from collections.abc import Iterator
from contextlib import contextmanager
from operator import index
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime.columns.buffers import (
    Column,
    allocate,
    cells,
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
from ._runtime.entities.handles import NIL, Columns, Id, IdArray, Instance, RowArray
from ._runtime.errors import StaleViewWarning
from ._runtime.ids.slots import (
    SLOT_BITS,
    SLOT_MASK,
    WORN_OUT,
    ids_of,
    resolve_ids,
    rows_of_ids,
    stale_id,
)
from ._runtime.placement.partition import (
    exchange,
    fill_parts,
    parts_sorted,
    room_at,
    within_parts,
)
from ._runtime.placement.rows import (
    Remap,
    distinct,
    integers,
    is_integer,
    locked,
    permutation,
    row_in_use,
    rows_in_use,
    whole_count,
)
from ._runtime.placement.sorting import key_values, sort_key

MANAGER: Final = "SparkManager"
ROW_BYTES: Final = 32
COLUMNS: Final = (
    Column("position_x", np.dtype(np.float32), (), 4, ("hot",), 0),
    Column("position_y", np.dtype(np.float32), (), 4, ("hot",), 4),
    Column("velocity_x", np.dtype(np.float32), (), 4, ("hot",), 8),
    Column("velocity_y", np.dtype(np.float32), (), 4, ("hot",), 12),
    Column("heat", np.dtype(np.float32), (), 4, ("hot",), 16),
    Column("id_slot", np.dtype(np.uint32), (), 4, ("hot",), 20),
    Column("id_row", np.dtype(np.uint32), (), 4, ("hot",), 24),
    Column("id_generation", np.dtype(np.uint32), (), 4, ("hot",), 28),
)
_POSITION: Final = FloatField("Spark.position", "f32", (2,))
_VELOCITY: Final = FloatField("Spark.velocity", "f32", (2,))
_HEAT: Final = FloatField("Spark.heat", "f32")
_POSITION_X: Final = FloatField("Spark.position_x", "f32")
_POSITION_Y: Final = FloatField("Spark.position_y", "f32")
_VELOCITY_X: Final = FloatField("Spark.velocity_x", "f32")
_VELOCITY_Y: Final = FloatField("Spark.velocity_y", "f32")
POSITION_DEFAULT: Final = (0.0, 0.0)
VELOCITY_DEFAULT: Final = (0.0, 0.0)
HEAT_DEFAULT: Final = 1.0
SORT_KEYS: Final = ("heat",)


class Spark(NamedTuple):
    """One row of a SparkManager, copied out."""

    position: tuple[float, float]
    """Place in the plane. [m]"""

    velocity: tuple[float, float]
    """Change of place per second. [m/s]"""

    heat: float
    """What is left of its glow, 0 to 1."""


class SparkFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

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


class SparkData:
    """The columns of a SparkManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_buffer",
        "_first_generation",
        "_heat_cells",
        "_heat_column",
        "_id_generation_cells",
        "_id_generation_column",
        "_id_row_cells",
        "_id_row_column",
        "_id_slot_cells",
        "_id_slot_column",
        "_n",
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
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _n_active: int
    _peak: int
    _slots: int
    _first_generation: int
    _position_x_column: NDArray[np.float32]
    _position_x_cells: memoryview[float]
    _position_y_column: NDArray[np.float32]
    _position_y_cells: memoryview[float]
    _velocity_x_column: NDArray[np.float32]
    _velocity_x_cells: memoryview[float]
    _velocity_y_column: NDArray[np.float32]
    _velocity_y_cells: memoryview[float]
    _heat_column: NDArray[np.float32]
    _heat_cells: memoryview[float]
    _id_slot_column: NDArray[np.uint32]
    _id_slot_cells: memoryview[int]
    _id_row_column: NDArray[np.uint32]
    _id_row_cells: memoryview[int]
    _id_generation_column: NDArray[np.uint32]
    _id_generation_cells: memoryview[int]

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._n_active = 0
        self._peak = 0
        self._slots = 0
        self._first_generation = 1
        self._place(allocate(ROW_BYTES, capacity), capacity)

    @property
    def n(self) -> int:
        """Rows in use, active and inactive."""
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
    def active(self) -> SparkActiveData:
        """The columns of the active rows alone: the first `n_active` of each."""
        return SparkActiveData(self)

    @property
    def position_x(self) -> NDArray[np.float32]:
        """Place in the plane: element x. [m] Shape (n,)."""
        return self._position_x_column[: self._n]

    @position_x.setter
    def position_x(self, values: ArrayLike) -> None:
        if not is_same_view(self.position_x, values):
            self._position_x_column[: self._n] = _POSITION_X.many(values, self._n)

    @property
    def position_y(self) -> NDArray[np.float32]:
        """Place in the plane: element y. [m] Shape (n,)."""
        return self._position_y_column[: self._n]

    @position_y.setter
    def position_y(self, values: ArrayLike) -> None:
        if not is_same_view(self.position_y, values):
            self._position_y_column[: self._n] = _POSITION_Y.many(values, self._n)

    @property
    def velocity_x(self) -> NDArray[np.float32]:
        """Change of place per second: element x. [m/s] Shape (n,)."""
        return self._velocity_x_column[: self._n]

    @velocity_x.setter
    def velocity_x(self, values: ArrayLike) -> None:
        if not is_same_view(self.velocity_x, values):
            self._velocity_x_column[: self._n] = _VELOCITY_X.many(values, self._n)

    @property
    def velocity_y(self) -> NDArray[np.float32]:
        """Change of place per second: element y. [m/s] Shape (n,)."""
        return self._velocity_y_column[: self._n]

    @velocity_y.setter
    def velocity_y(self, values: ArrayLike) -> None:
        if not is_same_view(self.velocity_y, values):
            self._velocity_y_column[: self._n] = _VELOCITY_Y.many(values, self._n)

    @property
    def heat(self) -> NDArray[np.float32]:
        """What is left of its glow, 0 to 1. Shape (n,)."""
        return self._heat_column[: self._n]

    @heat.setter
    def heat(self, values: ArrayLike) -> None:
        if not is_same_view(self.heat, values):
            self._heat_column[: self._n] = _HEAT.many(values, self._n)

    def tagged(self, tag: Literal["hot"], /) -> SparkHotColumns:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return SparkHotColumns(
                self.position_x,
                self.position_y,
                self.velocity_x,
                self.velocity_y,
                self.heat,
            )
        raise ValueError(f"Spark has no tag {tag!r}; it has hot")

    def _take_slot(self) -> int:
        """Return the slot of the next row: a free one, or a new one."""
        if self._n == self._slots:
            slot = self._peak
            self._id_generation_cells[slot] = self._first_generation
            self._peak += 1
            self._slots += 1
            return slot
        return self._id_slot_cells[self._n]

    def _take_slots(self, count: int) -> NDArray[np.uint32]:
        """Return the slots of the next `count` rows: free ones, then new ones."""
        free = self._id_slot_column[self._n : min(self._n + count, self._slots)].copy()
        new = count - len(free)
        if new == 0:
            return free
        peak = self._peak + new
        self._id_generation_column[self._peak : peak] = self._first_generation
        fresh = np.arange(self._peak, peak, dtype=np.uint32)
        self._peak = peak
        self._slots += new
        return np.concatenate((free, fresh))

    def _give_slot(self, slot: int) -> None:
        """Free the slot of a row that is gone, or retire it after its last generation."""
        if self._id_generation_cells[slot] == WORN_OUT:
            self._slots -= 1
            self._id_slot_cells[self._n] = self._id_slot_cells[self._slots]
            return
        self._id_generation_cells[slot] += 1
        self._id_slot_cells[self._n] = slot

    def _give_slots(self, slots: NDArray[np.uint32]) -> None:
        """Free the slots of the rows that are gone, but retire those that are worn out."""
        fresh = slots[self._id_generation_column[slots] != WORN_OUT]
        self._id_generation_column[fresh] += 1
        worn = len(slots) - len(fresh)
        n, end = self._n, self._n + len(fresh)
        if worn:
            behind = self._id_slot_column[n + len(slots) : self._slots].copy()
            self._slots -= worn
            self._id_slot_column[end : self._slots] = behind
        self._id_slot_column[n:end] = fresh

    def _drop_slots(self) -> None:
        """Forget the free slots behind the last one in use; new ones begin where they ended."""
        n = self._n
        used = self._id_slot_column[:n]
        peak = int(used.max()) + 1 if n else 0
        if peak == self._peak or self._slots < self._peak:
            return  # none, or some were retired, which must not come again
        dropped = self._id_generation_column[peak : self._peak]
        self._first_generation = max(self._first_generation, int(dropped.max()))
        free = np.ones(peak, np.bool_)
        free[used] = False
        self._id_slot_column[n:peak] = np.flatnonzero(free)
        self._peak = self._slots = peak

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._position_x_column = cut(buffer, COLUMNS[0], capacity)
        self._position_x_cells = cells(self._position_x_column)
        self._position_y_column = cut(buffer, COLUMNS[1], capacity)
        self._position_y_cells = cells(self._position_y_column)
        self._velocity_x_column = cut(buffer, COLUMNS[2], capacity)
        self._velocity_x_cells = cells(self._velocity_x_column)
        self._velocity_y_column = cut(buffer, COLUMNS[3], capacity)
        self._velocity_y_cells = cells(self._velocity_y_column)
        self._heat_column = cut(buffer, COLUMNS[4], capacity)
        self._heat_cells = cells(self._heat_column)
        self._id_slot_column = cut(buffer, COLUMNS[5], capacity)
        self._id_slot_cells = cells(self._id_slot_column)
        self._id_row_column = cut(buffer, COLUMNS[6], capacity)
        self._id_row_cells = cells(self._id_row_column)
        self._id_generation_column = cut(buffer, COLUMNS[7], capacity)
        self._id_generation_cells = cells(self._id_generation_column)

    def _allocate(self, capacity: int, borrowed: tuple[object, ...] = ()) -> None:
        """Move the rows into a new buffer; O(n). `borrowed`: the caller's arguments."""
        buffer = allocate(ROW_BYTES, capacity)
        old, held, rows = self._buffer, self._allocated, self._peak
        self._place(buffer, capacity)
        copy_rows(COLUMNS, old, held, buffer, capacity, rows)
        try:
            warn_if_viewed(old, MANAGER, borrowed)
        except StaleViewWarning:  # made an error by a filter
            self._place(old, held)
            raise

    def _save(self) -> dict[str, NDArray[Any]]:
        """Return the rows in use, by column."""
        return saved_rows(COLUMNS, self._buffer, self._allocated, self._peak)

    def _load(self, rows: dict[str, NDArray[Any]]) -> None:
        """Fill the rows in use from what `_save` returned."""
        load_rows(COLUMNS, self._buffer, self._allocated, rows)

    def _move_row(self, src: int, dst: int) -> None:
        """Copy one row over another, column by column."""
        self._position_x_cells[dst] = self._position_x_cells[src]
        self._position_y_cells[dst] = self._position_y_cells[src]
        self._velocity_x_cells[dst] = self._velocity_x_cells[src]
        self._velocity_y_cells[dst] = self._velocity_y_cells[src]
        self._heat_cells[dst] = self._heat_cells[src]
        self._id_slot_cells[dst] = self._id_slot_cells[src]

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._position_x_column[dst] = self._position_x_column[src]
        self._position_y_column[dst] = self._position_y_column[src]
        self._velocity_x_column[dst] = self._velocity_x_column[src]
        self._velocity_y_column[dst] = self._velocity_y_column[src]
        self._heat_column[dst] = self._heat_column[src]
        self._id_slot_column[dst] = self._id_slot_column[src]


class SparkActiveData:
    """The columns of the active rows: views that are assigned to like those of `data`."""

    __slots__ = ("_data",)

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
            checked = _POSITION_X.many(values, data._n_active)
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
            checked = _POSITION_Y.many(values, data._n_active)
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
            checked = _VELOCITY_X.many(values, data._n_active)
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
            checked = _VELOCITY_Y.many(values, data._n_active)
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
            checked = _HEAT.many(values, data._n_active)
            data._heat_column[: data._n_active] = checked


class SparkManager:
    """Owns every Spark: lookup sparse, instances one, destroy gc.

    A spark that flies until it has cooled down, and waits to be lit again.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_locks",
        "_version",
        "data",
    )
    data: SparkData

    def __init__(self) -> None:
        self._locks = 0
        self._version = 0
        self.data = SparkData(capacity=1024)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        data = self.data
        return {
            "version": self._version,
            "n": data._n,
            "allocated": data._allocated,
            "columns": data._save(),
            "n_active": data._n_active,
            "peak": data._peak,
            "slots": data._slots,
            "first_generation": data._first_generation,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._locks = 0
        self._version = state["version"]
        self.data = data = SparkData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        data._n_active = state["n_active"]
        data._peak = state["peak"]
        data._slots = state["slots"]
        data._first_generation = state["first_generation"]

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self.data._n

    def __iter__(self) -> Iterator[Id]:
        """Iterate over the ids, in row order."""
        return iter(self.id_of_many(np.arange(self.data._n)).tolist())

    def __contains__(self, id: object) -> bool:
        """Return whether an id has an instance; O(1)."""
        return is_integer(id) and self.resolve(Id(index(id))) != NIL

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
        """Bytes that the manager holds: the buffer; O(1)."""
        return self.data._buffer.nbytes

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let structural changes raise StructureLockedError inside the `with` block."""
        self._locks += 1
        try:
            yield
        finally:
            self._locks -= 1

    def position(self, row: Instance, /) -> tuple[float, float]:
        """Place in the plane. [m]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return (data._position_x_cells[row], data._position_y_cells[row])

    def set_position(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `position` of a row: 2 values."""
        _value = _POSITION.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._position_x_cells[row] = _value[0]
        data._position_y_cells[row] = _value[1]

    def velocity(self, row: Instance, /) -> tuple[float, float]:
        """Change of place per second. [m/s]"""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return (data._velocity_x_cells[row], data._velocity_y_cells[row])

    def set_velocity(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `velocity` of a row: 2 values."""
        _value = _VELOCITY.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._velocity_x_cells[row] = _value[0]
        data._velocity_y_cells[row] = _value[1]

    def heat(self, row: Instance, /) -> float:
        """What is left of its glow, 0 to 1."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._heat_cells[row]

    def set_heat(self, row: Instance, value: float, /) -> None:
        """Set `heat` of a row."""
        _value = _HEAT.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._heat_cells[row] = _value

    def row(self, row: Instance, /) -> Spark:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return Spark(self.position(row), self.velocity(row), data._heat_cells[row])

    def create(
        self,
        *,
        position: ArrayLike = POSITION_DEFAULT,
        velocity: ArrayLike = VELOCITY_DEFAULT,
        heat: float = HEAT_DEFAULT,
    ) -> Id:
        """Add an instance and return its id; O(1), and active.

        Raises:
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        _position_ = POSITION_DEFAULT
        if position is not POSITION_DEFAULT:
            _position_ = _POSITION.one(position)
        _velocity_ = VELOCITY_DEFAULT
        if velocity is not VELOCITY_DEFAULT:
            _velocity_ = _VELOCITY.one(velocity)
        _heat_ = HEAT_DEFAULT
        if heat is not HEAT_DEFAULT:
            _heat_ = _HEAT.one(heat)
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if data._n == data._allocated:
            data._allocate(
                grown_capacity(data._allocated, data._n + 1), (position, velocity)
            )
        if data._n == data._slots and data._peak == data._allocated:
            data._allocate(grown_capacity(data._allocated, data._peak + 1))
        _taken = data._take_slot()
        row: Instance = data._n_active  # type: ignore[assignment]  # calling Instance takes time
        if row != data._n:  # the first inactive row makes room
            self._move(row, Instance(data._n))
        data._position_x_cells[row] = _position_[0]
        data._position_y_cells[row] = _position_[1]
        data._velocity_x_cells[row] = _velocity_[0]
        data._velocity_y_cells[row] = _velocity_[1]
        data._heat_cells[row] = _heat_
        data._n += 1
        data._n_active = row + 1
        data._id_slot_cells[row] = _taken
        data._id_row_cells[_taken] = row
        self._version += 1
        return Id(data._id_generation_cells[_taken] << SLOT_BITS | _taken)

    def create_many(
        self,
        count: int,
        /,
        *,
        position: ArrayLike = POSITION_DEFAULT,
        velocity: ArrayLike = VELOCITY_DEFAULT,
        heat: ArrayLike = HEAT_DEFAULT,
    ) -> IdArray:
        """Add `count` instances and return their ids, shape (count,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        count = whole_count(MANAGER, count)
        columns = self._convert(count, position=position, velocity=velocity, heat=heat)
        _borrowed = (position, velocity, heat)
        self._make_room(count, columns, _borrowed)
        return self._append_many(count, columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        position: ArrayLike = POSITION_DEFAULT,
        velocity: ArrayLike = VELOCITY_DEFAULT,
        heat: ArrayLike = HEAT_DEFAULT,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "position": _POSITION.many(position, count, data._buffer),
            "velocity": _VELOCITY.many(velocity, count, data._buffer),
            "heat": _HEAT.many(heat, count, data._buffer),
        }
        if self._locks:
            raise locked(MANAGER)
        return columns

    def _make_room(
        self, count: int, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Let the buffer grow if it must: the second part. `borrowed`: the caller's arguments."""
        data = self.data
        needed = data._n + count
        if needed > data._allocated:
            data._allocate(grown_capacity(data._allocated, needed), borrowed)
        slots = data._peak + max(0, data._n + count - data._slots)
        if slots > data._allocated:
            data._allocate(grown_capacity(data._allocated, slots), borrowed)

    def _append_many(self, count: int, columns: Columns) -> IdArray:
        """Add rows of checked columns: the last part, which only the map can stop."""
        data = self.data
        if count == 0:
            return np.empty(0, np.uint64)
        taken = data._take_slots(count)
        n = data._n
        start = data._n_active
        end = start + count
        src, dst = room_at(start, n, count)
        self._move_many(src, dst)
        span = slice(start, end)
        rows = np.arange(start, end)
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
        self._version += 1
        return ids_of(taken, data._id_generation_column)

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). The last row of its part moves into its place.

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

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            raise locked(MANAGER)
        self._destroy_rows(np.arange(self.data._n))

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
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
        data._give_slot(slot)
        self._version += 1
        return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        slots = data._id_slot_column[gone]
        data._id_row_column[slots] = NIL
        n, bound = data._n, data._n_active
        src, dst = fill_parts(gone, bound, n)
        self._move_many(src, dst)
        data._n_active = bound - int(np.searchsorted(gone, bound))
        data._n = n - len(gone)
        data._give_slots(slots)
        self._version += 1
        return len(gone)

    def sort(self, key: str | ArrayLike, /) -> None:
        """Sort the rows inside each part by a scalar field, by name, or by a key; O(n log n).

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
        self._permute(parts_sorted(key, data._n_active))

    def reorder(self, order: ArrayLike, /) -> None:
        """Let row k become what row order[k] was; O(n).

        Raises:
            ValueError: the order is not a permutation of the rows.
            ValueError: it moves a row across the active boundary.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        given = integers(order, MANAGER, "the order")
        order = permutation(given, self.data._n, MANAGER)
        order = within_parts(order, self.data._n_active, MANAGER)
        self._permute(order)

    def _permute(self, src: RowArray) -> None:
        """Move every row src[k] to k."""
        data = self.data
        n = data._n
        dst = np.arange(n)
        data._move_rows(src, dst)
        data._id_row_column[data._id_slot_column[dst]] = dst
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
        data._drop_slots()
        capacity = whole_rows(data._peak)
        if capacity < data._allocated:
            data._allocate(capacity)
            self._version += 1

    @property
    def n_active(self) -> int:
        """How many rows are active: rows [0, n_active)."""
        return self.data._n_active

    def is_active(self, row: Instance, /) -> bool:
        """Return whether a row is active; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return row < data._n_active

    def activate(self, row: Instance, /) -> Instance:
        """Let a row be active and return where it is now; O(1), one swap or none."""
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        bound = Instance(data._n_active)
        if row < bound:
            return row
        self._swap(row, bound)
        data._n_active = bound + 1
        self._version += 1
        return bound

    def deactivate(self, row: Instance, /) -> Instance:
        """Let a row be inactive and return where it is now; O(1), one swap or none."""
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        bound = Instance(data._n_active - 1)
        if row > bound:
            return row
        self._swap(row, bound)
        data._n_active = bound
        self._version += 1
        return bound

    def activate_many(self, rows: ArrayLike, /) -> RowArray:
        """Let k rows, or a mask's, be active; return where they are, in the order given; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        given = rows_in_use(rows, data, MANAGER)
        chosen = distinct(given, data._n, MANAGER)
        chosen = chosen[chosen >= data._n_active]
        start = data._n_active
        end = start + len(chosen)
        return self._cross(given, chosen, start, end, bound=end)

    def deactivate_many(self, rows: ArrayLike, /) -> RowArray:
        """Let k rows, or a mask's, be inactive; return where they are, in the order given; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked(MANAGER)
        data = self.data
        given = rows_in_use(rows, data, MANAGER)
        chosen = distinct(given, data._n, MANAGER)
        chosen = chosen[chosen < data._n_active]
        end = data._n_active
        start = end - len(chosen)
        return self._cross(given, chosen, start, end, bound=start)

    def _cross(
        self, given: RowArray, chosen: RowArray, start: int, end: int, bound: int
    ) -> RowArray:
        """Bring the chosen rows to [start, end), set the bound, and return where the given are."""
        if len(chosen) == 0:
            return given.copy()
        src, dst = exchange(chosen, start, end)
        self._move_many(src, dst)
        self.data._n_active = bound
        self._version += 1
        return Remap(src, dst, self.data._n)(given)

    def _swap(self, one: Instance, other: Instance) -> None:
        """Let two rows change places, over the spare row behind the last one if there is one."""
        data = self.data
        spare = Instance(data._n)
        if one == other:
            return
        if spare == data._allocated:
            self._move_many(np.array([one, other]), np.array([other, one]))
            return
        free = data._id_slot_cells[spare]
        self._move(one, spare)
        self._move(other, one)
        self._move(spare, other)
        data._id_slot_cells[spare] = free

    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and tell what knows its number."""
        data = self.data
        data._move_row(src, dst)
        data._id_row_cells[data._id_slot_cells[dst]] = dst

    def _move_many(self, src: RowArray, dst: RowArray) -> None:
        """Move rows src[k] to dst[k], and tell what knows their numbers."""
        if len(src) == 0:
            return
        data = self.data
        data._move_rows(src, dst)
        data._id_row_column[data._id_slot_column[dst]] = dst

    def id_of(self, row: Instance, /) -> Id:
        """Return the stable id of a row: `generation << 32 | slot`; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        slot = data._id_slot_cells[row]
        return Id(data._id_generation_cells[slot] << SLOT_BITS | slot)

    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the stable ids of k rows, or of a mask's; O(k)."""
        data = self.data
        given = rows_in_use(rows, data, MANAGER)
        slots = data._id_slot_column[given]
        return ids_of(slots, data._id_generation_column)

    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if its instance is gone; O(1)."""
        if type(id) is not int:
            id = Id(index(id))
        data = self.data
        slot = id & SLOT_MASK
        if slot < data._peak and data._id_generation_cells[slot] == id >> SLOT_BITS:
            return Instance(data._id_row_cells[slot])
        return NIL

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k ids, NIL for those whose instance is gone; O(k)."""
        given = as_entities(ids)
        data = self.data
        rows = data._id_row_column[: data._peak]
        return resolve_ids(given, rows, data._id_generation_column[: data._peak])

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
