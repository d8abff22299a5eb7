"""Which old rows there are in new columns, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...handles import NIL, RowArray


@dataclass(frozen=True)
class RowPlan:
    """Takes cells of old rows in their new order, and puts them where they belong."""

    old_n: int
    """How many rows the old columns have."""
    order: RowArray | None
    """The old row of each instance, in the order of the new rows; None: all, as they are."""
    at: RowArray | None = None
    """Its new row, where rows are indices of entities; None: one after the other."""
    new_n: int = 0
    """How many rows the new columns have, with `at`."""
    stays: bool = False
    """Whether each row is where it was, so that columns can stay as they are."""

    @property
    def count(self) -> int:
        """How many instances there are."""
        return self.old_n if self.order is None else len(self.order)

    @property
    def n(self) -> int:
        """How many rows the new columns have."""
        return self.count if self.at is None else self.new_n

    @property
    def is_whole(self) -> bool:
        """Whether all rows are there, in their order."""
        return self.order is None

    def take(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return the cells of the instances; the same array if they are all of it."""
        return cells if self.order is None else cells[self.order]

    def put(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return a new column of these cells; zeros, or None, where there is no instance."""
        if self.at is None:
            return cells
        empty = None if cells.dtype.hasobject else 0
        column = np.full((self.new_n, *cells.shape[1:]), empty, cells.dtype)
        column[self.at] = cells
        return column

    def moved(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a new column of what an old one has, by row."""
        return column if self.stays else self.put(self.take(column))

    def where(self, rows: NDArray[Any]) -> NDArray[np.uint32]:
        """Return where old rows are now; NIL for those that are not there, and for NIL."""
        if self.stays:
            return rows
        table = np.full(self.old_n + 1, NIL, np.uint32)
        old: RowArray | slice = (
            slice(0, self.old_n) if self.order is None else self.order
        )
        table[old] = np.arange(self.count) if self.at is None else self.at
        return table.take(rows, mode="clip")

    def old_row(self, instance: int) -> int:
        """Return where an instance was, for messages."""
        return instance if self.order is None else int(self.order[instance])


def kept_plan(old_n: int, used: RowArray | None) -> RowPlan:
    """Return the plan by which all rows stay where they are, holes among them."""
    return RowPlan(old_n, used, used, old_n, stays=True)


def packed_plan(old_n: int, order: RowArray | None) -> RowPlan:
    """Return the plan by which old rows come one after the other."""
    return RowPlan(old_n, order, stays=order is None)


def indexed_plan(old_n: int, order: RowArray | None, at: RowArray) -> RowPlan:
    """Return the plan by which old rows go to the indices of their entities."""
    n = int(at.max()) + 1 if len(at) else 0
    return RowPlan(old_n, order, at, n)
