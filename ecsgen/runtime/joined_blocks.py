"""What the world's kernels run on: columns of several managers, in the rows of one set of
entities, block after block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .kernels import (
    Cells,
    block_rows,
    cells_bytes,
    rows_last,
    working_memory,
)
from .queries import RowsOrSlice
from .query_columns import scatter_cells


class JoinedColumn(NamedTuple):
    """One field of a kernel: its column, and the rows of the entities in it."""

    cells: NDArray[Any]
    """Shape (rows, *shape); of a field that is split, (*shape, rows)."""
    rows: RowsOrSlice
    is_written: bool
    is_split: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one cell."""
        return self.cells.shape[:-1] if self.is_split else self.cells.shape[1:]

    def block(self, start: int, stop: int) -> NDArray[Any]:
        """Return a few entities' cells, shape (*shape, rows): a view, or gathered."""
        rows = self._part(start, stop)
        if self.is_split:
            return self.cells[..., rows]
        if isinstance(rows, slice):
            return rows_last(self.cells[rows])
        return rows_last(self.cells.take(rows, axis=0))

    def put_back(self, start: int, stop: int, block: NDArray[Any]) -> None:
        """Scatter cells that were gathered and then written."""
        rows = self._part(start, stop)
        if not self.is_written or isinstance(rows, slice):
            return
        if self.is_split:
            self.cells[..., rows] = block
        else:
            scatter_cells(self.cells, rows, np.moveaxis(block, -1, 0))

    def _part(self, start: int, stop: int) -> RowsOrSlice:
        if isinstance(self.rows, slice):
            return slice(self.rows.start + start, self.rows.start + stop)
        return self.rows[start:stop]


def joined_blocks(
    n: int, columns: Sequence[JoinedColumn], working: Sequence[Cells]
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield the columns of n entities and working memory, block after block.

    When the next one is asked for, what was written into the last one is put back.
    """
    each = [cells_bytes(column.shape, column.cells.dtype) for column in columns]
    each += [cells_bytes(cells[1], cells[0]) for cells in working]
    size = min(n, block_rows(sum(each)))
    memory = [working_memory(cells, size) for cells in working]
    for start in range(0, n, size or 1):
        stop = min(start + size, n)
        blocks = [column.block(start, stop) for column in columns]
        yield (*blocks, *(array[..., : stop - start] for array in memory))
        for column, block in zip(columns, blocks, strict=True):
            column.put_back(start, stop, block)
