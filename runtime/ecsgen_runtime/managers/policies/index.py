"""index: rows are found by the value of a field, which any number of them may have.

Rows are sorted by value at the first search after bulk writes. Few rows that come, go, move or are
written later are noted beside, and looked at one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...base.handles import Neighbours, RowArray
from ...base.specialisation import NO_SLOTS
from ...tables.columns import Rows, used_among, used_rows
from ...tables.placement import joined_ranges
from ...values.field_types import Field
from ..manager import BaseManager

_MIN_NOTED: Final = 64
"""Rows that may be noted beside any number of sorted ones."""
_MAX_SCANS: Final = 16
"""How often it pays to look at all rows instead of sorting them."""
_ROW_BITS: Final = np.uint64(32)
_ROW_MASK: Final = np.uint64(0xFFFF_FFFF)
_NO_FLAGS: Final = memoryview(b"")


class SortedRows(NamedTuple):
    """Rows sorted by value, and ascending where values are equal; none with NaN or NaT."""

    values: NDArray[Any]
    rows: RowArray

    @classmethod
    def of(cls, column: NDArray[Any], rows: RowArray) -> Self:
        """Sort ascending or strewn rows by their values; O(k log k)."""
        cells = column[rows]
        if cells.dtype.kind in "biu" and cells.dtype.itemsize <= 4:  # then one sort will do
            distances = cells.astype(np.int64)
            distances -= distances.min(initial=0)
            return cls._by_rank(column, distances.view(np.uint64), rows)
        if cells.dtype.kind in "fmM":
            rows = rows[cells == cells]
            cells = column[rows]
        order = cells.argsort()  # far faster than a stable one
        values = cells[order]
        starts_group = np.zeros(len(values), np.bool_)
        np.not_equal(values[1:], values[:-1], out=starts_group[1:])
        return cls._by_rank(column, starts_group.cumsum(dtype=np.uint64), rows[order])

    @classmethod
    def _by_rank(cls, column: NDArray[Any], keys: NDArray[np.uint64], rows: RowArray) -> Self:
        """Sort rows by numbers below 2^32 in the order of values, which are overwritten."""
        keys <<= _ROW_BITS
        keys |= rows.astype(np.uint64, copy=False)
        keys.sort()
        keys &= _ROW_MASK
        rows = keys.astype(np.intp, copy=False)
        return cls(column[rows], rows)

    def find(self, cells: NDArray[Any]) -> tuple[RowArray, RowArray]:
        """Return pairs of an index into k cells and a row with its value; O(k log n + pairs)."""
        starts = self.values.searchsorted(cells)
        counts = self.values.searchsorted(cells, "right") - starts
        numbers = np.arange(len(cells)).repeat(counts)
        return numbers, self.rows[joined_ranges(starts, counts)[1]]


class FieldIndex:
    """Rows by the value of a field: sorted ones, and those noted since, whose order is unknown."""

    __slots__ = (
        "_flags",
        "_max_noted",
        "_noted",
        "column",
        "field",
        "is_stale",
        "n_noted",
        "n_scans",
        "order",
    )

    def __init__(self, field: Field) -> None:
        self.field = field
        self.column: NDArray[Any] = np.empty(0, field.dtype)
        self.n_scans = 0
        """Looks at all rows since the last sort."""
        self.forget()

    def forget(self) -> None:
        """Sort all rows anew at the next search."""
        self.is_stale = True
        self.n_noted = self._max_noted = 0
        self.order = SortedRows(self.column[:0], np.empty(0, np.intp))
        self._noted = np.empty(0, np.intp)
        self._flags: memoryview[int] = _NO_FLAGS

    @property
    def nbytes(self) -> int:
        """Bytes of sorted rows and values, of noted rows, and of a flag for each row."""
        order = self.order.values.nbytes + self.order.rows.nbytes
        return order + self._noted.nbytes + self._flags.nbytes

    def note(self, row: int) -> None:
        """Note that a row comes, goes or may have another value; O(1)."""
        if self.is_stale or self._flags[row]:
            return
        if self.n_noted == self._max_noted:
            self.forget()
            return
        self._flags[row] = 1
        self._noted[self.n_noted] = row
        self.n_noted += 1

    def note_many(self, rows: RowArray) -> None:
        """Note k rows; O(k) for few, and O(1) for many."""
        if self.is_stale:
            return
        if len(rows) > self._max_noted - self.n_noted:
            self.forget()
            return
        for row in rows.tolist():
            self.note(row)

    def sort(self, data: Rows) -> None:
        """Sort the rows in use unless they are sorted; O(n log n)."""
        if not self.is_stale:
            return
        rows = used_rows(data)
        self.order = SortedRows.of(self.column, rows)
        self._max_noted = _MIN_NOTED + isqrt(len(rows))
        self._noted = np.empty(self._max_noted, np.intp)
        self._flags = memoryview(bytearray(data.allocated))
        self.is_stale = False
        self.n_scans = 0

    def _are_as_sorted(self, rows: RowArray, data: Rows) -> NDArray[np.bool_]:
        """Return which of k sorted rows are not noted, and did not move from the end."""
        return ~np.frombuffer(self._flags, np.bool_)[rows] & (rows < data.n)

    def find(self, value: Any, data: Rows) -> RowArray:
        """Return the rows with a value, ascending; O(k + √n) but after bulk writes."""
        cell = np.array(self.field.to_cell(value), self.field.dtype)
        self.sort(data)
        values, rows = self.order
        rows = rows[values.searchsorted(cell) : values.searchsorted(cell, "right")]
        if not self.n_noted:
            return rows.copy()
        rows = rows[self._are_as_sorted(rows, data)]
        noted = used_among(data, self._noted[: self.n_noted])
        noted = noted[self.column[noted] == cell]
        if len(noted):
            rows = np.concatenate((rows, noted))
            rows.sort()
        return rows

    def find_many(self, values: Any, data: Rows) -> Neighbours:
        """Return the rows with each of k values; O(k log n + rows found) but after bulk writes."""
        cells = self.field.to_cells(values)
        count = len(cells)
        self.sort(data)
        numbers, rows = self.order.find(cells)
        if self.n_noted:
            is_kept = self._are_as_sorted(rows, data)
            noted = SortedRows.of(self.column, used_among(data, self._noted[: self.n_noted]))
            more_numbers, more_rows = noted.find(cells)
            numbers = np.concatenate((numbers[is_kept], more_numbers))
            rows = np.concatenate((rows[is_kept], more_rows))
            order = np.lexsort((rows, numbers))
            numbers, rows = numbers[order], rows[order]
        starts = np.zeros(count + 1, np.intp)
        np.bincount(numbers, minlength=count).cumsum(out=starts[1:])
        return Neighbours(starts, rows)


class IndexedRows(Rows):
    """Rows that are found by the values of some fields; the columns of these are read-only."""

    __slots__ = NO_SLOTS
    INDEXED: ClassVar[Mapping[str, Field]]
    """The converters of these fields."""
    _field_indexes: dict[str, FieldIndex]

    def _init_empty(self) -> None:
        super()._init_empty()
        self._field_indexes = {name: FieldIndex(field) for name, field in self.INDEXED.items()}

    def _use_buffer(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        super()._use_buffer(buffer, capacity)
        for name, index in self._field_indexes.items():
            index.column = getattr(self, f"_{name}_column")
            index.forget()

    def drop_row_caches(self) -> None:
        super().drop_row_caches()
        for index in self._field_indexes.values():
            index.forget()

    def _restore(self) -> None:
        super()._restore()
        self.drop_row_caches()

    def _nbytes(self) -> int:
        return super()._nbytes() + sum(i.nbytes for i in self._field_indexes.values())

    def _note_row(self, row: int) -> None:
        """Note that a row comes or goes, or is another one now."""
        for index in self._field_indexes.values():
            index.note(row)

    def _note_rows(self, rows: RowArray) -> None:
        """Note that k rows come or go, or are others now."""
        for index in self._field_indexes.values():
            index.note_many(rows)

    def _forget_index(self, name: str) -> None:
        """Sort rows by a field anew at the next search: any of them may be written."""
        self._field_indexes[name].forget()

    def _rows_by_value(self, name: str, value: Any) -> RowArray:
        return self._field_indexes[name].find(value, self)

    def rows_by_values(self, name: str, values: Any) -> Neighbours:
        return self._field_indexes[name].find_many(values, self)

    def _assign_values(self, name: str, bound: int, cells: NDArray[Any]) -> None:
        if name in self._field_indexes:
            self._field_indexes[name].forget()
        super()._assign_values(name, bound, cells)

    def _write_values(self, name: str, rows: RowArray, cells: NDArray[Any]) -> None:
        if name in self._field_indexes:
            self._field_indexes[name].note_many(rows)
        super()._write_values(name, rows, cells)


def quick_index(data: Rows, name: str) -> FieldIndex | None:
    """Return the index of a field; None if there is none, or it would have to sort all rows, some
    times between two sorts: the look at all rows that is counted takes a fraction of that."""
    index = data._field_indexes.get(name) if isinstance(data, IndexedRows) else None
    if index is None or not index.is_stale:
        return index
    index.n_scans += 1
    return index if index.n_scans > _MAX_SCANS else None


class Indexed(BaseManager):
    """A manager that finds rows by the values of some fields."""

    __slots__ = NO_SLOTS
    _BEFORE_REMOVE: ClassVar[tuple[str, ...]] = ("_note_rows",)
    _AFTER_MOVE: ClassVar[tuple[str, ...]] = ("_note_rows",)
    data: IndexedRows

    def _note_rows(self, rows: RowArray) -> None:
        self.data._note_rows(rows)

    def _set_value(self, name: str, row: int, value: Any) -> None:
        indexes = self.data._field_indexes
        if name in indexes:
            indexes[name].note(row)
        super()._set_value(name, row, value)
