"""Rows: all columns of a manager in one buffer, of which the first n rows are in use."""

from __future__ import annotations

from abc import abstractmethod
from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..base.handles import MAX_ROWS, Entity, EntityArray, RowArray
from ..base.specialisation import NO_SLOTS, saved_number_names, specialise_methods
from ..entities.entity_manager import EntityManagerBase
from ..values.field_tables import FieldInfo
from .arrow_mixins import ArrowExportableColumns
from .buffers import (
    Column,
    allocate,
    copy_rows,
    grown_capacity,
    item_type,
    round_up_rows,
    warn_if_viewed,
)
from .bulk import Bulk
from .html_reprs import columns_repr, columns_table


class ColumnsBase(ArrowExportableColumns):
    """Columns with reprs and exports; the generated class has the fields."""

    __slots__ = ()

    FIELDS: ClassVar[tuple[FieldInfo, ...]] = ()
    ENTITIES: ClassVar[type[EntityManagerBase]]
    """Entity manager of the package, for the layout of its handles."""

    @abstractmethod
    def _size(self) -> int:
        """Return how many rows there are, holes among them."""

    def __repr__(self) -> str:
        return columns_repr(self, self._size())

    def _repr_html_(self) -> str:
        """Return a table of the first and last rows, for notebooks."""
        return columns_table(self, self._size())

    def shown_rows(self) -> slice | RowArray:
        return slice(0, self._size())

    def decoded(self, field: str, /) -> NDArray[np.str_]:
        """Return a column of text as `str`, shape (n,): a copy; O(n).

        ValueError: it is not one of these columns, or has no text.
        """
        texts = [
            name
            for name, type_, *_ in self.FIELDS
            if type_.startswith("str[") and hasattr(type(self), name)
        ]
        if field not in texts:
            which = f"those that have are {', '.join(texts)}" if texts else "none has"
            raise ValueError(f"{field!r} is no column with text: {which}")
        column: NDArray[np.bytes_] = getattr(self, field)
        return np.char.decode(column, "utf-8")


class Rows(ColumnsBase):
    """The columns of a manager. A full buffer is replaced by one of twice the size.

    A view of a column is good until rows are added or removed. Assigning to a column writes
    its rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = ("_allocated", "_buffer", "_n", "_version")

    MANAGER: ClassVar[str]
    LAYOUT: ClassVar[tuple[Column, ...]]
    ROW_BYTES: ClassVar[int]
    OBJECTS: ClassVar[tuple[str, ...]] = ()
    """Attributes of columns of Python objects, which lie beside the buffer."""
    _SAVED_NUMBERS: ClassVar[tuple[str, ...]] = ("_n", "_version")
    """The attributes that are numbers to be saved; each class names its own."""
    _COLUMN_LENGTHS: ClassVar[Mapping[str, str]] = {}
    """Attributes with the lengths of columns that are not as long as the rows."""
    MAX_ROWS: ClassVar[int] = MAX_ROWS
    """Largest number of rows in use."""
    BULK: ClassVar[type[Bulk]] = Bulk
    """Bulk operations; compiled packages have others."""
    _n: int
    _version: int
    _allocated: int
    _buffer: NDArray[np.uint8]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "LAYOUT" in vars(cls):
            cls.ROW_BYTES = sum(column.nbytes for column in cls.LAYOUT)
            specialise_methods(cls)

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._version = 0
        self._init_empty()
        self._use_buffer(self._new_buffer(capacity), capacity)
        for name in self.OBJECTS:
            setattr(self, name, self._new_objects(capacity))

    def _size(self) -> int:
        return self._n

    @property
    def n(self) -> int:
        """Rows in use."""
        return self._n

    @property
    def allocated(self) -> int:
        """Rows that fit into the buffer."""
        return self._allocated

    @property
    def version(self) -> int:
        """Count of the changes that add, remove or move rows."""
        return self._version

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """The one buffer under all columns but those of objects."""
        return self._buffer

    @abstractmethod
    def _bind_columns(self) -> None:
        """Make the views of the buffer that are the columns; O(1)."""

    def _column_view(self, number: int) -> NDArray[Any]:
        """Return a column of the buffer, shape (allocated, *shape); O(1)."""
        column, rows = self.LAYOUT[number], self._allocated
        # In one step: a slice, a view of it and a shape take four times as long.
        shape = (rows, *column.shape)
        return np.ndarray(shape, column.dtype, self._buffer, column.bytes_before * rows)

    def _item_view(self, number: int) -> NDArray[Any]:
        """Return a column of shaped cells as one opaque item per row; O(1)."""
        column, rows = self.LAYOUT[number], self._allocated
        kind = item_type(column.nbytes)
        return np.ndarray(rows, kind, self._buffer, column.bytes_before * rows)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column; of rows that may move."""
        raise NotImplementedError

    def _assign_values(self, name: str, bound: int, cells: NDArray[Any]) -> None:
        """Write checked values that broadcast to the rows before a bound; O(n)."""
        getattr(self, f"_{name}_column")[:bound] = cells

    def _write_values(self, name: str, rows: RowArray, cells: NDArray[Any]) -> None:
        """Write checked values that broadcast to these distinct rows; O(k)."""
        getattr(self, f"_{name}_column")[rows] = cells

    def _init_empty(self) -> None:
        """Set the policies' state to that without rows."""

    def _use_buffer(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        self._buffer = buffer
        self._allocated = capacity
        self._bind_columns()
        self._forget_views()

    def _forget_views(self) -> None:
        """Drop views of the buffer that are kept beside the columns."""

    def drop_row_caches(self) -> None:
        """Drop caches of which rows are where."""

    def held_rows(self) -> int:
        """Return the number of leading rows that hold anything."""
        return self._n

    def _held_rows_of(self, column: str) -> int:
        """Return the number of a column's leading cells that hold anything."""
        count: int = getattr(self, self._COLUMN_LENGTHS.get(column, "_n"))
        return count

    def _used_rows(self) -> RowArray:
        """Return all rows in use, ascending."""
        return np.arange(self._n)

    def _used_among(self, rows: RowArray) -> RowArray:
        """Return those of k rows that are in use; O(k)."""
        return rows[rows < self._n]

    def capacity_for(self, count: int) -> int:
        """Return the capacity that `count` more instances need."""
        return self._n + count

    def _check_room(self, rows: int) -> None:
        """Raise CapacityError for more rows than there can ever be."""
        round_up_rows(rows)

    def _new_buffer(self, capacity: int) -> NDArray[np.uint8]:
        return allocate(self.ROW_BYTES, capacity)

    def _new_objects(self, capacity: int) -> NDArray[np.object_]:
        return np.full(capacity, None, np.object_)

    def _grow(self, rows: int, borrowed: tuple[object, ...] = ()) -> None:
        """Make room for `rows` rows in all; O(n). `borrowed`: the caller's arguments."""
        self._allocate(grown_capacity(self._allocated, rows), borrowed)

    def reserve_rows(
        self, rows: int, borrowed: tuple[object, ...] = (), is_counted: bool = False
    ) -> None:
        """Make room for `rows` rows and no more."""
        if rows > self._allocated:
            self._allocate(round_up_rows(rows), borrowed, is_counted)

    def _shrink(self, is_counted: bool = False) -> None:
        """Give back the memory of rows not in use."""
        capacity = round_up_rows(self.held_rows())
        if capacity < self._allocated:
            self._allocate(capacity, (), is_counted)

    def _nbytes(self) -> int:
        """Return the bytes held: the buffer, and objects' columns without the objects."""
        objects: int = sum(getattr(self, name).nbytes for name in self.OBJECTS)
        return self._buffer.nbytes + objects

    def _allocate(
        self, capacity: int, borrowed: tuple[object, ...] = (), is_counted: bool = False
    ) -> None:
        """Move the rows into a new buffer; O(n). Whatever raises leaves them where they were.

        `is_counted`: whether that is a change of its own.
        """
        buffer = self._new_buffer(capacity)
        old, held = self._buffer, self._allocated
        copy_rows(self.LAYOUT, old, held, buffer, capacity, self.held_rows())
        columns_before = [(name, getattr(self, name)) for name in self.OBJECTS]
        objects = [(n, self._copied_objects(n, capacity)) for n in self.OBJECTS]
        version = self._version
        try:
            for name, column in objects:
                setattr(self, name, column)
            self._use_buffer(buffer, capacity)
            warn_if_viewed(old, self.MANAGER, borrowed)
            self._version = version + is_counted
        except BaseException:  # no memory, or the warning is an error by a filter
            for name, column in columns_before:
                setattr(self, name, column)
            self._use_buffer(old, held)
            self._version = version
            raise

    def _copied_objects(self, name: str, capacity: int) -> NDArray[np.object_]:
        column = self._new_objects(capacity)
        column[: self._n] = getattr(self, name)[: self._n]
        return column

    def objects_of(self, rows: RowArray | list[int]) -> list[NDArray[np.object_]]:
        """Return the objects in rows about to be removed. The caller keeps them until all is done,
        for the end of an object may run code that changes the rows, too.
        """
        return [getattr(self, name)[rows] for name in self.OBJECTS]

    def clear_objects(self, removed: RowArray) -> None:
        """Drop the objects of removed rows, or of as many rows behind the last one."""
        self.empty_objects(slice(self._n, self._n + len(removed)))

    def empty_objects(self, rows: RowArray | slice) -> None:
        for name in self.OBJECTS:
            getattr(self, name)[rows] = None

    def saved_numbers(self) -> dict[str, int]:
        """Return the numbers saved beside the columns."""
        names = saved_number_names(type(self))  # type: ignore[arg-type]  # classes are hashable
        return {name: getattr(self, name) for name in names}

    def saved_columns(self) -> dict[str, NDArray[Any]]:
        """Return views of the cells of every column that hold anything, by name."""
        return {
            column.name: self._column_view(number)[: self._held_rows_of(column.name)]
            for number, column in enumerate(self.LAYOUT)
        }

    def saved_objects(self) -> dict[str, NDArray[np.object_]]:
        """Return views of the columns of Python objects, by field."""
        n = self._n
        return {field_of(name): getattr(self, name)[:n] for name in self.OBJECTS}

    def without_holes(self, columns: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        """Return saved columns with zeros in rows that are not in use."""
        return columns

    def subtables(self) -> dict[str, Rows]:
        """Return other rows that belong to these, by name."""
        return {}

    def lie_smallest(self, rows: int, buffer: NDArray[np.uint8] | None) -> bool:
        """Take a buffer of the smallest capacity for `rows` rows: `buffer`, or a new one.

        Returns True if it is `buffer`, which has the rows already.
        """
        capacity = round_up_rows(rows)
        new = self._new_buffer(capacity) if buffer is None else buffer
        self._use_buffer(new, capacity)
        return buffer is not None

    def _restore(self) -> None:
        """Compute the state that is not saved from columns and numbers; O(n)."""

    def take_columns(self, held: Callable[[Column], NDArray[Any]]) -> None:
        """Copy the held cells of each column into its first rows."""
        for number, column in enumerate(self.LAYOUT):
            cells = held(column)
            self._column_view(number)[: len(cells)] = cells

    def take_objects(self, columns: Mapping[str, NDArray[np.object_]]) -> None:
        for name in self.OBJECTS:
            column = self._new_objects(self._allocated)
            column[: self._n] = columns[field_of(name)]
            setattr(self, name, column)

    def __getstate__(self) -> dict[str, Any]:
        """Return the rows in use, for pickle and deepcopy."""
        return {
            "allocated": self._allocated,
            "numbers": self.saved_numbers(),
            "columns": self.saved_columns(),
            "objects": self.saved_objects(),
            "parts": self.subtables(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        Rows.__init__(self, state["allocated"])
        for name, number in state["numbers"].items():
            setattr(self, name, number)
        self.take_columns(lambda column: state["columns"][column.name])
        self.take_objects(state["objects"])
        for name, rows in state["parts"].items():
            setattr(self, f"_{name}", rows)
        self._restore()

    def __copy__(self) -> Self:
        """Return a copy, with copies of subtables."""
        parts = {name: rows.__copy__() for name, rows in self.subtables().items()}
        twin = type(self).__new__(type(self))
        twin.__setstate__({**self.__getstate__(), "parts": parts})
        return twin


def field_of(attribute: str) -> str:
    """Return the field that a column's attribute is of."""
    return attribute.removeprefix("_").removesuffix("_column")


class OwnedRows(Rows):
    """Rows that belong to entities."""

    __slots__ = NO_SLOTS
    _entity_column: EntityArray
    _entity_cells: memoryview[Entity]

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,); read-only, 0 where there is no instance."""
        column = self._entity_column[: self._n]
        column.flags.writeable = False
        return column


def used_rows(rows: Rows) -> RowArray:
    """Return all rows in use, ascending; O(n)."""
    return rows._used_rows()


def used_among(rows: Rows, numbers: RowArray) -> RowArray:
    """Return those of k row numbers that are in use; O(k)."""
    return rows._used_among(numbers)


def owner_column(rows: OwnedRows) -> EntityArray:
    """Return the owners in all rows, shape (allocated,), those not in use among them; O(1)."""
    return rows._entity_column


class HotColumns(ColumnsBase):
    """Columns of fields without tags, which are all `hot`."""

    __slots__ = ()

    def tagged(self, tag: Literal["hot"], /) -> Any:
        """Return the columns, as a NamedTuple; ValueError for another tag, which none bears."""
        component = type(self).__name__.removesuffix("Data")
        if tag != "hot":
            raise ValueError(f"{component} has no tag {tag!r}; it has hot")
        names = tuple(field.name for field in self.FIELDS)
        return _tuple_of(component, names)(*(getattr(self, name) for name in names))


@cache
def _tuple_of(component: str, names: tuple[str, ...]) -> Any:
    return namedtuple(f"{component}HotColumns", names)


class LeadingRows(ColumnsBase):
    """The columns of the rows before a boundary; the generated class has the fields."""

    __slots__ = ()

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    def _size(self) -> int:
        return self.n
