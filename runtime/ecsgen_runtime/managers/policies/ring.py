"""ring: N: at most N instances; the oldest ones make room for new ones.

All rows are one chain in the order of their creation, from the oldest to the newest, which the
oldest one's `older` cell holds. Where rows lie says nothing about their age.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...base.errors import CapacityError
from ...base.handles import NIL, Columns, EntityArray, Instance, RowArray
from ...base.specialisation import NO_SLOTS, specialised
from ...tables.columns import Rows
from ...tables.placement import NO_ROWS, CommitSteps, apply_writes
from .chains import LinkUpdates
from .packed import Packed


class RingRows(Rows):
    """Rows linked in the order of their creation."""

    __slots__ = NO_SLOTS
    _SAVED_NUMBERS: ClassVar[tuple[str, ...]] = ("_oldest",)
    _oldest: Instance
    _newer_column: NDArray[np.uint32]
    _newer_cells: memoryview[Instance]
    _older_column: NDArray[np.uint32]
    _older_cells: memoryview[Instance]

    def _init_empty(self) -> None:
        super()._init_empty()
        self._oldest = NIL

    def capacity_for(self, count: int) -> int:
        return super().capacity_for(min(count, self.MAX_ROWS - self._n))

    def _grow(self, rows: int, borrowed: tuple[object, ...] = ()) -> None:
        if self._n < self.MAX_ROWS:  # else the oldest row is evicted
            super()._grow(rows, borrowed)

    def _oldest_rows(self, count: int) -> RowArray:
        """Return the `count` oldest rows, the oldest first; O(count)."""
        newer, row = self._newer_cells, self._oldest
        rows = []
        for _ in range(count):
            rows.append(row)
            row = newer[row]
        return np.array(rows, np.intp)

    @specialised
    def _add_newest(self, row: Instance) -> None:
        """Append a new row to the chain."""
        newer, older = self._newer_cells, self._older_cells
        newer[row] = NIL
        oldest = self._oldest
        if oldest == NIL:
            self._oldest = older[row] = row
            return
        newest = older[oldest]
        newer[newest] = row
        older[row] = newest
        older[oldest] = row

    def _add_newest_rows(self, rows: RowArray) -> None:
        """Append new rows to the chain, in the order given."""
        newer, older = self._newer_column, self._older_column
        first, last = rows[0], rows[-1]
        newer[rows[:-1]] = rows[1:]
        older[rows[1:]] = rows[:-1]
        newer[last] = NIL
        oldest = self._oldest
        if oldest == NIL:
            self._oldest = oldest = Instance(int(first))
        else:
            older[first] = newest = older[oldest]
            newer[newest] = first
        older[oldest] = last

    @specialised
    def _unlink_from_ring(self, row: Instance) -> None:
        """Take a row out of the chain."""
        newer, older = self._newer_cells, self._older_cells
        before, after = older[row], newer[row]
        if row == self._oldest:
            self._oldest = after
        else:
            newer[before] = after
        behind = self._oldest if after == NIL else after
        if behind != NIL:
            older[behind] = before

    @specialised
    def _relink_in_ring(self, src: int, dst: Instance) -> None:
        """Mend the chain after row src moved to dst."""
        newer, older = self._newer_cells, self._older_cells
        before, after = older[dst], newer[dst]
        if src == self._oldest:
            self._oldest = dst
        else:
            newer[before] = dst
        older[self._oldest if after == NIL else after] = dst


class Ring(Packed):
    """A manager of at most `MAX_ROWS` instances: creating more evicts the oldest."""

    __slots__ = NO_SLOTS
    _ALLOWS_ONE_BY_ONE: ClassVar[bool] = False
    HAS_ORDER: ClassVar[bool] = True
    data: RingRows

    def by_age(self) -> RowArray:
        """Return all rows in the order of their creation, the oldest first; O(n)."""
        return self.data._oldest_rows(self.data.n)

    def order_rows(self, rows: RowArray) -> RowArray:
        if len(rows) == 0:
            return rows
        age = np.empty(self.data.n, np.intp)
        age[self.by_age()] = np.arange(len(age))
        return rows[age[rows].argsort()]

    def _has_capacity(self, count: int) -> bool:
        data = self.data
        if count > 1 and data.n + count > data.MAX_ROWS:
            return False  # the excess is evicted at once
        return data.capacity_for(count) <= data.allocated

    def _convert(self, count: int, arguments: Mapping[str, Any]) -> Columns:
        self._refuse_too_many(count)
        return super()._convert(count, arguments)

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        self._refuse_too_many(len(entities))  # those that kernels spawn
        super()._ensure_capacity(entities, columns, borrowed)

    def _refuse_too_many(self, count: int) -> None:
        most = self.data.MAX_ROWS
        if count > most:
            name = type(self).__name__
            raise CapacityError(f"{name}: {count} instances at once, {most} are all that stay")

    def _plan_moves(self, src: RowArray, dst: RowArray, removed: RowArray = NO_ROWS) -> CommitSteps:
        data = self.data
        moves = src, dst
        chain = LinkUpdates(data._newer_column, data._older_column, moves, removed, data.n)
        chain.follow(src, dst)
        (oldest,) = chain.close(np.array([data._oldest])).tolist()
        relink = partial(apply_writes, chain.writes), partial(setattr, data, "_oldest", oldest)
        return super()._plan_moves(src, dst, removed) + relink

    def _add_overflow_rows(self, count: int, removed: RowArray) -> RowArray:
        data = self.data
        if len(removed):
            removed = self._with_cascaded(removed)
        over = data.n - len(removed) + count - data.MAX_ROWS
        if over <= 0:
            return removed
        oldest = data._oldest_rows(over + len(removed))
        if len(removed):
            evicted = oldest[~np.isin(oldest, removed)][:over]
            oldest = np.concatenate([removed, evicted])
        return np.sort(oldest)

    def _drop_oldest(self, row: Instance) -> None:
        """Evict the oldest row, so that another one has room; O(1)."""
        self._evict_row(row)
        self.data.reserve_rows(self.data.capacity_for(1))  # exhausted ids leave no room
