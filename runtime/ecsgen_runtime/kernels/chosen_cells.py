"""Copies of some rows of flat columns, as compiled loops take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..handles import RowArray


class ChosenCells:
    """The cells of some rows: copies, of which those that are written are put back."""

    __slots__ = ("_rows", "_written", "count")

    def __init__(self, rows: RowArray) -> None:
        self._rows = rows
        self.count = len(rows)
        self._written: list[tuple[NDArray[Any], NDArray[Any]]] = []

    def read(self, column: NDArray[Any], elements: int = 1) -> NDArray[Any]:
        """Return the rows' cells of a column with so many elements per row."""
        return column.reshape(-1, elements)[self._rows].reshape(-1)

    def written(self, column: NDArray[Any], elements: int = 1) -> NDArray[Any]:
        """Return the same, to be put back."""
        copy = self.read(column, elements)
        self._written.append((column.reshape(-1, elements), copy))
        return copy

    def put(self) -> None:
        """Put back what is written."""
        for cells, copy in self._written:
            cells[self._rows] = copy.reshape(-1, cells.shape[1])


def flat_cells(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as an array of the one kind that a loop is compiled for."""
    return np.require(values, requirements=("C", "A", "W")).reshape(-1)
