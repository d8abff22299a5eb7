"""Arrow tables of columns: schemas, batches of rows, and streams of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from numpy.typing import NDArray

from .columns import ArrowColumns, ArrowTable
from .kinds import BadCellError
from .library import pyarrow
from .parts import TablePart, component_notes, table_parts


@cache
def table_schema(kind: Any, flat: bool) -> Any:
    """Return the schema of a class of columns."""
    parts = table_parts(kind, flat)
    fields = [part.arrow_field() for part in parts]
    return pyarrow().schema(fields, metadata=component_notes(kind, parts))


def record_batch(columns: ArrowColumns, copy: bool, flat: bool) -> Any:
    """Return the rows of columns; O(columns), and O(n) for each that is copied."""
    kind: Any = type(columns)
    rows = columns._shown_rows()
    cells: dict[str, NDArray[Any]] = {}
    for part in table_parts(kind, flat):
        if part.source not in cells:
            column = getattr(columns, part.source)
            cells[part.source] = column if isinstance(rows, slice) else column[rows]
    arrays = arrays_of(table_parts(kind, flat), cells, rows, copy)
    schema = table_schema(kind, flat)
    return pyarrow().RecordBatch.from_arrays(arrays, schema=schema)


def arrays_of(
    parts: tuple[TablePart, ...],
    cells: Mapping[str, NDArray[Any]],
    rows: slice | NDArray[Any],
    copy: bool,
) -> list[Any]:
    """Return an array for each part, of the cells of its source in these rows."""
    arrays = []
    for part in parts:
        try:
            arrays.append(part.array(cells[part.source], copy))
        except BadCellError as error:
            raise part.refused(error, rows) from None
    return arrays


def one_batch(table: ArrowTable, copy: bool, flat: bool) -> Any:
    """Return all rows of a table in one batch."""
    batches = list(table._arrow_batches(copy, flat))
    if len(batches) == 1:
        return batches[0]
    pa = pyarrow()
    if not batches:
        schema = table._arrow_schema(flat)
        none = [pa.array([], field.type) for field in schema]
        return pa.RecordBatch.from_arrays(none, schema=schema)
    return pa.concat_batches(batches)


def stream(table: ArrowTable, requested_schema: object) -> object:
    """Return a capsule with a table's rows."""
    schema = table._arrow_schema(False)
    batches = list(table._arrow_batches(False, False))
    reader = pyarrow().RecordBatchReader.from_batches(schema, batches)
    return reader.__arrow_c_stream__(requested_schema)
