"""Columns and queries as tables of Arrow, which other libraries read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from ..base.extensions import arrow
from ..base.handles import RowArray
from ..values.interchange import require_pyarrow


class ArrowExportable:
    """Something that Arrow sees as a table, wherever one is taken: polars, duckdb, pandas.

    Numbers, enums, bytes and lists of them are views, good as long as those of `data` are; bools
    and text are copies.
    """

    __slots__ = ()

    @abstractmethod
    def _arrow(self, copy: bool, flat: bool) -> tuple[Any, Iterator[Any]]:
        """Return the types of the columns, and what yields the rows, some at a time."""

    def __arrow_c_schema__(self) -> object:
        """Return the types of the columns as a capsule, for other libraries; O(columns)."""
        return self._arrow(False, False)[0].__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the columns as a capsule, for other libraries: what `to_arrow` returns."""
        pa = require_pyarrow()
        schema, batches = self._arrow(False, False)
        reader = pa.RecordBatchReader.from_batches(schema, [*batches])
        return reader.__arrow_c_stream__(requested_schema)

    def to_arrow(self, *, copy: bool = False, flat: bool = False) -> Any:
        """Return a pyarrow.RecordBatch; O(columns), and O(n) for each column that is copied.

        A view shows later writes, and is good until rows are added or removed; with `copy`
        nothing is shared. With `flat` there is a column for each element of a shape
        (`position_x`), copied, because pandas makes Python objects of lists.

        Raises:
            ImportError: there is no pyarrow.
            ValueError: a raw write left a number that no member of an enum has, or no UTF-8.
            OverflowError: a column of text has 2 GiB or more, which is Arrow's limit.
        """
        pa = require_pyarrow()
        schema, parts = self._arrow(copy, flat)
        batches = [*parts]
        if len(batches) == 1:
            return batches[0]
        if not batches:
            return pa.RecordBatch.from_pylist([], schema=schema)
        return pa.concat_batches(batches)


class ArrowExportableColumns(ArrowExportable):
    """The columns of a manager, of its first rows, or of a chunk: the owner, then the fields as
    the schema orders them; no objects."""

    __slots__ = ()

    @abstractmethod
    def shown_rows(self) -> slice | RowArray:
        """Return the rows that a table has."""

    def _arrow(self, copy: bool, flat: bool) -> tuple[Any, Iterator[Any]]:
        export = arrow()
        return export.table_schema(type(self), flat), export.record_batches(self, copy, flat)
