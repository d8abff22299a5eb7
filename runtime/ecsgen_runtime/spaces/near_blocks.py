"""What kernels that ask neighbours run on: rows in the order of their cells, block after block,
and with each block those in reach of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..handles import RowArray
from ..kernels.blocks import (
    BlockColumn,
    BlockMemory,
    Cells,
    RowBatch,
    batch_of,
    moved_rows,
    working_memory,
)
from ..kernels.references import HeldMessages
from .search import NearSearch


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
        columns: Sequence[BlockColumn],
        others: Sequence[BlockColumn],
        working: Sequence[Cells],
        paired: Sequence[Cells],
    ) -> None:
        self._search = search
        self._columns = columns
        self._working = [*(column.memory for column in columns), *working]
        self._others = [BlockColumn(self._copy(one)) for one in others]
        self._paired = [*(one.memory for one in self._others), *paired]

    def _copy(self, other: BlockColumn) -> NDArray[Any]:
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
        return moved_rows(self._batches())

    def _batches(self) -> Iterator[RowBatch]:
        """Find the blocks, which share their memory."""
        for_rows, for_pairs = BlockMemory(self._working), BlockMemory(self._paired)
        fields, others = len(self._columns), len(self._others)
        for pairs in self._search.blocks():
            self.asking = rows = self._search.asking[pairs.asking]
            found = pairs.found
            memory = for_rows.take(len(rows), _room(rows))
            own = batch_of(self._columns, rows, memory)
            memory = for_pairs.take(len(found), _room(found))
            near = batch_of(self._others, found, memory)
            views = (*own.views[:fields], *near.views[:others])
            working = (*own.views[fields:], *near.views[others:])
            gathered = own.gathered + near.gathered
            yield RowBatch(gathered, (pairs, *views, *working), own.put)

    def beside(self, *each: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks with values for each row that asks behind the arrays."""
        for arrays in self:
            yield (*arrays, *(values[..., self.asking] for values in each))


def _room(rows: RowArray) -> int:
    """Return how many rows memory is taken for: at least one, because of none no strides tell the
    layout; planes whose distance is a power of two would share places in the cache."""
    return max(1, len(rows) + len(rows) // 4)


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
        self._deliver(rows[order].reshape(-1), values.reshape(*values.shape[:-2], -1))

    def _pass_on(self, rows: RowArray, values: NDArray[Any]) -> None:
        super()._pass_on(rows, values)
        self._asking.append(self._blocks.asking)
