"""unique: no two rows have the same value of a field; a dict maps values to rows."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import repeat
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...base.errors import DuplicateValueError, short_repr
from ...base.handles import NIL, Columns, Entity, EntityArray, Instance, RowArray
from ...base.locks import mark_broken
from ...base.specialisation import NO_SLOTS
from ...entities.entity_manager import EntityManagerBase
from ...tables.columns import Rows
from ...values.field_types import Field, TextField
from ..manager import Manager

GoingRows: TypeAlias = Callable[[RowArray], NDArray[np.bool_]]
"""Predicate: which of k rows will be removed before new ones are created."""


_NAT: Final = -(2**63)
"""NaT as an integer."""


class ValueIndex:
    """Rows by the value of a field: a dict from what `tolist` makes of a cell.

    NaN and NaT equal nothing, not even themselves: any number of rows may have them, and they are
    never found.
    """

    __slots__ = ("column", "dtype", "field", "rows")

    def __init__(self, field: Field) -> None:
        self.field = field
        self.rows: dict[Any, Any] = {}
        self.dtype = np.dtype(np.int64) if field.dtype.kind in "mM" else field.dtype
        """Of keys: times are integers."""
        self.column: NDArray[Any] = np.empty(0, self.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of the table, and of an object for each value and row."""
        dtype = self.field.dtype
        key = bytes(dtype.itemsize) if dtype.kind == "S" else 1 << 32
        each = sys.getsizeof(key) + sys.getsizeof(1 << 16)
        return sys.getsizeof(self.rows) + len(self.rows) * each

    def find(self, value: Any) -> Instance:
        """Return the row of a value, or NIL; O(1)."""
        row: Instance = self.rows.get(self.key(self.field.to_cell(value)), NIL)
        return row

    def find_many(self, values: Any) -> RowArray:
        """Return the row of each of k values, NIL where none has it; O(k)."""
        keys = self.as_keys(self.field.to_cells(values)).tolist()
        return np.fromiter(map(self.rows.get, keys, repeat(NIL)), np.intp, len(keys))

    def key(self, cell: Any) -> Any:
        """Return a converted value as the column has it: rounded, or without padding."""
        if type(cell) is int:
            return cell
        return self.as_keys(np.array(cell, self.field.dtype)).item()

    def enter(self, row: int) -> None:
        """Index the value of a row."""
        key = self.column.item(row)
        if key == key and (key != _NAT or self.dtype == self.field.dtype):
            self.rows[key] = row

    def enter_many(self, rows: RowArray) -> None:
        """Index the values of k rows, which are all different."""
        self.rows.update(self._pairs(self.column[rows], rows))

    def forget(self, row: int) -> None:
        """Take the value of a row out."""
        self.rows.pop(self.column.item(row), None)

    def forget_many(self, rows: RowArray) -> None:
        """Take the values of k rows out."""
        for key in self._keys(self.column[rows]):
            del self.rows[key]

    def entries(self, cells: NDArray[Any], rows: RowArray) -> dict[Any, int]:
        """Return the row of each cell, or raise DuplicateValueError; O(k)."""
        pairs = self._pairs(cells, rows)
        rows_by_key = dict(pairs)
        if len(rows_by_key) < len(pairs):
            raise self._repeated(key for key, _ in pairs)
        return rows_by_key

    def check_new(self, cells: NDArray[Any], count: int, going: GoingRows) -> None:
        """Raise DuplicateValueError unless `count` new rows may have these cells; O(k)."""
        if cells.size == 1:
            count = min(count, 2)  # one value for all: two rows prove as much as any number
        keys = self._keys(np.broadcast_to(cells, count))
        if len(set(keys)) < len(keys):
            raise self._repeated(keys)
        self.check_taken(keys, going)

    def check_taken(self, keys: Collection[Any], going: GoingRows) -> None:
        """Raise DuplicateValueError if a row that is not evicted has one of the values."""
        if self.rows.keys().isdisjoint(keys):
            return
        taken_keys = [key for key in keys if key in self.rows]
        holders = np.array([self.rows[key] for key in taken_keys], np.intp)
        stays = ~going(holders)
        if stays.any():
            raise self.taken(taken_keys[int(stays.argmax())])

    def _pairs(self, cells: NDArray[Any], rows: RowArray) -> list[tuple[Any, int]]:
        rows = rows[self._is_value(cells)]
        return list(zip(self._keys(cells), rows.tolist(), strict=True))

    def _keys(self, cells: NDArray[Any]) -> list[Any]:
        keys: list[Any] = self.as_keys(cells)[self._is_value(cells)].tolist()
        return keys

    def as_keys(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return cells as keys are compared: times as integers."""
        return cells if self.dtype == self.field.dtype else cells.view(self.dtype)

    def _is_value(self, cells: NDArray[Any]) -> Any:
        """Return which cells equal themselves: a mask, or all."""
        if self.dtype != self.field.dtype:
            return self.as_keys(cells) != _NAT
        return cells == cells if cells.dtype.kind == "f" else slice(None)

    def _repeated(self, keys: Iterable[Any]) -> DuplicateValueError:
        repeated = next(key for key, times in Counter(keys).items() if times > 1)
        return DuplicateValueError(f"{self._shown(repeated)} is given twice")

    def taken(self, key: Any) -> DuplicateValueError:
        """Return the error of a value that a row has."""
        row = self.rows[key]
        return DuplicateValueError(f"{self._shown(key)} is the value of row {row}")

    def _shown(self, key: Any) -> str:
        value = key.decode() if isinstance(self.field, TextField) else key
        if self.dtype != self.field.dtype:
            value = np.int64(key).view(self.field.dtype)
        return f"{self.field.name}: {short_repr(value)}"


class UniqueRows(Rows):
    """Rows of which no two have the same value of some fields; their columns are read-only."""

    __slots__ = NO_SLOTS
    UNIQUE: ClassVar[Mapping[str, Field]]
    """The converters of these fields."""
    _indexes: dict[str, ValueIndex]
    _entity_column: EntityArray
    """Owners, if rows have some."""

    def _init_empty(self) -> None:
        super()._init_empty()
        self._indexes = {name: ValueIndex(field) for name, field in self.UNIQUE.items()}

    def _use_buffer(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        super()._use_buffer(buffer, capacity)
        for name, index in self._indexes.items():
            index.column = getattr(self, f"_{name}_column").view(index.dtype)

    def _restore(self) -> None:
        super()._restore()
        self._index_rows(self._used_rows())

    def _nbytes(self) -> int:
        return super()._nbytes() + sum(i.nbytes for i in self._indexes.values())

    def _shrink(self, is_counted: bool = False) -> None:
        for index in self._indexes.values():
            index.rows = index.rows.copy()
        super()._shrink(is_counted)

    def _index_row(self, row: int) -> None:
        """Index a row, which is new or has moved."""
        for index in self._indexes.values():
            index.enter(row)

    def _index_rows(self, rows: RowArray) -> None:
        """Index k rows, which are new or have moved."""
        for index in self._indexes.values():
            index.enter_many(rows)

    def _unindex_row(self, row: int) -> None:
        """Take a row out of the indexes."""
        for index in self._indexes.values():
            index.forget(row)

    def _assign_values(self, name: str, bound: int, cells: NDArray[Any]) -> None:
        if name not in self._indexes:
            super()._assign_values(name, bound, cells)
            return
        rows = self._used_rows()
        rows = rows[rows < bound]
        self._write_values(name, rows, np.broadcast_to(cells, bound)[rows])

    def _write_values(self, name: str, rows: RowArray, cells: NDArray[Any]) -> None:
        """Write a checked value to each row, or raise DuplicateValueError and write none; O(k)."""
        index = self._indexes.get(name)
        if index is None:
            super()._write_values(name, rows, cells)
            return
        fresh = index.entries(cells, rows)
        is_written = np.zeros(self._n, np.bool_)
        is_written[rows] = True
        index.check_taken(fresh, lambda holders: is_written[holders])
        try:
            index.forget_many(rows)
            index.column[rows] = index.as_keys(cells)
            index.rows.update(fresh)
        except BaseException:
            mark_broken(self)
            raise


class Unique(Manager):
    """A manager that finds rows by the values of some fields, of which no two are the same."""

    __slots__ = NO_SLOTS
    _BEFORE_REMOVE: ClassVar[tuple[str, ...]] = ("_unindex_rows",)
    _AFTER_MOVE: ClassVar[tuple[str, ...]] = ("_reindex_moved",)
    _ALLOWS_ONE_BY_ONE: ClassVar[bool] = False
    _ACCEPTS_ANY_VALUES: ClassVar[bool] = False
    data: UniqueRows

    def prepare_columns(self, count: int, arguments: Mapping[str, Any]) -> Columns:
        columns = super().prepare_columns(count, arguments)
        self._check_columns(count, columns, self._dead)
        return columns

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        self._check_columns(len(entities), columns, lambda rows: self._displaced(rows, entities))
        super()._ensure_capacity(entities, columns, borrowed)

    def _unindex_rows(self, removed: RowArray) -> None:
        for index in self.data._indexes.values():
            index.forget_many(removed)

    def _reindex_moved(self, dst: RowArray) -> None:
        self.data._index_rows(dst)

    def _check_columns(self, count: int, columns: Columns, going: GoingRows) -> None:
        """Raise DuplicateValueError unless `count` new rows may have these values."""
        for name, index in self.data._indexes.items():
            index.check_new(columns[name], count, going)

    def _check_value(self, name: str, value: Any, entity: Entity) -> None:
        """Raise DuplicateValueError unless a new row may have this checked value; O(1)."""
        index = self.data._indexes[name]
        key = index.key(value)
        if key in index.rows:
            owner = np.array([entity], np.uint64)
            index.check_taken([key], lambda rows: self._displaced(rows, owner))

    def _set_value(self, name: str, row: int, value: Any) -> None:
        """Write a checked value to a row in use, or raise DuplicateValueError; O(1)."""
        index = self.data._indexes.get(name)
        if index is None:
            super()._set_value(name, row, value)
            return
        key = index.key(value)
        if index.rows.get(key, row) != row:
            raise index.taken(key)
        try:
            index.forget(row)
            index.column[row] = key
            index.enter(row)
        except BaseException:
            self._mark_broken()
            raise

    def _dead(self, rows: RowArray) -> NDArray[np.bool_]:
        """Return which rows belong to dead entities, and may be evicted."""
        if not self._EVICTS_STALE_ROWS:
            return np.zeros(len(rows), np.bool_)
        # Only rows with owners are evicted; their base class has the entity manager.
        entities: EntityManagerBase = self._entities  # type: ignore[attr-defined]  # see above
        return ~entities.alive_many(self.data._entity_column[rows])

    def _displaced(self, rows: RowArray, entities: EntityArray) -> NDArray[np.bool_]:
        """Return which rows are evicted before these entities get theirs."""
        removed = self._dead(rows)
        if removed.any():
            slots_of = self._entities.slots  # type: ignore[attr-defined]  # as in `_dead`
            owners = self.data._entity_column[rows]
            removed &= np.isin(slots_of(owners), slots_of(entities))
        return removed
