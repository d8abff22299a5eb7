"""Columns of a query: gathered from the rows of its entities, scattered when assigned to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from opcode import opmap
from sys import _getframe
from types import FrameType
from typing import Any, Final, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ...base.handles import NIL, RowArray
from ...base.text import format_list
from ...tables.buffers import is_same_view, item_view, put_cells
from ...tables.placement import rows_to_array
from .join_rows import JoinRows
from .query import QueryJoin

# A reader may keep cells, so it gets a copy. `q.place.at += v`, which reads, adds and assigns,
# needs no copy, nor does `q.place.speed * dt`: over large columns a copy would take longer than
# the operation. The instruction of the reader, and the next ones, tell these cases apart.

_IS_KNOWN: Final = sys.implementation.name == "cpython" and (3, 11) <= sys.version_info[:2] <= (
    3,
    14,
)
"""True if this Python compiles augmented assignments to what `is_augmented` recognises."""

LOAD: Final = opmap.get("LOAD_ATTR", -1) if _IS_KNOWN else -1
_COPY: Final = opmap.get("COPY", -1)
_EXTENDED: Final = opmap.get("EXTENDED_ARG", -1)
BEFORE_AUGMENTED: Final = frozenset((_COPY, _EXTENDED))
"""Opcodes before the load of an augmented assignment; after others a load is plain."""


_CACHE: Final = opmap.get("CACHE", 0)
_BINARY: Final = opmap.get("BINARY_OP", -1)
_SUBSCRIPT: Final = 26
"""Argument of a BINARY_OP that is `x[y]`, since Python 3.14: it returns a view of x."""
_LOADS: Final = frozenset(
    opmap[name]
    for name in (
        *("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_FAST", "LOAD_FAST_BORROW"),
        *("LOAD_FAST_CHECK", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"),
    )
    if name in opmap
)
"""Opcodes that push one value and run no other code."""


def is_augmented(code: bytes, at: int) -> bool:
    """Return True if the value loaded at an instruction is changed by an operator and assigned:
    only `x.a += v` loads an attribute of a copy of the top of the stack. O(1)."""
    at -= 2
    while code[at] == _EXTENDED:
        at -= 2
    return code[at] == _COPY and code[at + 1] == 1


def is_operand(frame: FrameType) -> bool:
    """Return True if the plain reader at a frame is an operator, which makes a new array: the next
    instruction, or the one after a constant or a variable. O(1)."""
    code = frame.f_code.co_code
    at = _next(code, frame.f_lasti)
    if code[at] in _LOADS:
        at = _next(code, at)
    return code[at] == _BINARY and code[at + 1] != _SUBSCRIPT


def _next(code: bytes, at: int) -> int:
    at += 2
    while code[at] == _CACHE or code[at] == _EXTENDED:
        at += 2
    return at


class ReadCells(np.ndarray[Any, np.dtype[Any]]):
    """Read-only cells for an unknown reader: `+=` makes new cells, which may then be assigned."""

    __slots__ = ()

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return what a function made of these cells as an ordinary array."""
        return array[()] if array.ndim == 0 else array


def _with_a_copy(name: str) -> Callable[[ReadCells, Any], Any]:
    in_place = getattr(np.ndarray, name)

    def operator(self: ReadCells, other: Any) -> Any:
        return in_place(self if self.flags.writeable else np.array(self), other)

    return operator


for _name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow"):
    setattr(ReadCells, f"__i{_name}__", _with_a_copy(f"__i{_name}__"))
for _name in ("lshift", "rshift", "and", "or", "xor"):
    setattr(ReadCells, f"__i{_name}__", _with_a_copy(f"__i{_name}__"))


_Cell = TypeVar("_Cell", bound=np.generic)

_LARGE: Final = 1 << 14
"""Bytes above which a copy takes longer than `is_operand`."""


class QueryColumns:
    """The columns of one component in the rows of a query: one cell per entity. Reading a column
    returns a read-only copy; assign to it to write."""

    __slots__ = ("_join", "_place")

    def __init__(self, join: QueryJoin, number: int) -> None:
        self._join = join
        self._place = number

    def __repr__(self) -> str:
        fields = vars(type(self)).items()
        names = format_list(
            name for name, attribute in fields if isinstance(attribute, QueryColumn)
        )
        return f"<{type(self).__name__}: {names}>"


class QueryColumn(Generic[_Cell]):
    """A field among `QueryColumns`; where an optional component is absent, its default.

    Reading returns a read-only copy; changes are written by assigning (`=`, `+=`), which checks
    values.
    """

    __slots__ = ("_attribute", "_default", "_field", "_name")

    def __init__(self, name: str, field: Any, default: object) -> None:
        self._name = name
        self._attribute = f"_{name}_column"
        self._field = field
        self._default = default

    @overload
    def __get__(self, view: None, owner: type[Any]) -> Self: ...

    @overload
    def __get__(self, view: QueryColumns, owner: type[Any]) -> NDArray[_Cell]: ...

    def __get__(self, view: QueryColumns | None, owner: type[Any]) -> Self | NDArray[_Cell]:
        if view is None:
            return self
        frame = _getframe(1)
        code, at = frame.f_code.co_code, frame.f_lasti
        if code[at] == LOAD and code[at - 2] not in BEFORE_AUGMENTED:
            cells = self._read(view, frame)  # most readers, without a further call
        else:
            # else the reader is compiled code, `getattr`, or an unknown Python
            is_known = code[at] == LOAD
            if is_known and is_augmented(code, at):
                return self._own(view)
            cells = self._read(view)
            if not is_known:
                cells = self._for_unknown(cells)
        cells.setflags(False)  # type: ignore[call-arg]  # `write`, in half the time
        return cells

    def _for_unknown(self, cells: NDArray[_Cell]) -> NDArray[_Cell]:
        """Return cells for a reader that may change them in place."""
        return cells.view(ReadCells)

    def _own(self, view: QueryColumns) -> NDArray[_Cell]:
        """Return cells to be written and then assigned: a view of the column if possible."""
        rows = view._join.match().rows[view._place]
        if isinstance(rows, slice) and self._field.accepts_any_cell:
            column: NDArray[_Cell] = getattr(view._join.data[view._place], self._attribute)
            return column[rows]
        return self._read(view)

    def _read(self, view: QueryColumns, frame: FrameType | None = None) -> NDArray[_Cell]:
        """Return the cells: a copy unless the reader's frame shows that it needs none."""
        join, number = view._join, view._place
        member = join.match().members[number]
        column: NDArray[_Cell] = getattr(join.data[number], self._attribute)
        rows = member.rows
        if isinstance(rows, slice):
            cells = column[rows]
            if frame is not None and cells.nbytes > _LARGE and is_operand(frame):
                return cells
            return cells.copy()
        if member.has_nil:
            return self._with_defaults(column, rows)
        return member.gather(column)

    def _with_defaults(self, column: NDArray[_Cell], rows: RowArray) -> NDArray[_Cell]:
        """Return the cells of the rows, and the field's default where a row is NIL."""
        there = (rows != NIL).nonzero()[0]
        cells = np.empty((len(rows), *column.shape[1:]), column.dtype)
        cells[...] = self._field.to_column(self._default, len(rows))
        cells[there] = column.take(rows.take(there), axis=0)
        return cells

    def __set__(self, view: QueryColumns, values: object) -> None:
        join, number = view._join, view._place
        match, data = join.match(), join.data[number]
        rows, buffer = match.rows[number], data.buffer
        if isinstance(rows, slice):
            if is_same_view(getattr(data, self._attribute)[rows], values):
                return
            buffer = None  # numpy itself copies what overlaps
        cells = self._field.to_column(values, match.count, buffer)
        # now: converting values may run code that moves the rows
        self._write(data, join.match().members[number], cells)

    def _write(self, data: Any, member: JoinRows, cells: NDArray[Any]) -> None:
        """Write checked values that broadcast to the rows; O(k)."""
        column, rows = getattr(data, self._attribute), member.rows
        _left = self._left(column, rows)
        if isinstance(rows, slice):
            column[rows] = cells
            return
        if member.has_nil:
            there = (rows != NIL).nonzero()[0]  # a random mask takes several times as long
            shape = (len(rows), *column.shape[1:])
            cells, rows = np.broadcast_to(cells, shape)[there], rows.take(there)
        scatter_cells(column, rows, cells)

    def _left(self, column: NDArray[Any], rows: slice | RowArray) -> object:
        """Return objects that are about to be replaced, whose end may run code; else None."""
        if not column.dtype.hasobject:
            return None
        if isinstance(rows, slice):
            return column[rows].copy()
        return column[rows[rows != NIL]]


def scatter_cells(column: NDArray[Any], rows: RowArray, values: NDArray[Any]) -> None:
    """Write checked values, which broadcast to the rows, to the rows' cells; O(k). Shaped cells are
    copied as one item each, in a tenth of the time."""
    if column.ndim == 1:
        column[rows] = values
        return
    cells = item_view(column)
    if values.shape != (len(rows), *column.shape[1:]):
        put_cells(column, rows, values)
    elif cells.dtype.kind == "V":
        np.put(cells, rows, item_view(np.ascontiguousarray(values)), mode="clip")
    else:
        cells[rows] = item_view(np.ascontiguousarray(values))


class UniqueQueryColumn(QueryColumn[_Cell]):
    """A unique field among `QueryColumns`."""

    __slots__ = ()

    def _own(self, view: QueryColumns) -> NDArray[_Cell]:
        return self._read(view)

    def _write(self, data: Any, member: JoinRows, values: NDArray[Any]) -> None:
        rows = rows_to_array(member.rows)
        cells = np.broadcast_to(values, len(rows))
        if member.has_nil:
            present = rows != NIL
            rows, cells = rows[present], cells[present]
        data._write_values(self._name, rows, cells)


class ComparableQueryColumn(QueryColumn[_Cell]):
    """A field of text or of an enum among `QueryColumns`: its cells compare with text."""

    __slots__ = ()

    def _for_unknown(self, cells: NDArray[_Cell]) -> NDArray[_Cell]:
        return cells

    def _read(self, view: QueryColumns, frame: FrameType | None = None) -> NDArray[_Cell]:
        cells: NDArray[_Cell] = self._field.comparable(super()._read(view, frame))
        return cells


class ComparableUniqueQueryColumn(ComparableQueryColumn[_Cell], UniqueQueryColumn[_Cell]):
    """A unique or indexed field of text or of an enum among `QueryColumns`."""

    __slots__ = ()
