"""Meeting: lookup sparse, instances one, destroy gc.

Two who meet every day.

One buffer of 28 bytes per row, column after column:

    column         type    bytes/row  offset (64 rows)  tags
    -------------  ------  ---------  ----------------  ----
    one            entity          8                 0  hot
    other          entity          8               512  hot
    id_slot        u32             4              1024  hot
    id_row         u32             4              1280  hot
    id_generation  u32             4              1536  hot
    28 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final, Unpack

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import (
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
from ecsgen_runtime.kernels.blocks import WorldKernelRows
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.ids import SLOT_BITS, IdRows, Ids, ids_of
from ecsgen_runtime.managers.policies.owners import Unowned
from ecsgen_runtime.managers.row_proxies import IdProxy, RowField
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view
from ecsgen_runtime.tables.columns import HotColumns
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import HandleField
from ecsgen_runtime.values.interchange import TableLike
from numpy.typing import ArrayLike, NDArray

from .entities import EntityManager

_COLUMNS: Final = (
    Column("one", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("other", np.dtype(np.uint64), (), 8, ("hot",), 8),
    Column("id_slot", np.dtype(np.uint32), (), 4, ("hot",), 16),
    Column("id_row", np.dtype(np.uint32), (), 4, ("hot",), 20),
    Column("id_generation", np.dtype(np.uint32), (), 4, ("hot",), 24),
)
_ONE_FIELD: Final = HandleField("Meeting.one", "entity")
_OTHER_FIELD: Final = HandleField("Meeting.other", "entity")
_ONE_DEFAULT: Final = NULL_ENTITY
_OTHER_DEFAULT: Final = NULL_ENTITY
_FIELDS: Final = component_fields(
    (_ONE_FIELD, "entity", _ONE_DEFAULT, ("hot",)),
    (_OTHER_FIELD, "entity", _OTHER_DEFAULT, ("hot",)),
)


class Meeting(NamedTuple):
    """One row of a MeetingManager, copied out."""

    one: Entity = _ONE_DEFAULT
    other: Entity = _OTHER_DEFAULT


class MeetingFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    one: ArrayLike
    other: ArrayLike


class MeetingData(IdRows, WorldKernelRows, HotColumns):
    """The columns of a MeetingManager: views of the rows in use."""

    __slots__ = (
        "_first_generation",
        "_id_generation_cells",
        "_id_generation_column",
        "_id_row_cells",
        "_id_row_column",
        "_id_slot_cells",
        "_id_slot_column",
        "_one_cells",
        "_one_column",
        "_other_cells",
        "_other_column",
        "_peak",
        "_slots",
        "_world_kernels",
    )
    MANAGER: ClassVar = "MeetingManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    @property
    def one(self) -> NDArray[np.uint64]:
        """The one of each row. Shape (n,)."""
        return self._one_column[: self._n]

    @one.setter
    def one(self, values: ArrayLike) -> None:
        if not is_same_view(self.one, values):
            self._one_column[: self._n] = _ONE_FIELD.to_column(values, self._n)

    @property
    def other(self) -> NDArray[np.uint64]:
        """The other of each row. Shape (n,)."""
        return self._other_column[: self._n]

    @other.setter
    def other(self, values: ArrayLike) -> None:
        if not is_same_view(self.other, values):
            self._other_column[: self._n] = _OTHER_FIELD.to_column(values, self._n)

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._one_column: NDArray[np.uint64] = self._column_view(0)
        self._one_cells: memoryview[Entity] = cell_view(self._one_column)
        self._other_column: NDArray[np.uint64] = self._column_view(1)
        self._other_cells: memoryview[Entity] = cell_view(self._other_column)
        self._id_slot_column = self._column_view(2)
        self._id_slot_cells = cell_view(self._id_slot_column)
        self._id_row_column = self._column_view(3)
        self._id_row_cells = cell_view(self._id_row_column)
        self._id_generation_column = self._column_view(4)
        self._id_generation_cells = cell_view(self._id_generation_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._one_column[dst] = self._one_column[src]
        self._other_column[dst] = self._other_column[src]
        self._id_slot_column[dst] = self._id_slot_column[src]


class MeetingManager(Unowned, Ids):
    """Manager of every Meeting: lookup sparse, instances one, destroy gc.

    Two who meet every day.
    """

    __slots__ = ("_failures",)
    PARTS: ClassVar = ManagerParts(
        row=Meeting,
        accessors=("packed",),
        create=("packed", "ids"),
        destroy_row=("packed", "ids"),
    )
    ROWS: ClassVar = MeetingData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("one", "other")
    data: MeetingData

    def one(self, row: int, /) -> Entity:
        """The one."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._one_cells[row]

    def set_one(self, row: int, value: Entity | int, /) -> None:
        """Set `one` of a row."""
        _value = _ONE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._one_cells[row] = _value

    def other(self, row: int, /) -> Entity:
        """The other."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._other_cells[row]

    def set_other(self, row: int, value: Entity | int, /) -> None:
        """Set `other` of a row."""
        _value = _OTHER_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._other_cells[row] = _value

    def row(self, row: int, /) -> Meeting:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Meeting(data._one_cells[row], data._other_cells[row])

    def __getitem__(self, id: Id, /) -> MeetingRef:
        """Return a proxy of the id's row, or raise StaleIdError; O(1)."""
        return self._proxy(MeetingRef, id)

    def rows(self) -> Iterator[MeetingRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(MeetingRef)

    def create(
        self,
        *,
        one: Entity | int = _ONE_DEFAULT,
        other: Entity | int = _OTHER_DEFAULT,
    ) -> Id:
        """Add an instance and return its id; O(1).

        Raises:
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        _one_ = _ONE_DEFAULT
        if one is not _ONE_DEFAULT:
            _one_ = _ONE_FIELD.to_cell(one)
        _other_ = _OTHER_DEFAULT
        if other is not _OTHER_DEFAULT:
            _other_ = _OTHER_FIELD.to_cell(other)
        if self._locks:
            self._raise_if_locked()
        data = self.data
        if data._n == data._allocated:
            data._grow(data._n + 1)
        if data._n == data._slots and data._peak == data._allocated:
            data._grow(data._peak + 1)
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            _new_slot = data._take_slot()
            data._one_cells[row] = _one_
            data._other_cells[row] = _other_
            data._n = row + 1
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
        **columns: Unpack[MeetingFields],
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
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
        taken = data._next_slots(count)
        ids = ids_of(taken, data._id_generation_column)
        try:
            data._take_slots(count)
            data._one_column[span] = columns["one"]
            data._other_column[span] = columns["other"]
            data._n = end
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
            src, dst = data._n - 1, row
            if src != dst:
                data._one_cells[dst] = data._one_cells[src]
                data._other_cells[dst] = data._other_cells[src]
                data._id_slot_cells[dst] = data._id_slot_cells[src]
                data._id_row_cells[data._id_slot_cells[dst]] = dst
            data._n = src
            data._free_slot(slot)
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1


class MeetingRef(IdProxy):
    """A row of a MeetingManager, which follows its id."""

    __slots__ = ()

    one = RowField.cell(MeetingManager.one, MeetingManager.set_one, _ONE_FIELD)
    other = RowField.cell(MeetingManager.other, MeetingManager.set_other, _OTHER_FIELD)
