"""What kernels that ask neighbours run on: rows in the order of their cells, block after block,
and with each block those in reach of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..handles import RowArray
from ..kernels.blocks import Cells, put_rows, row_cells, take_rows, working_memory
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

    __slots__ = ("_columns", "_others", "_paired", "_search", "_working")

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
        for pairs in self._search.blocks():
            rows = self._search.asking[pairs.asking]
            copies = own.take(len(rows))
            moved = []
            for (column, cells), copy in zip(columns, copies, strict=False):
                where = rows if column.rows is None else column.rows[rows]
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
