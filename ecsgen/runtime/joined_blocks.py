"""What the world's kernels run on: columns of several managers, in the rows of one set of
entities, block after block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from .kernels import (
    Cells,
    block_rows,
    cells_bytes,
    gather,
    scatter,
    working_memory,
)
from .query_members import RowsOrSlice


class JoinedColumn(NamedTuple):
    """One field of a kernel: its column, rows last, and the rows of the entities in it."""

    cells: NDArray[Any]
    rows: RowsOrSlice
    is_written: bool

    @property
    def memory(self) -> Cells:
        """What the cells of a block are gathered in: laid out as the column is."""
        together = self.cells.strides[-1] != self.cells.itemsize
        return self.cells.dtype.str, self.cells.shape[:-1], together


def joined_blocks(
    n: int, columns: Sequence[JoinedColumn], working: Sequence[Cells]
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield the columns of n entities and working memory, block after block.

    Rows that follow each other are a view; others are gathered, and scattered again when
    the next block is asked for, if they were written.
    """
    gathered = [column.memory for column in columns]
    each = [cells_bytes(shape, dtype) for dtype, shape, _ in (*gathered, *working)]
    size = min(n, block_rows(sum(each)))
    memory = [working_memory(cells, size) for cells in working]
    # Made before the loop: a block of rows that follow each other then costs a slice each.
    spans = [
        column.cells[..., column.rows] if isinstance(column.rows, slice) else None
        for column in columns
    ]
    copies = [
        working_memory(cells, size) if span is None else span
        for span, cells in zip(spans, gathered, strict=True)
    ]
    strewn = [
        (column.cells, column.rows, copy, column.is_written)
        for column, span, copy in zip(columns, spans, copies, strict=True)
        if span is None and not isinstance(column.rows, slice)
    ]
    for start in range(0, n, size or 1):
        stop = min(start + size, n)
        part, front = (..., slice(start, stop)), (..., slice(0, stop - start))
        for cells, rows, copy, _ in strewn:
            gather(cells, rows[start:stop], copy[front])
        blocks = [
            copy[front] if span is None else span[part]
            for span, copy in zip(spans, copies, strict=True)
        ]
        if stop - start < size:
            memory = [array[front] for array in memory]
        yield (*blocks, *memory)
        for cells, rows, copy, is_written in strewn:
            if is_written:
                scatter(cells, rows[start:stop], copy[front])
