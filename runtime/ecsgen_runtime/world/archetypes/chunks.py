"""Chunks: buffers of one size, each with rows of one archetype, column after column."""

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

_OWNER: Final = Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0)

_BEFORE: Final = -1
"""Pseudo number of a component, for the column of owners."""


class RowCount:
    """Number of used rows of a chunk, shared by the chunk and all its columns."""

    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0


class ChunkColumns(ColumnsBase):
    """Columns of one component in one chunk; a generated class adds the fields."""

    __slots__ = ("_rows",)

    ROW: ClassVar[type[tuple[Any, ...]]]
    CONVERTERS: ClassVar[FieldTable] = {}
    LAYOUT: ClassVar[tuple[Column, ...]]

    _rows: RowCount
    _one: ClassVar[Callable[..., tuple[Any, ...]]]
    """Function that checks the fields of one new row."""

    _many: ClassVar[Callable[..., tuple[NDArray[Any], ...]]]
    """Function that checks fields for a number of rows and returns an array for each column."""

    def __init__(self, rows: RowCount, columns: Sequence[NDArray[Any]]) -> None:
        raise NotImplementedError

    def _size(self) -> int:
        return self._rows.n

    @classmethod
    def _some(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return checked values of some fields of a row."""
        known = check_field_names(cls.ROW, fields).items()
        return {name: cls.CONVERTERS[name][0].to_cell(value) for name, value in known}

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
    """Memory of one column in the chunks of an archetype."""

    column: Column
    offset: int
    """First byte of the column; -1 for objects, which are not in the buffer."""
    item: np.dtype[Any]
    """Type of a cell as one opaque item, which moves in half the time."""


class ChunkLayout:
    """Layout of the chunks of one archetype: owners, then each component's columns."""

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
        self.places: list[ChunkColumnLayout] = []
        offset = 0
        for column in columns:
            start = -1 if column.dtype.hasobject else offset
            item = item_type(column.nbytes) if column.shape else column.dtype
            self.places.append(ChunkColumnLayout(column, start, item))
            offset += _whole_lines(self.capacity * column.nbytes)
        self.objects = tuple(k for k, p in enumerate(self.places) if p.offset < 0)


def _rows_in(size: int, columns: Sequence[Column]) -> int:
    """Return the number of rows that fit into a chunk if columns start on cache lines."""
    rows = size // sum(column.nbytes for column in columns)
    while sum(_whole_lines(rows * column.nbytes) for column in columns) > size:
        rows -= 1
    return rows


def _whole_lines(nbytes: int) -> int:
    return -(-nbytes // CACHE_LINE) * CACHE_LINE


class ChunkComponents(dict[int, Any]):
    """Columns of a chunk by component number, created on first use."""

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
            names = (part.ROW.__name__ for part in self._layout.components.values())
            raise AttributeError(f"the rows of this chunk have {', '.join(names)}")
        start = self._layout.starts[component]
        columns = part(self._rows, self._columns[start : start + len(part.LAYOUT)])
        self[component] = columns
        return columns


class ChunkBase:
    """One buffer with rows of one archetype; the generated class adds the components. Rows, and
    views of them, are valid until the next structural change."""

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
        columns: list[NDArray[Any]] = [
            (
                np.full(capacity, None, np.object_)
                if offset < 0
                else np.ndarray((capacity, *column.shape), column.dtype, buffer, offset)
            )
            for column, offset, _ in layout.places
        ]
        self._columns = columns
        # `_items` for many rows, `_cells` for one: the fastest ways to copy cells.
        self._items: list[NDArray[Any]] = [
            item_view(column) if column.ndim > 1 else column for column in columns
        ]
        self._cells: list[Any] = [
            item if item.dtype.kind in "SVOmM" else cell_view(item) for item in self._items
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
        """Buffer of all columns but those of objects."""
        return self._buffer

    @property
    def entity(self) -> EntityArray:
        """Owner of each row, shape (n,); read-only."""
        return read_only(self._columns[0][: self._rows.n])

    @property
    def components(self) -> tuple[type[tuple[Any, ...]], ...]:
        """Row classes of the components of each row."""
        return tuple(part.ROW for part in self._layout.components.values())

    def has(self, component: type[tuple[Any, ...]], /) -> bool:
        """Return True if rows have a component, by its row class."""
        return component in self.components


def chunk_columns(chunk: ChunkBase) -> list[NDArray[Any]]:
    """Return all columns of a chunk, in the order of its layout."""
    return chunk._columns


def chunk_layout(chunk: ChunkBase) -> ChunkLayout:
    """Return where the columns of a chunk lie."""
    return chunk._layout


class ChunkPool:
    """Pool of the chunks of all archetypes, with those that became empty."""

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
        """Return an empty chunk: a released one of any archetype, or a new one."""
        if self._free:
            chunk = self._free.pop()
            if chunk._layout is not layout:
                chunk = self._kind(layout, chunk._buffer)
        else:
            chunk = self._kind(layout, unfilled(self._size))
        self._taken += 1
        return chunk

    def give(self, chunk: ChunkBase) -> None:
        """Release an empty chunk to the pool."""
        self._taken -= 1
        self._free.append(chunk)

    def clear(self) -> None:
        """Free the memory of empty chunks."""
        self._free.clear()


ChunkRun = tuple[Any, slice | RowArray, slice]
"""A chunk, rows in it, and their slice among all rows concerned."""


class RemovalPlan(NamedTuple):
    """Moves by which rows are removed."""

    kept: int
    """Number of rows that are left."""
    targets: list[ChunkRun]
    items: list[NDArray[Any]]
    """Items that move into the holes, by column."""
    moved: EntityArray
    """Owners of the rows that move."""
    positions: RowArray
    """New positions of these rows."""


ArchetypeEdge: TypeAlias = tuple[int, tuple[tuple[int, int], ...]]
"""Edge to the archetype with one component more or less: its number, and pairs of the numbers of
columns that both have."""


class Archetype:
    """All rows of one signature, packed; row k of chunk c is position `c * capacity + k`."""

    __slots__ = ("_pool", "capacity", "chunks", "edges", "layout", "n")

    def __init__(self, layout: ChunkLayout, pool: ChunkPool) -> None:
        self._pool = pool
        self.layout = layout
        self.capacity = layout.capacity
        self.n = 0
        self.chunks: list[Any] = []
        self.edges: dict[int, ArchetypeEdge] = {}

    def has(self, component: int) -> bool:
        """Return True if rows have a component."""
        return bool(self.layout.bits >> component & 1)

    def used(self) -> list[Any]:
        """Return the chunks that have rows."""
        return self.chunks[: -(-self.n // self.capacity)]

    def reserve(self, rows: int) -> None:
        """Reserve chunks for `rows` rows in all, so that later steps cannot fail."""
        if rows >= NIL:
            raise CapacityError(f"{rows} rows are more than an archetype can number")
        while len(self.chunks) * self.capacity < rows:
            self.chunks.append(self._pool.take(self.layout))

    def trim(self) -> None:
        """Release the chunks without rows."""
        n_used = -(-self.n // self.capacity)
        while len(self.chunks) > n_used:
            self._pool.give(self.chunks.pop())

    def at(self, position: int) -> tuple[ChunkBase, int]:
        """Return a position's chunk and row; O(1)."""
        number, row = divmod(position, self.capacity)
        return self.chunks[number], row

    def push(self, entity: int) -> tuple[ChunkBase, int]:
        """Append a row to reserved chunks and write its owner only; O(1)."""
        number, row = divmod(self.n, self.capacity)
        chunk: ChunkBase = self.chunks[number]
        chunk._cells[0][row] = entity
        chunk._rows.n = row + 1
        self.n += 1
        return chunk, row

    def pull(self, position: int) -> int:
        """Remove a row and return the owner of the last row, which moved there, or 0;
        O(columns)."""
        last = self.n - 1
        chunk, row = self.at(last)
        moved = 0
        if position != last:
            hole, hole_row = self.at(position)
            for source, target in zip(chunk._cells, hole._cells, strict=True):
                target[hole_row] = source[row]
            moved = hole._cells[0][hole_row]
        for column in self.layout.objects:
            chunk._columns[column][row] = None
        chunk._rows.n = row
        self.n = last
        if row == 0:
            self.trim()
        return moved

    def extend(self, entities: EntityArray) -> None:
        """Append a row for each entity and write the owners only."""
        start, end = self.n, self.n + len(entities)
        for chunk, rows, part in self.spans(start, end):
            chunk._columns[0][rows] = entities[part]
            chunk._rows.n = rows.stop
        self.n = end

    def write(self, column: int, start: int, values: NDArray[Any]) -> None:
        """Fill a column from a position on, with one value per row or one for all."""
        count = self.n - start
        is_per_row = values.ndim > len(self.layout.places[column].column.shape)
        is_per_row = is_per_row and len(values) == count
        for chunk, rows, part in self.spans(start, self.n):
            cells = values[part] if is_per_row else values
            if chunk._columns[column].ndim > 1:
                put_cells(chunk._columns[column], rows, cells)
            else:
                chunk._columns[column][rows] = cells

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
        """Fill a column from a position on with items of another archetype."""
        for chunk, rows, part in self.spans(start, self.n):
            chunk._items[column][rows] = items[part]

    def plan_removal(self, rows: RowArray) -> RemovalPlan:
        """Return the plan to remove rows at ascending positions: the last rows move into the holes,
        ascending into ascending. O(k)."""
        src, dst = swap_remove_moves(rows, self.n)
        sources, targets = self.runs(src), self.runs(dst)
        count = len(self.layout.places) if len(src) else 0
        items = [self.take(column, len(src), sources) for column in range(count)]
        moved = items[0] if items else np.empty(0, np.uint64)
        return RemovalPlan(self.n - len(rows), targets, items, moved, dst)

    def commit_removal(self, plan: RemovalPlan) -> None:
        """Commit a planned removal."""
        for column, moved in enumerate(plan.items):
            for chunk, rows, part in plan.targets:
                chunk._items[column][rows] = moved[part]
        for chunk, rows, _ in self.spans(plan.kept, self.n):
            for column in self.layout.objects:
                chunk._columns[column][rows] = None
            chunk._rows.n = rows.start
        self.n = plan.kept
        self.trim()

    def whole(self, column: int) -> NDArray[Any]:
        """Return a copy of a column of all rows, shape (n, *shape)."""
        info = self.layout.places[column].column
        cells = np.empty((self.n, *info.shape), info.dtype)
        for chunk, rows, part in self.spans(0, self.n):
            cells[part] = chunk._columns[column][rows]
        return cells

    def spans(self, start: int, end: int) -> Iterator[tuple[Any, slice, slice]]:
        """Yield (chunk, rows in it, their slice) for the positions from start to end."""
        position = start
        while position < end:
            number, row = divmod(position, self.capacity)
            count = min(self.capacity - row, end - position)
            part = slice(position - start, position - start + count)
            yield self.chunks[number], slice(row, row + count), part
            position += count

    def runs(self, positions: RowArray) -> list[ChunkRun]:
        """Return the runs of ascending positions, chunk by chunk."""
        if len(positions) == 0:
            return []
        first, last = (int(positions[k]) // self.capacity for k in (0, -1))
        starts = np.arange(first, last + 2) * self.capacity
        bounds = positions.searchsorted(starts)
        runs: list[ChunkRun] = []
        for k in (bounds[1:] > bounds[:-1]).nonzero()[0].tolist():
            part = slice(int(bounds[k]), int(bounds[k + 1]))
            rows = positions[part] - int(starts[k])
            low, high = int(rows[0]), int(rows[-1]) + 1
            dense = high - low == len(rows)
            runs.append((self.chunks[first + k], slice(low, high) if dense else rows, part))
        return runs
