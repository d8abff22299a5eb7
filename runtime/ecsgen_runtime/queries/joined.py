"""What the world's kernels run on: columns of several managers, in the rows of one set of
entities, block after block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, Self

from numpy.typing import NDArray

from ..columns.rows import Rows
from ..handles import RowArray
from ..kernels.blocks import (
    MOST_SHARED,
    Cells,
    block_rows,
    cells_bytes,
    put_rows,
    row_cells,
    take_rows,
    working_memory,
)
from ..state import NO_SLOTS
from ..typed import NamedTuple
from .members import RowsOrSlice
from .rows import QueryRows, RowOrder


class JoinedColumn(NamedTuple):
    """One field of a kernel: its column, rows last, and the rows of the entities in it."""

    cells: NDArray[Any]
    rows: slice | QueryRows
    is_read: bool
    is_written: bool

    @property
    def memory(self) -> Cells:
        """What the cells of a block are gathered in: laid out as the column is."""
        together = self.cells.strides[-1] != self.cells.itemsize
        return self.cells.dtype.str, self.cells.shape[:-1], together

    @property
    def numbers(self) -> RowsOrSlice:
        """The rows themselves."""
        return self.rows.rows if isinstance(self.rows, QueryRows) else self.rows

    @property
    def order(self) -> RowOrder | None:
        """In which order all cells are gathered at once, where that is faster."""
        if isinstance(self.rows, slice) or not self.is_read:
            return None
        return self.rows.order(row_cells(self.cells)[0].itemsize)


class JoinedHolder(Protocol):
    """The columns of a manager, which know what must go when their buffer does."""

    _joined: dict[str, JoinedBlocks]


class JoinedBlocks:
    """Views of several managers' columns and working memory, block after block; kept.

    Good until one of the buffers moves, or the stamp (how many entities, or which match of
    a query) changes. Rows that follow each other are a view. Others are gathered as a block
    is asked for, or all of them at first where that is faster, and scattered when the next
    one is asked for, if they are written.
    """

    __slots__ = ("_moves", "_ordered", "_scattered", "_views", "nbytes", "stamp")

    def __init__(
        self,
        stamp: object,
        n: int,
        columns: Sequence[JoinedColumn],
        working: Sequence[Cells],
        kernels: int = 1,
    ) -> None:
        """With several `kernels`, of which each sees a part of the arrays, blocks are larger."""
        self.stamp = stamp
        each = [*(column.memory for column in columns), *working]
        row_bytes = sum(cells_bytes(shape, dtype) for dtype, shape, _ in each)
        size = min(n, block_rows(row_bytes // min(kernels, MOST_SHARED)))
        scratch = [working_memory(cells, size) for cells in working]
        parts = [_Part(column, n, size) for column in columns]
        self.nbytes = sum(array.nbytes for array in scratch)
        """Bytes that are held beside the columns; of what several keep, the share of one."""
        self.nbytes += sum(part.nbytes for part in parts)
        self._ordered = [part for part in parts if part.order is not None]
        self._views: list[tuple[Any, ...]] = []
        self._scattered: list[list[_Scattered]] = []
        for start in range(0, n, size or 1):
            rows = slice(start, min(start + size, n))
            count = rows.stop - start
            memory = (array[..., :count] for array in scratch)
            self._views.append((*(part.view(rows) for part in parts), *memory))
            scattered = [part.scattered(rows) for part in parts]
            self._scattered.append([each for each in scattered if each is not None])
        self._moves = bool(self._ordered) or any(self._scattered)

    def keep(self, name: str, holders: Sequence[JoinedHolder]) -> Self:
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
        self._views = []
        self._scattered = []

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks."""
        return self._moving() if self._moves else iter(self._views)

    def _moving(self) -> Iterator[tuple[Any, ...]]:
        """Yield blocks of which some columns are gathered, and scattered."""
        for part in self._ordered:
            part.gather()
        for views, scattered in zip(self._views, self._scattered, strict=True):
            for each in scattered:
                each.gather()
            yield views
            for each in scattered:
                each.scatter()


class _Part:
    """A column of a kernel: its own cells where rows follow each other, otherwise copies."""

    __slots__ = ("_cells", "_column", "_is_whole", "nbytes", "order")

    def __init__(self, column: JoinedColumn, n: int, size: int) -> None:
        self._column = column
        self.order = column.order
        self._is_whole = self.order is not None or isinstance(column.numbers, slice)
        if isinstance(column.numbers, slice):
            self._cells = column.cells[..., column.numbers]
            self.nbytes = 0
        else:
            self._cells = working_memory(column.memory, n if self._is_whole else size)
            self.nbytes = self._cells.nbytes

    def gather(self) -> None:
        """Copy the cells of all entities, in the order that is fast."""
        if self.order is not None:
            cells, copy = row_cells(self._column.cells), row_cells(self._cells)
            self.order.gather(cells[0], copy[0])

    def view(self, entities: slice) -> NDArray[Any]:
        """Return the cells of some entities."""
        if self._is_whole:
            return self._cells[..., entities]
        return self._cells[..., : entities.stop - entities.start]

    def scattered(self, entities: slice) -> _Scattered | None:
        """Return what is to be copied for a block of some entities."""
        column, rows = self._column, self._column.numbers
        if isinstance(rows, slice):
            return None
        is_read = column.is_read and self.order is None
        if not (is_read or column.is_written):
            return None
        column = column._replace(is_read=is_read)
        return _Scattered(column, rows[entities], self.view(entities))


class _Scattered:
    """Cells of a block that are copies of scattered rows."""

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


class JoinedRows(Rows):
    """Rows with the blocks of the world's kernels that look at them."""

    __slots__ = NO_SLOTS
    _joined: dict[str, JoinedBlocks]

    def _start(self) -> None:
        super()._start()
        self._joined = {}

    def _forget_views(self) -> None:
        super()._forget_views()
        for blocks in self._joined.values():
            blocks.drop()
        self._joined = {}

    def _nbytes(self) -> int:
        held = sum(blocks.nbytes for blocks in self._joined.values())
        return super()._nbytes() + held
