"""The rows of one archetype, packed: all its chunks are full but the last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..columns.buffers import put_cells
from ..errors import CapacityError
from ..handles import NIL, EntityArray, RowArray
from ..placement import fill
from ..typed import NamedTuple
from .chunks import ChunkBase, ChunkLayout, ChunkPool

ChunkRun = tuple[Any, slice | RowArray, slice]
"""A chunk, some of its rows, and their part of the whole."""


class Cut(NamedTuple):
    """What moves when rows go."""

    kept: int
    """How many rows are left."""
    targets: list[ChunkRun]
    items: list[NDArray[Any]]
    """By column: what moves into the holes."""
    moved: EntityArray
    """Whose rows move."""
    positions: RowArray
    """Where to."""


class ArchetypeEdge:
    """The way to the archetype with one component more or less."""

    __slots__ = ("archetype", "shared")

    def __init__(self, archetype: int, shared: tuple[tuple[int, int], ...]) -> None:
        self.archetype = archetype
        self.shared = shared
        """The columns that both have: which of the one, which of the other."""


class Archetype:
    """All rows of one signature; row k of chunk c is position `c * capacity + k`."""

    __slots__ = ("_pool", "capacity", "chunks", "edges", "layout", "n")

    def __init__(self, layout: ChunkLayout, pool: ChunkPool) -> None:
        self._pool = pool
        self.layout = layout
        self.capacity = layout.capacity
        self.n = 0
        self.chunks: list[Any] = []
        self.edges: dict[int, ArchetypeEdge] = {}

    def has(self, component: int) -> bool:
        """Whether the rows have a component."""
        return bool(self.layout.bits >> component & 1)

    def used(self) -> list[Any]:
        """The chunks that have rows."""
        return self.chunks[: -(-self.n // self.capacity)]

    def reserve(self, rows: int) -> None:
        """Have chunks for so many rows in all: all that can fail in what comes then."""
        if rows >= NIL:
            raise CapacityError(f"{rows} rows are more than an archetype can number")
        while len(self.chunks) * self.capacity < rows:
            self.chunks.append(self._pool.take(self.layout))

    def trim(self) -> None:
        """Give back the chunks without rows."""
        kept = -(-self.n // self.capacity)
        while len(self.chunks) > kept:
            self._pool.give(self.chunks.pop())

    # --- one row -----------------------------------------------------------------------

    def at(self, position: int) -> tuple[ChunkBase, int]:
        """Return a position's chunk and row; O(1)."""
        number, row = divmod(position, self.capacity)
        return self.chunks[number], row

    def push(self, entity: int) -> tuple[ChunkBase, int]:
        """Append a row, which only has its owner yet, to chunks with room for it; O(1)."""
        number, row = divmod(self.n, self.capacity)
        chunk: ChunkBase = self.chunks[number]
        chunk._cells[0][row] = entity
        chunk._rows.n = row + 1
        self.n += 1
        return chunk, row

    def pull(self, position: int) -> int:
        """Remove a row and return whose row moved there from the end, or 0; O(columns)."""
        last = self.n - 1
        chunk, row = self.at(last)
        moved = 0
        if position != last:
            hole, place = self.at(position)
            for source, target in zip(chunk._cells, hole._cells, strict=True):
                target[place] = source[row]
            moved = hole._cells[0][place]
        for column in self.layout.objects:
            chunk._columns[column][row] = None
        chunk._rows.n = row
        self.n = last
        if row == 0:
            self.trim()
        return moved

    # --- many rows ---------------------------------------------------------------------

    def extend(self, entities: EntityArray) -> None:
        """Append a row for each entity, of which only the owners are written."""
        start, end = self.n, self.n + len(entities)
        for chunk, rows, part in self._spans(start, end):
            chunk._columns[0][rows] = entities[part]
            chunk._rows.n = rows.stop
        self.n = end

    def write(self, column: int, start: int, values: NDArray[Any]) -> None:
        """Fill a column from a position on: with one value per row, or with the same for all."""
        count = self.n - start
        each = values.ndim > len(self.layout.places[column].column.shape)
        each = each and len(values) == count
        for chunk, rows, part in self._spans(start, self.n):
            given = values[part] if each else values
            if chunk._columns[column].ndim > 1:
                put_cells(chunk._columns[column], rows, given)
            else:
                chunk._columns[column][rows] = given

    def take(self, column: int, count: int, runs: list[ChunkRun]) -> NDArray[Any]:
        """Return the cells of `count` rows, one item each; O(k)."""
        items = np.empty(count, self.layout.places[column].item)
        for chunk, rows, part in runs:
            if isinstance(rows, slice):
                items[part] = chunk._items[column][rows]
            else:
                chunk._items[column].take(rows, out=items[part], mode="clip")
        return items

    def paste(self, column: int, start: int, items: NDArray[Any]) -> None:
        """Fill a column from a position on with items of another archetype's."""
        for chunk, rows, part in self._spans(start, self.n):
            chunk._items[column][rows] = items[part]

    def plan_cut(self, gone: RowArray) -> Cut:
        """Find out what moves when the rows at ascending positions go; O(k).

        The last rows move into the holes, ascending into ascending.
        """
        src, dst = fill(gone, self.n)
        sources, targets = self.runs(src), self.runs(dst)
        count = len(self.layout.places) if len(src) else 0
        items = [self.take(column, len(src), sources) for column in range(count)]
        moved = items[0] if items else np.empty(0, np.uint64)
        return Cut(self.n - len(gone), targets, items, moved, dst)

    def cut_out(self, cut: Cut) -> None:
        """Remove rows as planned."""
        for column, items in enumerate(cut.items):
            for chunk, rows, part in cut.targets:
                chunk._items[column][rows] = items[part]
        for chunk, rows, _ in self._spans(cut.kept, self.n):
            for column in self.layout.objects:
                chunk._columns[column][rows] = None
            chunk._rows.n = rows.start
        self.n = cut.kept
        self.trim()

    def whole(self, column: int) -> NDArray[Any]:
        """Return a copy of a column of all rows, shape (n, *shape)."""
        place = self.layout.places[column].column
        cells = np.empty((self.n, *place.shape), place.dtype)
        for chunk, rows, part in self._spans(0, self.n):
            cells[part] = chunk._columns[column][rows]
        return cells

    def _spans(self, start: int, end: int) -> Iterator[tuple[Any, slice, slice]]:
        """Yield (chunk, its rows, their part of the whole) for the positions from start to end."""
        position = start
        while position < end:
            number, row = divmod(position, self.capacity)
            count = min(self.capacity - row, end - position)
            part = slice(position - start, position - start + count)
            yield self.chunks[number], slice(row, row + count), part
            position += count

    def runs(self, positions: RowArray) -> list[ChunkRun]:
        """Return ascending positions chunk by chunk."""
        if len(positions) == 0:
            return []
        first, last = (int(positions[k]) // self.capacity for k in (0, -1))
        starts = np.arange(first, last + 2) * self.capacity
        bounds = positions.searchsorted(starts)
        found: list[ChunkRun] = []
        for k in (bounds[1:] > bounds[:-1]).nonzero()[0].tolist():
            part = slice(int(bounds[k]), int(bounds[k + 1]))
            rows = positions[part] - int(starts[k])
            low, high = int(rows[0]), int(rows[-1]) + 1
            dense = high - low == len(rows)
            found.append(
                (self.chunks[first + k], slice(low, high) if dense else rows, part)
            )
        return found
