"""Unique fields in a query's rows: what is assigned is checked before any of it is written."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..handles import NIL
from .columns import QueryColumn, QueryColumns
from .rows import QueryRows, as_array

_Cell = TypeVar("_Cell", bound=np.generic)


class UniqueQueryColumn(QueryColumn[_Cell]):
    """A unique field among `QueryColumns`."""

    __slots__ = ()

    def _own(self, view: QueryColumns) -> NDArray[_Cell]:
        return self._read(view)

    def __set__(self, view: QueryColumns, values: object) -> None:
        join, place = view._join, view._place
        found, data = join.match(), join.data[place]
        given = self._field.many(values, found.count, data._buffer)
        # now, for values may run code that moves the rows
        self._write(data, join.match().members[place], given)

    def _write(self, data: Any, member: QueryRows, given: NDArray[Any]) -> None:
        rows = as_array(member.rows)
        cells = np.broadcast_to(given, len(rows))
        if member.has_nil:
            present = rows != NIL
            rows, cells = rows[present], cells[present]
        data._write_values(self._name, rows, cells)
