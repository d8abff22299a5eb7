"""Chunks: buffers of one size, each with the rows of one archetype, column behind column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...base.errors import CapacityError
from ...base.fast_typing import NamedTuple
from ...base.handles import NIL, EntityArray, RowArray
from ...base.text import format_count, format_list
from ...tables.buffers import (
    CACHE_LINE,
    Column,
    cell_view,
    item_type,
    item_view,
    put_cells,
    read_only,
    unfilled,
)
from ...tables.columns import ColumnsBase
from ...tables.placement import swap_remove_moves
from ...values.field_tables import check_field_names
from ...values.field_types import FieldTable

# --- How chunks are laid out: which columns, from which byte on, how many rows --------

_OWNER: Final = Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0)

_BEFORE: Final = -1
"""The number of a component, so to speak, that has the owners' column."""


class RowCount:
    """How many rows of a chunk are in use: known to the chunk and to all its columns."""

    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0


class ChunkColumns(ColumnsBase):
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

    def _size(self) -> int:
        return self._rows.n

    @classmethod
    def _some(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Check values for some fields of a row."""
        known = check_field_names(cls._ROW, fields).items()
        return {name: cls._CONVERTERS[name][0].to_cell(value) for name, value in known}

    def _put(self, row: int, values: tuple[Any, ...]) -> None:
        """Write what `_one` returned to a row."""
        raise NotImplementedError

    def _set(self, row: int, values: dict[str, Any]) -> None:
        """Write what `_some` returned to a row."""
        raise NotImplementedError

    def _row(self, row: int) -> Any:
        """Return a copy of a row."""
        raise NotImplementedError


class ChunkColumnLayout(NamedTuple):
    """Where one column lies in the chunks of an archetype."""

    column: Column
    offset: int
    """Its first byte; -1 for objects, which lie beside the buffer."""
    item: np.dtype[Any]
    """One cell as one opaque item, which moves in half the time."""


class ChunkLayout:
    """What the chunks of one archetype look like: the owner, then each component's columns."""

    __slots__ = ("bits", "capacity", "components", "objects", "places", "starts")

    def __init__(self, bits: int, parts: Sequence[type[ChunkColumns]], size: int) -> None:
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


def _placed(columns: Sequence[Column], capacity: int) -> tuple[ChunkColumnLayout, ...]:
    places = []
    offset = 0
    for column in columns:
        is_object = column.dtype.hasobject
        item = item_type(column.nbytes) if column.shape else column.dtype
        places.append(ChunkColumnLayout(column, -1 if is_object else offset, item))
        offset += _whole_lines(capacity * column.nbytes)
    return tuple(places)


def _whole_lines(nbytes: int) -> int:
    return -(-nbytes // CACHE_LINE) * CACHE_LINE


class ChunkComponents(dict[int, Any]):
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
            item_view(column) if column.ndim > 1 else column for column in columns
        ]
        self._cells: list[Any] = [
            item if item.dtype.kind in "SVO" else cell_view(item) for item in self._items
        ]
        self._parts = ChunkComponents(layout, self._rows, columns)

    def __repr__(self) -> str:
        rows = f"{format_count(self._rows.n, 'row')}, room for {self._layout.capacity}"
        names = format_list(row.__name__ for row in self.components)
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
        return read_only(self._columns[0][: self._rows.n])

    @property
    def components(self) -> tuple[type[tuple[Any, ...]], ...]:
        """The row classes of the components that each row has."""
        return tuple(part._ROW for part in self._layout.components.values())

    def has(self, component: type[tuple[Any, ...]], /) -> bool:
        """Return whether the rows have a component, given by its row class."""
        return component in self.components


def _cut_chunk(buffer: NDArray[np.uint8], place: ChunkColumnLayout, capacity: int) -> NDArray[Any]:
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


# --- The rows of one archetype, packed: all its chunks are full but the last ----------

ChunkRun = tuple[Any, slice | RowArray, slice]
"""A chunk, some of its rows, and their part of the whole."""


class RemovalPlan(NamedTuple):
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


ArchetypeEdge: TypeAlias = tuple[int, tuple[tuple[int, int], ...]]
"""The way to the archetype with one component more or less: its number, and the columns that both
have, which of the one and which of the other."""


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

    def plan_removal(self, gone: RowArray) -> RemovalPlan:
        """Find out what moves when the rows at ascending positions go; O(k).

        The last rows move into the holes, ascending into ascending.
        """
        src, dst = swap_remove_moves(gone, self.n)
        sources, targets = self.runs(src), self.runs(dst)
        count = len(self.layout.places) if len(src) else 0
        items = [self.take(column, len(src), sources) for column in range(count)]
        moved = items[0] if items else np.empty(0, np.uint64)
        return RemovalPlan(self.n - len(gone), targets, items, moved, dst)

    def commit_removal(self, cut: RemovalPlan) -> None:
        """Remove rows as planned."""
        for column, moved in enumerate(cut.items):
            for chunk, rows, part in cut.targets:
                chunk._items[column][rows] = moved[part]
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
            found.append((self.chunks[first + k], slice(low, high) if dense else rows, part))
        return found
