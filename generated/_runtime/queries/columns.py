"""Columns of a query: gathered from the rows of its entities, scattered when assigned to."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ..columns.buffers import is_same_view, items, put_cells
from ..handles import NIL, RowArray
from ..reprs import list_text
from .join import QueryJoin

_Cell = TypeVar("_Cell", bound=np.generic)


class QueryColumns:
    """The columns of one component in the rows of a query: one cell per entity.

    A column is a view where the rows follow each other, else a copy: assign to it to write.
    """

    __slots__ = ("_join", "_place")

    def __init__(self, join: QueryJoin, place: int) -> None:
        self._join = join
        self._place = place

    def __repr__(self) -> str:
        fields = vars(type(self)).items()
        names = list_text(name for name, one in fields if isinstance(one, QueryColumn))
        return f"<{type(self).__name__}: {names}>"


class QueryColumn(Generic[_Cell]):
    """A field among `QueryColumns`; where an optional component is absent, its default.

    Reading gives a view where the rows follow each other, otherwise a copy: so changes
    are written by assigning (`=`, `+=`). What is assigned is checked as everywhere.
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

    def __get__(
        self, view: QueryColumns | None, owner: type[Any]
    ) -> Self | NDArray[_Cell]:
        return self if view is None else self._read(view)

    def _read(self, view: QueryColumns) -> NDArray[_Cell]:
        """Return the cells of the rows."""
        member = view._join.member(view._place)
        data = view._join.manager(view._place).data
        column: NDArray[_Cell] = getattr(data, self._attribute)
        rows = member.rows
        if isinstance(rows, slice):
            return column[rows]
        if not member.has_nil:
            return member.gather(column)
        absent = rows == NIL
        cells = np.empty((len(rows), *column.shape[1:]), column.dtype)
        cells[...] = self._field.many(self._default, len(rows))
        cells[~absent] = column.take(rows[~absent], axis=0)
        return cells

    def __set__(self, view: QueryColumns, values: object) -> None:
        member = view._join.member(view._place)
        data = view._join.manager(view._place).data
        column = getattr(data, self._attribute)
        rows = member.rows
        if isinstance(rows, slice):
            cells = column[rows]
            if not is_same_view(cells, values):
                cells[...] = self._field.many(values, len(cells))
            return
        given = self._field.many(values, len(rows), data._buffer)
        if member.has_nil:
            present = rows != NIL
            shape = (len(rows), *column.shape[1:])
            given, rows = np.broadcast_to(given, shape)[present], rows[present]
        scatter_cells(column, rows, given)


def scatter_cells(column: NDArray[Any], rows: RowArray, values: NDArray[Any]) -> None:
    """Write some rows' cells: checked values that broadcast to them; O(k).

    Shaped cells go as one item each, which takes a tenth of the time.
    """
    if column.ndim == 1:
        column[rows] = values
        return
    cells = items(column)
    if values.shape != (len(rows), *column.shape[1:]):
        put_cells(column, rows, values)
    elif cells.dtype.kind == "V":
        np.put(cells, rows, items(np.ascontiguousarray(values)), mode="clip")
    else:
        cells[rows] = items(np.ascontiguousarray(values))
