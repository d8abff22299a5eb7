"""Kernels over some rows, in the order given, and arguments with a value for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..convert.base import Converter
from ..handles import RowArray
from ..manager import Manager

ALL_ROWS: RowArray = np.zeros(1, np.intp)
"""The first of all rows, for loops that take it that they follow each other."""

NO_MASK: NDArray[np.bool_] = np.zeros(0, np.bool_)
"""The mask of a call that names no rows, and so runs over all."""


class ChosenRows:
    """The rows that a call names: k distinct ones in the order given, or those of a mask.

    Raises:
        TypeError, ValueError, StaleInstanceError: as `destroy_many` does.
    """

    __slots__ = ("_running", "count", "rows")

    def __init__(self, manager: Manager, rows: ArrayLike, bound: int = -1) -> None:
        given = manager._rows_given(rows)
        manager._distinct(given)
        self.count = len(given)
        """How many were given."""
        self._running: NDArray[np.bool_] | None = None
        if bound >= 0:
            running = given < bound
            if not running.all():
                self._running, given = running, given[running]
        self.rows: RowArray = given
        """Those over which the kernel runs: with a bound, the ones before it."""

    def of_each(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values, one for each row given, of those that run."""
        return values if self._running is None else values[self._running]

    def mask(self, n: int) -> NDArray[np.bool_]:
        """Return for each of n rows whether the kernel runs over it."""
        found = np.zeros(n, np.bool_)
        found[self.rows] = True
        return found

    def spread(self, values: NDArray[Any], n: int) -> NDArray[Any]:
        """Return the values, one for each row given, where a loop over n rows looks for them."""
        spread = np.empty((n, *values.shape[1:]), values.dtype)
        spread[self.rows] = self.of_each(values)
        return spread


def each_value(
    converter: Converter, value: ArrayLike, count: int, *buffers: NDArray[np.uint8]
) -> NDArray[Any]:
    """Return a checked value for each row, shape (count, *shape), to be read only.

    It shares no memory with the buffers, which the kernel may write. Raises what
    `create_many` does for a field.
    """
    values = converter.many(value, count)
    if any(np.may_share_memory(values, buffer) for buffer in buffers):
        values = values.copy()
    return np.broadcast_to(values, (count, *converter.shape))


def check_unchanged(before: object, now: object) -> None:
    """Raise RuntimeError if there are other rows than those that values were counted for."""
    if now != before:
        raise RuntimeError("converting the values of an argument changed the rows")


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
