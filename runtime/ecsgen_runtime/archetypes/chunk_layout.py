"""How the chunks of an archetype are laid out: which columns, from which byte on, how many rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ..arrow.columns import ArrowColumns
from ..columns.buffers import CACHE_LINE, Column
from ..columns.field_names import known_fields
from ..columns.texts import TextColumns
from ..convert.base import FieldTable
from ..reprs import columns_repr
from ..typed import NamedTuple

_OWNER: Final = Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0)

_BEFORE: Final = -1
"""The number of a component, so to speak, that has the owners' column."""


class RowCount:
    """How many rows of a chunk are in use: known to the chunk and to all its columns."""

    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0


class ChunkColumns(TextColumns, ArrowColumns):
    """The columns of one component in one chunk; a generated class for each adds the fields."""

    __slots__ = ("_rows",)

    _ROW: ClassVar[type[tuple[Any, ...]]]
    _CONVERTERS: ClassVar[FieldTable] = {}
    LAYOUT: ClassVar[tuple[Column, ...]]

    _rows: RowCount
    _one: ClassVar[Callable[..., tuple[Any, ...]]]
    """Checks the fields of one new row."""

    _many: ClassVar[Callable[..., tuple[NDArray[Any], ...]]]
    """Checks fields for so many new rows and returns an array for each column."""

    def __init__(self, rows: RowCount, columns: Sequence[NDArray[Any]]) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        return columns_repr(self, self._rows.n)

    def _repr_html_(self) -> str:
        """Return a table of the first and last rows, for notebooks."""
        from ..html_tables import columns_table  # for notebooks alone

        return columns_table(self, self._rows.n)

    def _shown_rows(self) -> slice:
        return slice(0, self._rows.n)

    @classmethod
    def _some(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Check values for some fields of a row."""
        known = known_fields(cls._ROW, fields).items()
        return {name: cls._CONVERTERS[name][0].one(value) for name, value in known}

    def _put(self, row: int, values: tuple[Any, ...]) -> None:
        """Write what `_one` returned to a row."""
        raise NotImplementedError

    def _set(self, row: int, values: dict[str, Any]) -> None:
        """Write what `_some` returned to a row."""
        raise NotImplementedError

    def _row(self, row: int) -> Any:
        """Return a copy of a row."""
        raise NotImplementedError


class ChunkPlace(NamedTuple):
    """Where one column lies in the chunks of an archetype."""

    column: Column
    offset: int
    """Its first byte; -1 for objects, which lie beside the buffer."""
    item: np.dtype[Any]
    """One cell as one opaque item, which moves in half the time."""


class ChunkLayout:
    """What the chunks of one archetype look like: the owner, then each component's columns."""

    __slots__ = ("bits", "capacity", "components", "objects", "places", "starts")

    def __init__(
        self, bits: int, parts: Sequence[type[ChunkColumns]], size: int
    ) -> None:
        self.bits = bits
        self.components = {k: part for k, part in enumerate(parts) if bits >> k & 1}
        self.starts: dict[int, int] = {_BEFORE: 0}
        columns = [_OWNER]
        for component, part in self.components.items():
            self.starts[component] = len(columns)
            columns += part.LAYOUT
        self.capacity = _rows_in(size, columns)
        self.places = _placed(columns, self.capacity)
        self.objects = tuple(k for k, p in enumerate(self.places) if p.offset < 0)


def _rows_in(size: int, columns: Sequence[Column]) -> int:
    """Return how many rows fit into a chunk, each column starting on a cache line."""
    rows = size // sum(column.nbytes for column in columns)
    while sum(_whole_lines(rows * column.nbytes) for column in columns) > size:
        rows -= 1
    return rows


def _placed(columns: Sequence[Column], capacity: int) -> tuple[ChunkPlace, ...]:
    places = []
    offset = 0
    for column in columns:
        is_object = column.dtype.hasobject
        item = column.dtype
        if column.shape:
            word = column.nbytes in (1, 2, 4, 8)
            item = np.dtype(f"{'u' if word else 'V'}{column.nbytes}")
        places.append(ChunkPlace(column, -1 if is_object else offset, item))
        offset += _whole_lines(capacity * column.nbytes)
    return tuple(places)


def _whole_lines(nbytes: int) -> int:
    return -(-nbytes // CACHE_LINE) * CACHE_LINE
