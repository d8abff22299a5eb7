"""Packed rows: [0, n) are in use; the last row moves into a hole, or across a boundary."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.handles import Instance, RowArray
from ...base.specialisation import NO_SLOTS, accelerated, specialised
from ...tables import placement
from ...tables.columns import Rows
from ...tables.placement import NO_ROWS, CommitSteps, Remap
from ..manager import Manager

Compaction: TypeAlias = tuple[RowArray, RowArray, CommitSteps]
"""Moves (src, dst) and the steps planned with them."""


class Packed(Manager):
    """A manager without holes: the last row moves into one (Bitsquid's swap-remove)."""

    __slots__ = NO_SLOTS
    _SORT_KEYS: ClassVar[tuple[str, ...]] = ()

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self.data._n

    @accelerated("destroy")
    def destroy(self, row: int, /) -> None:
        """Remove one instance; O(1). The last row moves into its place.

        With a partition or a group, so does the last row of its part. In a hierarchy, its
        children become roots or go too, as the schema says.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            self._raise_if_locked()
        if type(row) is not int or not 0 <= row < self.data._n:
            row = self._require_row(row)
        self._destroy_row(row)  # type: ignore[arg-type]  # a call takes time

    def sort(self, key: str | ArrayLike, /) -> None:
        """Sort the rows by a scalar field, by name, or by a key, one value per row.

        Ascending, stable, NaN last; inside each part, if there is a partition. O(n log n).

        Raises:
            ValueError: no such field, or a key of another length.
            StructureLockedError: the manager is locked, or a world's group orders its rows.
        """
        if self._locks:
            self._raise_if_locked()
        self._check_sortable()
        if isinstance(key, str):
            key = self._key_column(key)
        name = type(self).__name__
        keys = placement.sort_key(placement.key_values(key, name), self.data.n, name)
        self._permute(self._sorted(keys))

    def reorder(self, order: ArrayLike, /) -> None:
        """Move the instance in row order[k] to row k, for all k; O(n).

        Raises:
            ValueError: the order is not a permutation of the rows, or moves one across the
                boundary of a partition.
            StructureLockedError: the manager is locked, or a world's group orders its rows.
        """
        if self._locks:
            self._raise_if_locked()
        self._check_sortable()
        name = type(self).__name__
        numbers = placement.integers(order, name, "the order")
        rows = placement.permutation(numbers, self.data._n, name)
        self._permute(self._checked_order(rows))

    @specialised
    def _plan_compaction(self, removed: RowArray) -> Compaction:
        src, dst = placement.swap_remove_moves(removed, self.data._n)
        return src, dst, self._plan_moves(src, dst, removed)

    @specialised
    def _compact(self, removed: RowArray, closing: Compaction) -> None:
        src, dst, moves = closing
        if moves or len(src):
            self._move_many(src, dst, moves)
        data = self.data
        data._n -= len(removed)

    @specialised
    def _move_many(self, src: RowArray, dst: RowArray, moves: CommitSteps) -> None:
        """Move rows src[k] to dst[k], and update what refers to them, as planned."""
        if len(src):
            self.data._move_rows(src, dst)
            for update in self._MOVE_HOOKS:
                update(self, dst)
        for planned in moves:
            planned()

    def _plan_moves(self, src: RowArray, dst: RowArray, removed: RowArray = NO_ROWS) -> CommitSteps:
        """Plan the links when ascending rows are removed and rows src[k] move."""
        return ()

    def _check_sortable(self) -> None:
        """Raise if something else orders the rows."""

    def _key_column(self, name: str) -> NDArray[Any]:
        """Return a scalar field's value in each row."""
        if name not in self._SORT_KEYS:
            manager = type(self).__name__
            raise ValueError(f"{manager} sorts by {self._SORT_KEYS}, not {name!r}")
        return self._column(name)

    def _column(self, name: str) -> NDArray[Any]:
        column: NDArray[Any] = getattr(self.data, name)
        return column

    def _sorted(self, keys: NDArray[Any]) -> RowArray:
        """Return the order that the keys ask for."""
        return placement.sort_order(keys)

    def _checked_order(self, order: RowArray) -> RowArray:
        """Return a permutation that keeps rows where they must be, or raise ValueError."""
        return order

    def _permute(self, src: RowArray) -> None:
        """Move every row src[k] to k."""
        dst = np.arange(len(src))
        self._commit(self._move_many, src, dst, self._plan_moves(src, dst))


class Bounded(Packed):
    """A manager whose rows have a boundary: those before it are kept apart."""

    __slots__ = NO_SLOTS

    @abstractmethod
    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and update what refers to it."""

    @abstractmethod
    def _swap_via_spare(self, row: Instance, other: Instance, spare: Instance) -> None:
        """Swap two rows by way of a third, which is not in use."""

    @specialised
    def _plan_swap(self, row: Instance, other: Instance) -> Compaction | None:
        """Plan the swap of two rows; None if the spare row behind the last one serves."""
        data = self.data
        if data._n < data.allocated or row == other:
            return None
        src, dst = np.array([row, other]), np.array([other, row])
        return src, dst, self._plan_moves(src, dst)

    @specialised
    def _swap(self, row: Instance, other: Instance, swap: Compaction | None) -> None:
        """Swap two rows as planned, or by way of the spare row behind the last one."""
        if swap is not None:
            self._move_many(*swap)
        elif row != other:
            self._swap_via_spare(row, other, Instance(self.data._n))


class PartitionedRows(Rows):
    """Rows of which the first `_n_active` are active."""

    __slots__ = NO_SLOTS
    _SAVED_NUMBERS: ClassVar[tuple[str, ...]] = ("_n_active",)
    _n_active: int

    @property
    def n_active(self) -> int:
        """Number of active rows, which come first."""
        return self._n_active

    def _init_empty(self) -> None:
        super()._init_empty()
        self._n_active = 0


class Partition(Bounded):
    """A manager whose rows are active or not."""

    __slots__ = NO_SLOTS
    _PLAN_REMOVE: ClassVar[tuple[str, ...]] = ("_plan_bound",)
    _ALLOWS_ONE_BY_ONE: ClassVar[bool] = False
    _STARTS_ACTIVE: ClassVar[bool] = False
    """True if new rows are active."""
    data: PartitionedRows

    @property
    def n_active(self) -> int:
        """Number of active rows: [0, n_active)."""
        return self.data._n_active

    @specialised
    def is_active(self, row: int, /) -> bool:
        """Return whether a row is active; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return row < data._n_active

    @specialised
    def activate(self, row: int, /) -> Instance:
        """Make a row active and return where it is now; O(1), one swap or none."""
        if self._locks:
            self._raise_if_locked()
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        bound = Instance(data._n_active)
        if row < bound:
            return row  # type: ignore[return-value]  # an Instance takes time
        return self._swap_across(Instance(row), bound, bound + 1)

    @specialised
    def deactivate(self, row: int, /) -> Instance:
        """Make a row inactive and return where it is now; O(1), one swap or none."""
        if self._locks:
            self._raise_if_locked()
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        last = Instance(data._n_active - 1)
        if row > last:
            return row  # type: ignore[return-value]  # an Instance takes time
        return self._swap_across(Instance(row), last, last)

    def activate_many(self, rows: ArrayLike, /) -> RowArray:
        """Make k rows, or a mask's, active; return where they are, in the order given; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        return self._cross(rows, True)

    def deactivate_many(self, rows: ArrayLike, /) -> RowArray:
        """Make k rows, or a mask's, inactive; return where they are, in the order given; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        return self._cross(rows, False)

    def _plan_compaction(self, removed: RowArray) -> Compaction:
        data = self.data
        src, dst = placement.swap_remove_moves_in_parts(removed, data._n_active, data._n)
        return src, dst, self._plan_moves(src, dst, removed)

    def _plan_bound(self, removed: RowArray) -> Callable[[], None]:
        bound = self.data._n_active
        new_bound = bound - int(removed.searchsorted(bound))
        return partial(setattr, self.data, "_n_active", new_bound)

    def _sorted(self, keys: NDArray[Any]) -> RowArray:
        """Return the order inside each part."""
        bound = self.data._n_active
        behind = placement.sort_order(keys[bound:]) + bound
        return np.concatenate((placement.sort_order(keys[:bound]), behind))

    def _checked_order(self, order: RowArray) -> RowArray:
        bound = self.data._n_active
        if len(order) and bound and int(order[:bound].max()) >= bound:
            name = type(self).__name__
            raise ValueError(f"{name}: the order moves rows across the active boundary")
        return order

    @specialised
    def _swap_across(self, row: Instance, target: Instance, bound: int) -> Instance:
        """Swap a row with the one at the boundary, and move the boundary."""
        swap = self._plan_swap(row, target)
        try:
            self._swap(row, target, swap)
            self.data._n_active = bound
            self.data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return target

    def _cross(self, rows: ArrayLike, is_active: bool) -> RowArray:
        """Make rows active or inactive; return where they are, in the order given."""
        if self._locks:
            self._raise_if_locked()
        checked = self._require_rows(rows)
        ascending, before = self._distinct(checked), self.data._n_active
        chosen = ascending[(ascending >= before) == is_active]
        if len(chosen) == 0:
            return checked.copy()
        bound = before + len(chosen) if is_active else before - len(chosen)
        start, end = min(before, bound), max(before, bound)
        src, dst = placement.swap_moves(chosen, start, end)
        new_rows = Remap(src, dst, self.data._n)(checked)
        set_bound = partial(setattr, self.data, "_n_active", bound)
        moves = *self._plan_moves(src, dst), set_bound
        self._commit(self._move_many, src, dst, moves)
        return new_rows
