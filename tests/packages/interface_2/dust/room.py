"""Room: lookup sparse, instances one, destroy gc.

One buffer of 32 bytes per row, column after column:

    column         type     bytes/row  offset (64 rows)  tags
    -------------  -------  ---------  ----------------  ----
    name           str[16]         16                 0  hot
    size           u32              4              1024  hot
    id_slot        u32              4              1280  hot
    id_row         u32              4              1536  hot
    id_generation  u32              4              1792  hot
    32 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, Unpack

import numpy as np
from ecsgen_runtime.buffers import Column, cells, is_same_view
from ecsgen_runtime.cells import RowField
from ecsgen_runtime.columns import FrontColumns, HotColumns
from ecsgen_runtime.field_types import IntField, TextField
from ecsgen_runtime.fields import described
from ecsgen_runtime.handles import NIL, Columns, Id, IdArray, Instance, RowArray
from ecsgen_runtime.interchange import GivenTable
from ecsgen_runtime.placement import room_at
from ecsgen_runtime.policies.ids import SLOT_BITS, IdRows, Ids, ids_of
from ecsgen_runtime.policies.partition import Partition, PartitionedRows
from ecsgen_runtime.policies.unowned import Unowned
from ecsgen_runtime.proxies import IdProxy
from ecsgen_runtime.typed import NamedTuple, TypedDict
from numpy.typing import ArrayLike, NDArray

from .entities import EntityManager

_COLUMNS: Final = (
    Column("name", np.dtype("S16"), (), 16, ("hot",), 0),
    Column("size", np.dtype(np.uint32), (), 4, ("hot",), 16),
    Column("id_slot", np.dtype(np.uint32), (), 4, ("hot",), 20),
    Column("id_row", np.dtype(np.uint32), (), 4, ("hot",), 24),
    Column("id_generation", np.dtype(np.uint32), (), 4, ("hot",), 28),
)
_NAME_FIELD: Final = TextField("Room.name", 16)
_SIZE_FIELD: Final = IntField("Room.size", "u32")
_NAME_DEFAULT: Final = ""
_NAME_CELL: Final = _NAME_FIELD.one(_NAME_DEFAULT)
_SIZE_DEFAULT: Final = 0
_FIELDS: Final = described(
    (_NAME_FIELD, "str[16]", _NAME_DEFAULT, ("hot",)),
    (_SIZE_FIELD, "u32", _SIZE_DEFAULT, ("hot",)),
)


class Room(NamedTuple):
    """One row of a RoomManager, copied out."""

    name: str = _NAME_DEFAULT
    size: int = _SIZE_DEFAULT


class RoomFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    name: ArrayLike
    size: ArrayLike


class RoomActiveData(FrontColumns):
    """The columns of the active rows: views that are assigned to like those of `data`."""

    __slots__ = ("_data",)
    _ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    def __init__(self, data: RoomData) -> None:
        self._data = data

    @property
    def n(self) -> int:
        """Active rows."""
        return self._data._n_active

    @property
    def name(self) -> NDArray[np.bytes_]:
        """The name of each row. Shape (n,)."""
        data = self._data
        return data._name_column[: data._n_active]

    @name.setter
    def name(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.name, values):
            checked = _NAME_FIELD.many(values, data._n_active)
            data._name_column[: data._n_active] = checked

    @property
    def size(self) -> NDArray[np.uint32]:
        """The size of each row. Shape (n,)."""
        data = self._data
        return data._size_column[: data._n_active]

    @size.setter
    def size(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.size, values):
            checked = _SIZE_FIELD.many(values, data._n_active)
            data._size_column[: data._n_active] = checked


class RoomData(PartitionedRows, IdRows, HotColumns):
    """The columns of a RoomManager: views of the rows in use."""

    __slots__ = (
        "_first_generation",
        "_id_generation_cells",
        "_id_generation_column",
        "_id_row_cells",
        "_id_row_column",
        "_id_slot_cells",
        "_id_slot_column",
        "_n_active",
        "_name_column",
        "_peak",
        "_size_cells",
        "_size_column",
        "_slots",
    )
    MANAGER: ClassVar = "RoomManager"
    LAYOUT: ClassVar = _COLUMNS
    _ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def active(self) -> RoomActiveData:
        """The columns of the active rows alone: the first `n_active` of each."""
        return RoomActiveData(self)

    @property
    def name(self) -> NDArray[np.bytes_]:
        """The name of each row. Shape (n,)."""
        return self._name_column[: self._n]

    @name.setter
    def name(self, values: ArrayLike) -> None:
        if not is_same_view(self.name, values):
            self._name_column[: self._n] = _NAME_FIELD.many(values, self._n)

    @property
    def size(self) -> NDArray[np.uint32]:
        """The size of each row. Shape (n,)."""
        return self._size_column[: self._n]

    @size.setter
    def size(self, values: ArrayLike) -> None:
        if not is_same_view(self.size, values):
            self._size_column[: self._n] = _SIZE_FIELD.many(values, self._n)

    def _place(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._name_column: NDArray[np.bytes_] = self._cut(0)
        self._size_column: NDArray[np.uint32] = self._cut(1)
        self._size_cells: memoryview[int] = cells(self._size_column)
        self._id_slot_column = self._cut(2)
        self._id_slot_cells = cells(self._id_slot_column)
        self._id_row_column = self._cut(3)
        self._id_row_cells = cells(self._id_row_column)
        self._id_generation_column = self._cut(4)
        self._id_generation_cells = cells(self._id_generation_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._name_column[dst] = self._name_column[src]
        self._size_column[dst] = self._size_column[src]
        self._id_slot_column[dst] = self._id_slot_column[src]


class RoomManager(Partition, Unowned, Ids):
    """Owns every Room: lookup sparse, instances one, destroy gc."""

    __slots__ = ("_failures",)
    _STARTS_ACTIVE: ClassVar = True
    _STEPS: ClassVar = {
        "row": "partition",
        "create": "partition ids",
        "_destroy_row": "partition ids",
    }
    _ROWS: ClassVar = RoomData
    _CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("name", "size")
    data: RoomData

    def name(self, row: int, /) -> str:
        """The name."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return str(data._name_column[row], "utf-8")

    def set_name(self, row: int, value: str, /) -> None:
        """Set `name` of a row: at most 16 bytes of UTF-8."""
        _value = _NAME_FIELD.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        data._name_column[row] = _value

    def size(self, row: int, /) -> int:
        """The size."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return data._size_cells[row]

    def set_size(self, row: int, value: int, /) -> None:
        """Set `size` of a row."""
        _value = _SIZE_FIELD.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        data._size_cells[row] = _value

    def row(self, row: int, /) -> Room:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return Room(str(data._name_column[row], "utf-8"), data._size_cells[row])

    name_of = RowField.by_id(name)
    set_name_of = RowField.set_by_id(set_name)
    size_of = RowField.by_id(size)
    set_size_of = RowField.set_by_id(set_size)

    def __getitem__(self, id: Id, /) -> RoomRef:
        """Return a proxy of the id's row, or raise StaleIdError; O(1)."""
        return self._proxy(RoomRef, id)

    def rows(self) -> Iterator[RoomRef]:
        """Iterate over proxies of the rows; those that go meanwhile are skipped; O(n)."""
        return self._proxies(RoomRef)

    def create(
        self,
        *,
        name: str = _NAME_DEFAULT,
        size: int = _SIZE_DEFAULT,
    ) -> Id:
        """Add an instance and return its id; O(1); it is active.

        Raises:
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        _name_ = _NAME_CELL
        if name is not _NAME_DEFAULT:
            _name_ = _NAME_FIELD.one(name)
        _size_ = _SIZE_DEFAULT
        if size is not _SIZE_DEFAULT:
            _size_ = _SIZE_FIELD.one(size)
        if self._locks:
            self._refuse_locked()
        data = self.data
        if data._n == data._allocated:
            data._grow(data._n + 1)
        if data._n == data._slots and data._peak == data._allocated:
            data._grow(data._peak + 1)
        row: Instance = data._n_active  # type: ignore[assignment]  # calling Instance takes time
        try:
            _taken = data._take_slot()
            if row != data._n:  # the first inactive row makes room
                self._move(row, Instance(data._n))
            data._name_column[row] = _name_
            data._size_cells[row] = _size_
            data._n += 1
            data._n_active = row + 1
            data._id_slot_cells[row] = _taken
            data._id_row_cells[_taken] = row
            data._version += 1
        except BaseException:
            self._break()
            raise
        return Id(data._id_generation_cells[_taken] << SLOT_BITS | _taken)

    def create_many(
        self,
        count: int,
        table: GivenTable | None = None,
        /,
        **columns: Unpack[RoomFields],
    ) -> IdArray:
        """Add `count` instances and return their ids, shape (count,); O(k).

        Each column broadcasts to (k, *shape) of its field. A table, of Arrow or a
        mapping, has columns as well: keywords win, `entity` is ignored. The errors are
        those of `create`; whatever raises changes nothing.
        """
        return self._create_many(count, columns, table)

    def _append_many(self, count: int, columns: Columns) -> IdArray:
        """Add rows of checked columns, for which there is room."""
        data = self.data
        n = data._n
        start = data._n_active
        end = start + count
        src, dst = room_at(start, n, count)
        moves = self._plan_moves(src, dst)
        span = slice(start, end)
        rows = np.arange(start, end)
        taken = data._next_slots(count)
        ids = ids_of(taken, data._id_generation_column)
        try:
            data._take_slots(count)
            self._move_many(src, dst, moves)
            data._name_column[span] = columns["name"]
            data._size_column[span] = columns["size"]
            data._n = n + count
            data._n_active = end
            data._id_slot_column[rows] = taken
            data._id_row_column[taken] = rows
            data._version += 1
        except BaseException:
            self._break()
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
            data._give_slot(slot)
            data._version += 1
        except BaseException:
            self._break()
            raise
        return 1

    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and tell what knows its number."""
        data = self.data
        data._name_column[dst] = data._name_column[src]
        data._size_cells[dst] = data._size_cells[src]
        data._id_slot_cells[dst] = data._id_slot_cells[src]
        data._id_row_cells[data._id_slot_cells[dst]] = dst

    def _swap_over(self, one: Instance, other: Instance, spare: Instance) -> None:
        """Let two rows change places by way of a third, which is not in use."""
        data = self.data
        free = data._id_slot_cells[spare]
        self._move(one, spare)
        self._move(other, one)
        self._move(spare, other)
        data._id_slot_cells[spare] = free


class RoomRef(IdProxy):
    """A row of a RoomManager, which follows its id."""

    __slots__ = ()

    name = RowField.of(RoomManager.name, RoomManager.set_name)
    size = RowField.cell(RoomManager.size, RoomManager.set_size, _SIZE_FIELD)
