"""Chunks: buffers of one size, each with the rows of one archetype, column behind column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..columns.buffers import cells, items, unfilled
from ..handles import EntityArray
from ..reprs import count_text, list_text
from .chunk_layout import ChunkColumns, ChunkLayout, ChunkPlace, RowCount


class ChunkParts(dict[int, Any]):
    """The columns of a chunk by component number, made when they are first asked for."""

    __slots__ = ("_columns", "_layout", "_rows")

    def __init__(
        self, layout: ChunkLayout, rows: RowCount, columns: Sequence[NDArray[Any]]
    ) -> None:
        self._layout = layout
        self._rows = rows
        self._columns = columns

    def __missing__(self, component: int) -> ChunkColumns:
        part = self._layout.components.get(component)
        if part is None:
            names = (part._ROW.__name__ for part in self._layout.components.values())
            raise AttributeError(f"the rows of this chunk have {', '.join(names)}")
        start = self._layout.starts[component]
        found = part(self._rows, self._columns[start : start + len(part.LAYOUT)])
        self[component] = found
        return found


class ChunkBase:
    """One buffer with rows of one archetype; the generated class adds the components.

    Its rows, and views of them, are good until the next structural change.
    """

    __slots__ = (
        "_address",
        "_buffer",
        "_cells",
        "_columns",
        "_items",
        "_layout",
        "_parts",
        "_rows",
    )

    def __init__(self, layout: ChunkLayout, buffer: NDArray[np.uint8]) -> None:
        self._layout = layout
        self._buffer = buffer
        self._address = int(buffer.__array_interface__["data"][0])
        self._rows = RowCount()
        capacity = layout.capacity
        columns = [_cut_chunk(buffer, place, capacity) for place in layout.places]
        self._columns: list[NDArray[Any]] = columns
        # `_items` for many rows, `_cells` for one: the fastest way to copy a cell as it is.
        self._items: list[NDArray[Any]] = [
            items(column) if column.ndim > 1 else column for column in columns
        ]
        self._cells: list[Any] = [
            item if item.dtype.kind in "SVO" else cells(item) for item in self._items
        ]
        self._parts = ChunkParts(layout, self._rows, columns)

    def __repr__(self) -> str:
        rows = f"{count_text(self._rows.n, 'row')}, room for {self._layout.capacity}"
        names = list_text(row.__name__ for row in self.components)
        return f"<{type(self).__name__}: {rows}, of {names}>"

    def __len__(self) -> int:
        """Return the number of rows; O(1)."""
        return self._rows.n

    @property
    def n(self) -> int:
        """Rows in use."""
        return self._rows.n

    @property
    def capacity(self) -> int:
        """Rows that fit into the chunk."""
        return self._layout.capacity

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """The one buffer that all columns but objects are cut from."""
        return self._buffer

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,); read-only."""
        column = self._columns[0][: self._rows.n]
        column.flags.writeable = False
        return column

    @property
    def components(self) -> tuple[type[tuple[Any, ...]], ...]:
        """The row classes of the components that each row has."""
        return tuple(part._ROW for part in self._layout.components.values())

    def has(self, component: type[tuple[Any, ...]], /) -> bool:
        """Return whether the rows have a component, given by its row class."""
        return component in self.components


def _cut_chunk(
    buffer: NDArray[np.uint8], place: ChunkPlace, capacity: int
) -> NDArray[Any]:
    column = place.column
    if place.offset < 0:
        return np.full(capacity, None, np.object_)
    shape = (capacity, *column.shape)
    return np.ndarray(shape, column.dtype, buffer, place.offset)


class ChunkPool:
    """Makes the chunks of all archetypes, and keeps those that became empty for any of them."""

    __slots__ = ("_free", "_kind", "_size", "_taken")

    def __init__(self, kind: type[ChunkBase], size: int) -> None:
        self._kind = kind
        self._size = size
        self._free: list[ChunkBase] = []
        self._taken = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all chunks, the empty ones included."""
        return self._size * (self._taken + len(self._free))

    def take(self, layout: ChunkLayout) -> Any:
        """Return an empty chunk: an old one of this archetype or of another, or a new one."""
        if self._free:
            chunk = self._free.pop()
            if chunk._layout is not layout:
                chunk = self._kind(layout, chunk._buffer)
        else:
            chunk = self._kind(layout, unfilled(self._size))
        self._taken += 1
        return chunk

    def give(self, chunk: ChunkBase) -> None:
        """Take an empty chunk back."""
        self._taken -= 1
        self._free.append(chunk)

    def clear(self) -> None:
        """Give the memory of empty chunks back to the system."""
        self._free.clear()
