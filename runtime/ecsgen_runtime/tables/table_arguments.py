"""Tables that creations of many rows are given: mappings of columns, and Arrow's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..values import interchange
from ..values.array_coercion import is_array_like, to_array
from ..values.field_tables import unknown_field_error
from ..values.field_types import Converter, FieldTable
from .buffers import copied_if_view
from .html_reprs import element_names

_IGNORED: Final = "entity"
_OF_PANDAS: Final = "__index_level_"
"""Prefix of pandas' names for row labels that have no name."""


def table_columns(
    component: str, fields: FieldTable, table: object, count: int, buffer: NDArray[np.uint8]
) -> dict[str, Any]:
    """Return a table's columns by field, as bulk calls take them; that of `entity` is ignored.

    Arrow's are arrays that share no memory with `buffer`, which may have to move.

    Raises:
        ImportError: an Arrow table, and no pyarrow.
        TypeError: neither a table nor a mapping, or a column that is no field.
        ValueError: an Arrow table of another length than `count`; a null; no member of a name.
    """
    columns = _columns_of(component, table, count)
    converted: dict[str, Any] = {}
    for name, (field, _) in fields.items():
        if name in columns:
            column = _prepared(field, columns.pop(name))
            is_foreign = interchange.is_foreign_column(type(column))  # of another library
            if field.dtype is not None and is_foreign:
                array = to_array(column, 1 + len(field.shape), field.name, field)
                column = copied_if_view(array, buffer)
            converted[name] = column
            continue
        elements = element_names(name, field.shape)
        if elements and columns.keys() >= set(elements):
            parts = [_prepared(field, columns.pop(part)) for part in elements]
            converted[name] = _concatenated(field, parts, count)
    if columns:
        raise unknown_field_error(component, next(iter(columns)), fields)
    return converted


def _columns_of(component: str, table: object, count: int) -> dict[str, Any]:
    if isinstance(table, Mapping):
        return {name: column for name, column in table.items() if name != _IGNORED}
    if not interchange.has_stream(table):
        raise _no_table(component, table)
    library = interchange.require_pyarrow()
    try:
        arrow_table = library.table(table)
    except library.ArrowInvalid as error:  # a column has a stream as well
        raise _no_table(component, table) from error
    if arrow_table.num_rows != count:
        raise ValueError(f"{component}: a table of {arrow_table.num_rows} rows for {count}")
    names = arrow_table.column_names
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f"{component}: the table has two columns {name!r}")
    return {
        name: arrow_table.column(index)
        for index, name in enumerate(names)
        if name != _IGNORED and not name.startswith(_OF_PANDAS)
    }


def _no_table(component: str, table: object) -> TypeError:
    kind = f"{type(table).__name__}{interchange.table_hint(table)}"
    return TypeError(f"{component}: wanted an Arrow table or a mapping of columns, not {kind}")


def _prepared(field: Converter, column: Any) -> Any:
    """Return a column that a bulk call takes: with objects in a list."""
    is_list = field.dtype is None and interchange.is_object_column(type(column))
    return interchange.object_list(column, field.name) if is_list else column


def _concatenated(field: Any, parts: Iterable[Any], count: int) -> NDArray[Any]:
    cells = [_element_cells(field, part, count) for part in parts]
    return np.stack(cells, axis=1).reshape(count, *field.shape)


def _element_cells(field: Any, part: Any, count: int) -> NDArray[Any]:
    if is_array_like(type(part)):
        cells = field.convert_array(to_array(part, 1, field.name, field))
    else:
        cells = np.array(field.to_element(part), field.dtype)
    if cells.shape not in ((), (1,), (count,)):
        raise ValueError(f"{field.name}: wanted shape ({count},), not {cells.shape}")
    return np.broadcast_to(cells, count)
