"""growth: {reserve: N}: address space for N rows is taken once; the system commits it page by page.

Growing never moves a row, so views stay good; more than N rows are a CapacityError.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..columns.rows import Rows
from ..state import NO_SLOTS
from .reserved import beyond_reserve, give_back, reserve_pages, untouched_objects


class ReservedRows(Rows):
    """Rows in a buffer that is there from the start, its pages as they are touched."""

    __slots__ = NO_SLOTS

    def _new_buffer(self, capacity: int) -> NDArray[np.uint8]:
        return reserve_pages(self.ROW_BYTES, capacity)

    def _new_objects(self, capacity: int) -> NDArray[np.object_]:
        return untouched_objects(capacity)

    def _grow(self, rows: int, borrowed: tuple[object, ...] = ()) -> None:
        raise beyond_reserve(self.MANAGER, self._allocated)

    def _reserve(
        self,
        rows: int,
        borrowed: tuple[object, ...] = (),
        is_counted: bool = False,
    ) -> None:
        if rows > self._allocated:
            raise beyond_reserve(self.MANAGER, self._allocated)

    def _lie_smallest(self, rows: int, buffer: NDArray[np.uint8] | None) -> bool:
        self._reserve(rows)
        return False

    def _shrink(self, is_counted: bool = False) -> None:
        """Give the pages behind the last row back to the system. Rows stay in place."""
        for column in self.LAYOUT:
            rows = self._held_rows_of(column.name)
            give_back(self._buffer, column, self._allocated, rows)

    def _nbytes(self) -> int:
        """Return the bytes of the columns up to the last row, and of objects' columns.

        The rest of the reserve is not counted. Pages of it that were once in use stay
        with the process until it shrinks.
        """
        stored = sum(c.nbytes * self._held_rows_of(c.name) for c in self.LAYOUT)
        objects: int = sum(
            getattr(self, name)[: self._n].nbytes for name in self.OBJECTS
        )
        return stored + objects
