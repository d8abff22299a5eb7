"""What other libraries read as an Arrow table: columns, and what queries find."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from ..handles import RowArray


class ArrowStream(Protocol):
    """A table of another library: of Arrow, polars, pandas, duckdb and others."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


GivenTable: TypeAlias = ArrowStream | Mapping[str, Any]
"""What creations take columns from."""


class ArrowTable:
    """Something that Arrow sees as a table, wherever one is taken: polars, duckdb, pandas.

    Numbers, enums, bytes and lists of them are views, good as long as those of `data` are; bools
    and text are copies.
    """

    __slots__ = ()

    @abstractmethod
    def _arrow_schema(self, flat: bool) -> Any:
        """Return the types of the columns."""

    @abstractmethod
    def _arrow_batches(self, copy: bool, flat: bool) -> Iterator[Any]:
        """Yield the rows, some at a time."""

    def __arrow_c_schema__(self) -> object:
        """Return the types of the columns as a capsule, for other libraries; O(columns)."""
        return self._arrow_schema(False).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the columns as a capsule, for other libraries: what `to_arrow` returns."""
        from .tables import stream

        return stream(self, requested_schema)

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
        from .tables import one_batch

        return one_batch(self, copy, flat)


class ArrowColumns(ArrowTable):
    """The columns of a manager, of its first rows, or of a chunk: the owner, then the fields as
    the schema orders them; no objects."""

    __slots__ = ()

    @abstractmethod
    def _shown_rows(self) -> slice | RowArray:
        """Return the rows that a table has."""

    def _arrow_schema(self, flat: bool) -> Any:
        from .tables import table_schema

        kind: Any = type(self)
        return table_schema(kind, flat)

    def _arrow_batches(self, copy: bool, flat: bool) -> Iterator[Any]:
        from .tables import record_batch

        yield record_batch(self, copy, flat)
