"""What the world's kernels run on: columns of several managers, in the rows of one set of
entities, block after block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from .handles import RowArray
from .kernels import (
    Cells,
    block_rows,
    cells_bytes,
    put_rows,
    row_cells,
    take_rows,
    working_memory,
)
from .query_members import RowsOrSlice


class JoinedColumn(NamedTuple):
    """One field of a kernel: its column, rows last, and the rows of the entities in it."""

    cells: NDArray[Any]
    rows: RowsOrSlice
    is_read: bool
    is_written: bool

    @property
    def memory(self) -> Cells:
        """What the cells of a block are gathered in: laid out as the column is."""
        together = self.cells.strides[-1] != self.cells.itemsize
        return self.cells.dtype.str, self.cells.shape[:-1], together


class JoinedHolder(Protocol):
    """The columns of a manager, which know what must go when their buffer does."""

    _joined: dict[str, JoinedBlocks]


class JoinedBlocks:
    """Views of several managers' columns and working memory, block after block; kept.

    Good until one of the buffers moves, or the stamp (how many entities, or which match of
    a query) changes. Rows that follow each other are a view. Others are gathered as a block
    is asked for, and scattered when the next one is, if they are written.
    """

    __slots__ = ("_strewn", "_views", "nbytes", "stamp")

    def __init__(
        self,
        stamp: object,
        n: int,
        columns: Sequence[JoinedColumn],
        working: Sequence[Cells],
    ) -> None:
        self.stamp = stamp
        each = [*(column.memory for column in columns), *working]
        row_bytes = sum(cells_bytes(shape, dtype) for dtype, shape, _ in each)
        size = min(n, block_rows(row_bytes))
        scratch = [working_memory(cells, size) for cells in working]
        whole = [_whole(column, size) for column in columns]
        copies = [
            cells
            for column, cells in zip(columns, whole, strict=True)
            if not isinstance(column.rows, slice)
        ]
        self.nbytes = sum(array.nbytes for array in (*scratch, *copies))
        """Bytes that are held beside the columns; of what several keep, the share of one."""
        self._views: list[tuple[NDArray[Any], ...]] = []
        self._strewn: list[list[_Strewn]] = []
        for start in range(0, n, size or 1):
            stop = min(start + size, n)
            self._cut(start, stop, columns, whole, scratch)

    def keep(self, name: str, holders: Sequence[JoinedHolder]) -> JoinedBlocks:
        """Let all whose columns these are know them by the kernel's name."""
        self.nbytes = -(-self.nbytes // len(holders))
        for holder in holders:
            holder._joined[name] = self
        return self

    def drop(self) -> None:
        """Let go of all views: a buffer is about to go."""
        self.stamp = None
        self.nbytes = 0
        self._views = []
        self._strewn = []

    def __iter__(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """Iterate over the blocks."""
        return self._moving() if self._strewn else iter(self._views)

    def _moving(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """Yield blocks of which some columns are gathered, and scattered."""
        for views, strewn in zip(self._views, self._strewn, strict=True):
            for part in strewn:
                part.gather()
            yield views
            for part in strewn:
                part.scatter()

    def _cut(
        self,
        start: int,
        stop: int,
        columns: Sequence[JoinedColumn],
        whole: Sequence[NDArray[Any]],
        scratch: Sequence[NDArray[Any]],
    ) -> None:
        """Append the block of some of the entities."""
        views, strewn = [], []
        for column, cells in zip(columns, whole, strict=True):
            if isinstance(column.rows, slice):
                views.append(cells[..., start:stop])
            else:
                views.append(cells[..., : stop - start])
                strewn.append(_Strewn(column, column.rows[start:stop], views[-1]))
        views.extend(array[..., : stop - start] for array in scratch)
        self._views.append(tuple(views))
        if strewn:
            self._strewn.append(strewn)


class _Strewn:
    """Cells of a block that are copies of strewn rows."""

    __slots__ = ("_cells", "_column", "_copy", "_rows")

    def __init__(
        self, column: JoinedColumn, rows: RowArray, copy: NDArray[Any]
    ) -> None:
        self._column = column
        self._rows = rows
        self._cells = row_cells(column.cells)
        self._copy = row_cells(copy)

    def gather(self) -> None:
        """Copy the rows into the block, if the kernel reads what was there."""
        if self._column.is_read:
            take_rows(self._cells, self._rows, self._copy)

    def scatter(self) -> None:
        """Copy the block over the rows, if the kernel writes them."""
        if self._column.is_written:
            put_rows(self._cells, self._rows, self._copy)


def _whole(column: JoinedColumn, size: int) -> NDArray[Any]:
    """Return the cells of all entities, or memory for those of a block."""
    if isinstance(column.rows, slice):
        cells: NDArray[Any] = column.cells[..., column.rows]
        return cells
    return working_memory(column.memory, size)
