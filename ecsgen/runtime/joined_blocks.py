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
from .queries import RowsOrSlice


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
    copies = [
        None if isinstance(column.rows, slice) else working_memory(cells, size)
        for column, cells in zip(columns, gathered, strict=True)
    ]
    for start in range(0, n, size or 1):
        stop = min(start + size, n)
        blocks = [
            _taken(column, copy, start, stop)
            for column, copy in zip(columns, copies, strict=True)
        ]
        yield (*blocks, *(array[..., : stop - start] for array in memory))
        for column, block in zip(columns, blocks, strict=True):
            if column.is_written and not isinstance(column.rows, slice):
                scatter(column.cells, column.rows[start:stop], block)


def _taken(
    column: JoinedColumn, copy: NDArray[Any] | None, start: int, stop: int
) -> NDArray[Any]:
    """Return a few entities' cells, rows last."""
    if isinstance(column.rows, slice):
        first = column.rows.start
        return column.cells[..., first + start : first + stop]
    assert copy is not None
    block = copy[..., : stop - start]
    gather(column.cells, column.rows[start:stop], block)
    return block
