"""What the world's kernels run on: columns of several managers, in the rows of one set of
entities, block after block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

from numpy.typing import NDArray

from ..kernels.blocks import (
    BlockColumn,
    Cells,
    JoinedRows,
    RowBatch,
    batches_of,
    block_rows,
    moved_rows,
    row_cells,
    row_copies,
    working_memory,
)
from ..typed import NamedTuple
from .query_rows import RowOrder, member_rows


class JoinedBlocks:
    """Views of several managers' columns and working memory, block after block; kept.

    Good until one of the buffers moves, or the stamp (how many entities, or which match of
    a query) changes. Rows that follow each other are a view. Others are gathered as a block
    is asked for, or all of them at first where that is faster, and scattered when the next
    one is asked for, if they are written.
    """

    __slots__ = ("_batches", "_moves", "_ordered", "_views", "nbytes", "stamp")

    def __init__(
        self,
        stamp: object,
        n: int,
        columns: Sequence[BlockColumn],
        working: Sequence[Cells],
        kernels: int = 1,
    ) -> None:
        """With several `kernels`, of which each sees a part of the arrays, blocks are larger."""
        self.stamp = stamp
        cells = [*(column.memory for column in columns), *working]
        size = min(n, block_rows(cells, kernels))
        self._ordered: list[_Ordered] = []
        parts = [self._part(column, n) for column in columns]
        rooms = (0 if part.rows is None else size for part in parts)
        memory = [
            *(
                working_memory(p.memory, room)
                for p, room in zip(parts, rooms, strict=True)
            ),
            *(working_memory(one, size) for one in working),
        ]
        self.nbytes = sum(array.nbytes for array in memory)
        """Bytes that are held beside the columns; of what several keep, the share of one."""
        self.nbytes += sum(one.copy.nbytes for one in self._ordered)
        self._batches = list(batches_of(parts, memory, n, size))
        for one in self._ordered:
            one.put_by(self._batches, size)
        self._views = [batch.views for batch in self._batches]
        is_moved = any(batch.gathered or batch.put for batch in self._batches)
        self._moves = bool(self._ordered) or is_moved

    def _part(self, column: BlockColumn, n: int) -> BlockColumn:
        """Return what blocks have parts of: cells that follow each other, in the column or in a
        copy of all, or any of them."""
        rows = member_rows(column.rows)
        if isinstance(rows, slice):
            return BlockColumn(column.cells[..., rows])
        order = None
        if column.is_read:
            order = column.rows.order(row_cells(column.cells)[0].itemsize)
        column = column._replace(rows=rows)
        if order is None:
            return column
        copy = working_memory(column.memory, n)
        self._ordered.append(_Ordered(order, column, copy))
        return BlockColumn(copy)

    def keep(self, name: str, holders: Sequence[JoinedRows]) -> Self:
        """Let all whose columns these are know them by the kernel's name."""
        self.nbytes = -(-self.nbytes // len(holders))
        for holder in holders:
            holder._joined[name] = self
        return self

    def drop(self) -> None:
        """Let go of all views: a buffer is about to go."""
        self.stamp = None
        self.nbytes = 0
        self._moves = False
        self._ordered = []
        self._batches = []
        self._views = []

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks."""
        if not self._moves:
            return iter(self._views)
        for one in self._ordered:
            one.gather()
        return moved_rows(self._batches)


class _Ordered(NamedTuple):
    """A column that is gathered at once, in the order that is fast."""

    order: RowOrder
    column: BlockColumn
    copy: NDArray[Any]
    """Of all rows, rows last."""

    def gather(self) -> None:
        """Copy the cells of all rows."""
        cells, copy = row_cells(self.column.cells), row_cells(self.copy)
        self.order.gather(cells[0], copy[0])

    def put_by(self, batches: Sequence[RowBatch], size: int) -> None:
        """Let batches of so many rows put back what is written."""
        for place, batch in enumerate(batches if self.column.is_written else ()):
            some = slice(place * size, (place + 1) * size)
            rows, copy = self.column.rows[some], self.copy[..., some]
            batch.put.extend(row_copies(self.column.cells, rows, copy))
