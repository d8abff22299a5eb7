"""Blocks of rows that lie anywhere: copies, which are gathered before a block is worked on, and put
back behind it where they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, TypeAlias

from numpy.typing import NDArray

from ..handles import RowArray
from ..typed import NamedTuple
from .blocks import (
    Blocks,
    Cells,
    row_cells,
    working_memory,
)

Copied: TypeAlias = tuple[NDArray[Any], RowArray, NDArray[Any]]
"""Cells, some rows of them, and a copy of these; an item per row."""


class BlockColumn(NamedTuple):
    """A field of a kernel."""

    cells: NDArray[Any]
    """Rows last."""
    rows: Any = None
    """Where those over which the kernel runs are in it; None: they are its own."""
    is_read: bool = True
    is_written: bool = False

    @property
    def memory(self) -> Cells:
        """What the cells of a block are gathered in: laid out as the column is."""
        together = self.cells.strides[-1] != self.cells.itemsize
        return self.cells.dtype.str, self.cells.shape[:-1], together


class RowBatch(NamedTuple):
    """A block: what is copied before it, its arrays, and what is copied behind it."""

    gathered: list[Copied]
    views: tuple[Any, ...]
    put: list[Copied]


def batch_of(
    columns: Sequence[BlockColumn],
    rows: RowArray | slice,
    memory: Sequence[NDArray[Any]],
) -> RowBatch:
    """Return a batch of some rows: columns where they follow each other, else in memory, then what
    else there is of memory."""
    views = list(memory)
    gathered: list[Copied] = []
    put: list[Copied] = []
    for place, column in enumerate(columns):
        where = rows if column.rows is None else column.rows[rows]
        if isinstance(where, slice):
            views[place] = column.cells[..., where]
            continue
        moves = row_copies(column.cells, where, memory[place])
        if column.is_read:
            gathered += moves
        if column.is_written:
            put += moves
    return RowBatch(gathered, tuple(views), put)


def batches_of(
    columns: Sequence[BlockColumn],
    memory: Sequence[NDArray[Any]],
    count: int,
    size: int,
) -> Iterator[RowBatch]:
    """Yield batches of so many rows, `size` in each, which all have the same memory."""
    for start in range(0, count, size or 1):
        end = min(start + size, count)
        some = [array[..., : end - start] for array in memory]
        yield batch_of(columns, slice(start, end), some)


def row_copies(
    column: NDArray[Any], rows: RowArray, copy: NDArray[Any]
) -> list[Copied]:
    """Return what is copied of a column, rows last."""
    return list(zip(row_cells(column), repeat(rows), row_cells(copy), strict=False))


def moved_rows(batches: Iterable[RowBatch]) -> Iterator[tuple[Any, ...]]:
    """Yield the arrays of batches: copies are put back when the next one is asked for."""
    for gathered, views, put in batches:
        for cells, rows, copy in gathered:
            cells.take(rows, out=copy, mode="clip")
        yield views
        for cells, rows, copy in put:
            if cells.dtype.kind == "V":  # `put` takes half the time
                cells.put(rows, copy, "clip")
            else:
                cells[rows] = copy


def chosen_blocks(
    whole: Blocks, rows: RowArray, written: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    """Yield blocks of some rows of those that a kernel has blocks of, with the same arrays;
    `written` says which of the columns are put back."""
    columns = [
        BlockColumn(cells, rows, True, place in written)
        for place, cells in enumerate(whole.columns)
    ]
    size = min(len(rows), whole.most)
    kinds = (*[column.memory for column in columns], *whole.working)
    memory = [working_memory(cells, size) for cells in kinds]
    return moved_rows(batches_of(columns, memory, len(rows), size))


def beside(
    blocks: Iterable[tuple[Any, ...]], *each: NDArray[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield blocks with the values of their rows behind the arrays; rows are last in all."""
    start = 0
    for views in blocks:
        end = start + views[0].shape[-1]
        yield (*views, *(values[..., start:end] for values in each))
        start = end
