"""Kernels whose rows take turns: each acts on what those before it have left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..handles import NIL, RowArray
from .blocks import Cells, working_memory
from .chance import draw_stems, draw_words


class TurnBlocks:
    """Views of one row of a kernel's columns, and working memory for it, row after row.

    Good until the buffer moves or the stamp (the number of rows) changes.
    """

    __slots__ = ("_columns", "_memory", "nbytes", "stamp")

    def __init__(
        self, rows: int, columns: Sequence[NDArray[Any]], working: Sequence[Cells]
    ) -> None:
        self.stamp = rows
        self._columns = columns
        self._memory = [working_memory(cells, 1) for cells in working]
        self.nbytes = sum(array.nbytes for array in self._memory)
        """Bytes that are held beside the columns."""

    def __iter__(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """Iterate over the rows in their order."""
        return self.in_order(range(self.stamp))

    def in_order(self, rows: Iterable[int]) -> Iterator[tuple[NDArray[Any], ...]]:
        """Iterate over the rows in another order."""
        columns, memory = self._columns, self._memory
        for row in rows:
            yield (*(cells[..., row : row + 1] for cells in columns), *memory)


def turn_order(who: NDArray[np.uint64], key: np.uint64) -> RowArray:
    """Return rows in the order of their first random words, equal ones in row order; `who`
    tells them apart, shape (n,). O(n log n)."""
    stem, word, bits = (np.empty(len(who), np.uint64) for _ in range(3))
    draw_stems(who, key, stem, bits)
    draw_words(stem, 0, word, bits, bits)
    return word.argsort(kind="stable")


def send_at_once(
    column: NDArray[Any],
    rows: RowArray,
    heard: NDArray[np.bool_] | None,
    ufunc: np.ufunc | None,
    value: Any,
) -> None:
    """Change the cell that one row refers to, if it does and is heard, or write over it.

    `column` has rows last; `rows` and `heard` are of the one row.
    """
    row = int(rows[0])
    if row == NIL or (heard is not None and not heard[0]):
        return
    cell = column[..., row : row + 1]
    if ufunc is None:
        cell[...] = value
    else:
        ufunc(cell, value, out=cell)
