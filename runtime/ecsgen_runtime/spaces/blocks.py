"""What kernels that ask neighbours run on: rows in the order of their cells, block after block,
and with each block those in reach of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..handles import RowArray
from ..kernels.blocks import Cells, put_rows, row_cells, take_rows, working_memory
from ..kernels.messages import HeldMessages
from ..typed import NamedTuple
from .search import NearSearch


class NearColumn(NamedTuple):
    """A field of the rows that ask."""

    cells: NDArray[Any]
    """Rows last."""
    is_read: bool
    is_written: bool
    rows: RowArray | None = None
    """Where those who ask are in it; None: in the first rows."""

    @property
    def memory(self) -> Cells:
        """What the cells of a block are gathered in: laid out as the column is."""
        together = self.cells.strides[-1] != self.cells.itemsize
        return self.cells.dtype.str, self.cells.shape[:-1], together


class OtherColumn(NamedTuple):
    """A field of the rows that are asked."""

    cells: NDArray[Any]
    """Rows last."""
    rows: RowArray | None = None
    """Where they are in it; None: in the first rows."""


class NearBlocks:
    """Blocks of a kernel: the pairs, the fields of the rows that ask, those of their neighbours as
    they were before, pair by pair, and working memory of rows and of pairs.

    Fields are gathered before a block is worked on, and written ones put back behind it.
    """

    __slots__ = ("_columns", "_others", "_paired", "_search", "_working", "asking")
    asking: RowArray
    """Who they are in the block at hand, shape (rows,)."""

    def __init__(
        self,
        search: NearSearch,
        columns: Sequence[NearColumn],
        others: Sequence[OtherColumn],
        working: Sequence[Cells],
        paired: Sequence[Cells],
    ) -> None:
        self._search = search
        self._columns = columns
        self._others = [self._copy(one) for one in others]
        self._working = working
        cells = [(one.dtype.str, one.shape[:-1], False) for one in self._others]
        self._paired = [*cells, *paired]

    def _copy(self, other: OtherColumn) -> NDArray[Any]:
        """Return a field of all who may be asked, in the order of their cells."""
        rows = self._search.members
        if other.rows is not None:
            rows = other.rows[rows]
        memory: Cells = (other.cells.dtype.str, other.cells.shape[:-1], False)
        copy = working_memory(memory, len(rows))
        for place in np.ndindex(copy.shape[:-1]):
            other.cells[place].take(rows, out=copy[place], mode="clip")
        return copy

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks."""
        columns = [(one, row_cells(one.cells)) for one in self._columns]
        own, pairs_memory = _Memory(_all_cells(self._columns, self._working)), _Memory(
            self._paired
        )
        named = self._search.named
        for pairs in self._search.blocks():
            self.asking = rows = self._search.asking[pairs.asking]
            copies = own.take(len(rows))
            moved = []
            for (column, cells), copy in zip(columns, copies, strict=False):
                of_each = named if column.rows is None else column.rows
                where = rows if of_each is None else of_each[rows]
                gathered = row_cells(copy)
                moved.append((column, cells, where, gathered))
                if column.is_read:
                    take_rows(cells, where, gathered)
            near = pairs_memory.take(len(pairs.found))
            for source, copy in zip(self._others, near, strict=False):
                for place in np.ndindex(copy.shape[:-1]):
                    source[place].take(pairs.found, out=copy[place], mode="clip")
            count, others = len(columns), len(self._others)
            yield pairs, *copies[:count], *near[:others], *copies[count:], *near[
                others:
            ]
            for column, cells, where, gathered in moved:
                if column.is_written:
                    put_rows(cells, where, gathered)

    def beside(self, *each: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks with values for each row that asks behind the arrays."""
        for arrays in self:
            yield (*arrays, *(values[..., self.asking] for values in each))


def _all_cells(columns: Sequence[NearColumn], working: Sequence[Cells]) -> list[Cells]:
    return [*(column.memory for column in columns), *working]


class _Memory:
    """Arrays for as many rows as a block has: the same ones again if they have room."""

    __slots__ = ("_arrays", "_cells", "_room")

    def __init__(self, cells: Sequence[Cells]) -> None:
        self._cells = cells
        self._room = -1
        self._arrays: list[NDArray[Any]] = []

    def take(self, rows: int) -> list[NDArray[Any]]:
        """Return uninitialised arrays of shape (*shape, rows)."""
        if rows > self._room:
            self._room = rows + rows // 4
            self._arrays = [working_memory(cells, self._room) for cells in self._cells]
        return [array[..., :rows] for array in self._arrays]


class CellMessages(HeldMessages):
    """Messages of rows that come cell by cell: they wait for the last row, and arrive in the
    order of rows."""

    __slots__ = ("_asking", "_blocks")

    def __init__(
        self, column: NDArray[Any], ufunc: np.ufunc, steps: int, blocks: NearBlocks
    ) -> None:
        super().__init__(column, ufunc, steps)
        self._blocks = blocks
        self._asking: list[RowArray] = []

    def arrive(self) -> None:
        """Let all messages arrive; O(k log k) for k rows that send any."""
        if not self._held:
            return
        order = np.concatenate(self._asking).argsort()
        steps = self._steps
        rows = np.concatenate([rows for rows, _ in self._held]).reshape(-1, steps)
        values = np.concatenate([values for _, values in self._held], axis=-1)
        values = values.reshape(*values.shape[:-1], -1, steps)[..., order, :]
        shape = (*values.shape[:-2], -1)
        self._deliver(rows[order].reshape(-1), values.reshape(shape))

    def _pass_on(self, rows: RowArray, values: NDArray[Any]) -> None:
        super()._pass_on(rows, values)
        self._asking.append(self._blocks.asking)
