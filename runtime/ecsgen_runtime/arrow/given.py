"""Tables that creations are given: anything with an Arrow stream, or a mapping of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..columns.fields import unknown_field
from ..convert.arrays import gathered, is_array_like
from ..convert.base import Converter, FieldTable
from ..reprs import element_names
from .library import has_stream, is_column, pyarrow, refuse_nulls, table_hint
from .reading import named_numbers

_IGNORED: Final = "entity"
_OF_PANDAS: Final = "__index_level_"
"""What pandas calls the labels of rows that have no name."""


def table_columns(
    component: str,
    fields: FieldTable,
    table: object,
    count: int,
    buffer: NDArray[np.uint8],
) -> dict[str, Any]:
    """Return a table's columns by field, as bulk calls take them; that of `entity` is ignored.

    Arrow's are arrays that share no memory with `buffer`, which may have to move.

    Raises:
        ImportError: an Arrow table, and no pyarrow.
        TypeError: neither a table nor a mapping, or a column that is no field.
        ValueError: an Arrow table of another length than `count`; a null; no member of a name.
    """
    columns = _columns_of(component, table, count)
    found: dict[str, Any] = {}
    for name, (field, _) in fields.items():
        if name in columns:
            column = _prepared(field, columns.pop(name))
            found[name] = _own_array(field, column, buffer)
            continue
        elements = element_names(name, field.shape)
        if elements and columns.keys() >= set(elements):
            parts = [_prepared(field, columns.pop(part)) for part in elements]
            found[name] = _joined(field, parts, count)
    if columns:
        raise unknown_field(component, next(iter(columns)), fields)
    return found


def _columns_of(component: str, table: object, count: int) -> dict[str, Any]:
    """Return the columns by name."""
    if isinstance(table, Mapping):
        return {name: column for name, column in table.items() if name != _IGNORED}
    if not has_stream(table):
        raise _no_table(component, table)
    library = pyarrow()
    try:
        given = library.table(table)
    except library.ArrowInvalid as error:  # a column has a stream as well
        raise _no_table(component, table) from error
    if given.num_rows != count:
        raise ValueError(f"{component}: a table of {given.num_rows} rows for {count}")
    names = _distinct(component, given.column_names)
    return {
        name: given.column(place)
        for place, name in enumerate(names)
        if name != _IGNORED and not name.startswith(_OF_PANDAS)
    }


def _no_table(component: str, given: object) -> TypeError:
    kind = f"{type(given).__name__}{table_hint(given)}"
    return TypeError(
        f"{component}: wanted an Arrow table or a mapping of columns, not {kind}"
    )


def _distinct(component: str, names: list[str]) -> list[str]:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ValueError(f"{component}: the table has two columns {name!r}")
    return names


def _prepared(field: Converter, column: Any) -> Any:
    """Return a column that a bulk call takes: with numbers for names, and objects in a list."""
    if field.dtype is None and hasattr(column, "to_pylist"):
        refuse_nulls(column, field.name)
        return column.to_pylist()
    if field.enum is not None and not is_column(type(column)):
        return named_numbers(field.name, field.enum, column)
    return column


def _own_array(field: Any, column: Any, buffer: NDArray[np.uint8]) -> Any:
    """Return a column of another library as an array, a copy of what lies in the buffer."""
    if field.dtype is None or not is_column(type(column)):
        return column
    array = gathered(column, 1 + len(field.shape), field.name, field)
    return array.copy() if np.may_share_memory(array, buffer) else array


def _joined(field: Any, parts: Iterable[Any], count: int) -> NDArray[Any]:
    """Return the columns of a field's elements as one."""
    cells = [_element_cells(field, part, count) for part in parts]
    return np.stack(cells, axis=1).reshape(count, *field.shape)


def _element_cells(field: Any, part: Any, count: int) -> NDArray[Any]:
    """Return the values of one element in each row."""
    if is_array_like(type(part)):
        cells = field._converted(gathered(part, 1, field.name, field))
    else:
        cells = np.array(field.cell(part), field.dtype)
    if cells.shape not in ((), (1,), (count,)):
        raise ValueError(f"{field.name}: wanted shape ({count},), not {cells.shape}")
    return np.broadcast_to(cells, count)
