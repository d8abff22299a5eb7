"""partition: active rows in front, kept there by swaps; never a flag to test (data locality)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from numpy.typing import ArrayLike, NDArray

from ..columns import Rows
from ..handles import Instance, RowArray
from ..per_class import NO_SLOTS, per_class
from ..placement import Remap, exchange, fill_parts, parts_sorted, within_parts
from .packed import Bounded, Closing


class PartitionedRows(Rows):
    """Rows of which the first `_n_active` are active."""

    __slots__ = NO_SLOTS
    _NUMBERS: ClassVar[tuple[str, ...]] = ("_n_active",)
    _n_active: int

    def _start(self) -> None:
        super()._start()
        self._n_active = 0


class Partition(Bounded):
    """A manager whose rows are active or not."""

    __slots__ = NO_SLOTS
    _LEAVING: ClassVar[tuple[str, ...]] = ("_plan_bound",)
    _BY_ROW: ClassVar[bool] = False
    _STARTS_ACTIVE: ClassVar[bool] = False
    """Whether new rows are active."""
    data: PartitionedRows

    @property
    def n_active(self) -> int:
        """How many rows are active: rows [0, n_active)."""
        return self.data._n_active

    @per_class
    def is_active(self, row: int, /) -> bool:
        """Return whether a row is active; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        return row < data._n_active

    @per_class
    def activate(self, row: int, /) -> Instance:
        """Let a row be active and return where it is now; O(1), one swap or none."""
        if self._locks:
            self._refuse_locked()
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        bound = Instance(data._n_active)
        if row < bound:
            return row  # type: ignore[return-value]  # an Instance takes time
        return self._swap_across(Instance(row), bound, bound + 1)

    @per_class
    def deactivate(self, row: int, /) -> Instance:
        """Let a row be inactive and return where it is now; O(1), one swap or none."""
        if self._locks:
            self._refuse_locked()
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        last = Instance(data._n_active - 1)
        if row > last:
            return row  # type: ignore[return-value]  # an Instance takes time
        return self._swap_across(Instance(row), last, last)

    def activate_many(self, rows: ArrayLike, /) -> RowArray:
        """Let k rows, or a mask's, be active; return where they are, in the order given; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        given, ascending = self._to_cross(rows)
        start = self.data._n_active
        chosen = ascending[ascending >= start]
        end = start + len(chosen)
        return self._cross(given, chosen, start, end, bound=end)

    def deactivate_many(self, rows: ArrayLike, /) -> RowArray:
        """Let k rows, or a mask's, be inactive; return where they are, in the order given; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        given, ascending = self._to_cross(rows)
        end = self.data._n_active
        chosen = ascending[ascending < end]
        start = end - len(chosen)
        return self._cross(given, chosen, start, end, bound=start)

    def _plan_closing(self, gone: RowArray) -> Closing:
        data = self.data
        src, dst = fill_parts(gone, data._n_active, data._n)
        return src, dst, self._plan_moves(src, dst, gone)

    def _plan_bound(self, gone: RowArray) -> Callable[[], None]:
        bound = self.data._n_active
        left = bound - int(gone.searchsorted(bound))
        return partial(setattr, self.data, "_n_active", left)

    def _sorted(self, keys: NDArray[Any]) -> RowArray:
        return parts_sorted(keys, self.data._n_active)

    def _checked_order(self, order: RowArray) -> RowArray:
        return within_parts(order, self.data._n_active, type(self).__name__)

    @per_class
    def _swap_across(self, row: Instance, place: Instance, bound: int) -> Instance:
        """Swap a row to a place at the bound, and set the bound."""
        swap = self._plan_swap(row, place)
        try:
            self._swap(row, place, swap)
            self.data._n_active = bound
            self.data._version += 1
        except BaseException:
            self._break()
            raise
        return place

    def _to_cross(self, rows: ArrayLike) -> tuple[RowArray, RowArray]:
        """Return rows as they were given, and ascending."""
        if self._locks:
            self._refuse_locked()
        given = self._rows_given(rows)
        return given, self._distinct(given)

    def _cross(
        self, given: RowArray, chosen: RowArray, start: int, end: int, bound: int
    ) -> RowArray:
        """Bring the chosen rows to [start, end), set the bound, and return where the given are."""
        if len(chosen) == 0:
            return given.copy()
        src, dst = exchange(chosen, start, end)
        where = Remap(src, dst, self.data._n)(given)
        moves = self._plan_moves(src, dst)
        try:
            self._move_many(src, dst, moves)
            self.data._n_active = bound
            self.data._version += 1
        except BaseException:
            self._break()
            raise
        return where
