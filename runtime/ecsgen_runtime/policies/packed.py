"""Packed rows: [0, n) are in use; the last row moves into a hole, or across a bound."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..handles import Instance, RowArray
from ..manager import Manager
from ..per_class import NO_SLOTS, per_class
from ..placement import (
    NO_ROWS,
    Planned,
    fill,
    integers,
    key_values,
    permutation,
    row_in_use,
    rows_in_use,
    sort_key,
    sort_order,
)

# --- Packed rows: [0, n) are in use; the last row moves into a hole (Bitsquid's swap-
# remove).


Closing: TypeAlias = tuple[RowArray, RowArray, Planned]
"""Which rows move where, and what is planned with it."""


class Packed(Manager):
    """A manager without holes."""

    __slots__ = NO_SLOTS
    _SORT_KEYS: ClassVar[tuple[str, ...]] = ()

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self.data._n

    @per_class
    def destroy(self, row: int, /) -> None:
        """Remove one instance; O(1). The last row moves into its place.

        With a partition or a group, so does the last row of its part. In a hierarchy, its
        children become roots or go too, as the schema says.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            self._refuse_locked()
        if type(row) is not int or not 0 <= row < self.data._n:
            row = self._row(row)
        self._destroy_row(row)  # type: ignore[arg-type]  # a call takes time

    def sort(self, key: str | ArrayLike, /) -> None:
        """Sort the rows by a scalar field, by name, or by a key, one value per row.

        Ascending, stable, NaN last; inside each part, if there is a partition. O(n log n).

        Raises:
            ValueError: no such field, or a key of another length.
            StructureLockedError: the manager is locked, or a world's group orders its rows.
        """
        if self._locks:
            self._refuse_locked()
        self._check_sortable()
        if isinstance(key, str):
            key = self._key_column(key)
        name = type(self).__name__
        keys = sort_key(key_values(key, name), self.data._n, name)
        self._permute(self._sorted(keys))

    def reorder(self, order: ArrayLike, /) -> None:
        """Let row k become what row order[k] was; O(n).

        Raises:
            ValueError: the order is not a permutation of the rows, or moves one across the
                boundary of a partition.
            StructureLockedError: the manager is locked, or a world's group orders its rows.
        """
        if self._locks:
            self._refuse_locked()
        self._check_sortable()
        name = type(self).__name__
        given = permutation(integers(order, name, "the order"), self.data._n, name)
        self._permute(self._checked_order(given))

    @per_class
    def _plan_closing(self, gone: RowArray) -> Closing:
        src, dst = fill(gone, self.data._n)
        return src, dst, self._plan_moves(src, dst, gone)

    @per_class
    def _close_holes(self, gone: RowArray, closing: Closing) -> None:
        src, dst, moves = closing
        if moves or len(src):
            self._move_many(src, dst, moves)
        data = self.data
        data._n -= len(gone)

    @per_class
    def _move_many(self, src: RowArray, dst: RowArray, moves: Planned) -> None:
        """Move rows src[k] to dst[k], and tell what knows their numbers, as planned."""
        if len(src):
            self.data._move_rows(src, dst)
            for tell in self._MOVED:
                tell(self, dst)
        for planned in moves:
            planned()

    def _plan_moves(
        self, src: RowArray, dst: RowArray, gone: RowArray = NO_ROWS
    ) -> Planned:
        """Find out what links need when the ascending rows `gone` go and rows src[k] move."""
        return ()

    def _row(self, row: object) -> Instance:
        return Instance(row_in_use(row, self))

    def _rows_given(self, rows: ArrayLike) -> RowArray:
        return rows_in_use(rows, self)

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
        return sort_order(keys)

    def _checked_order(self, order: RowArray) -> RowArray:
        """Return a permutation that keeps rows where they must be, or raise ValueError."""
        return order

    def _permute(self, src: RowArray) -> None:
        """Move every row src[k] to k."""
        dst = np.arange(len(src))
        moves = self._plan_moves(src, dst)
        try:
            self._move_many(src, dst, moves)
            self.data._version += 1
        except BaseException:
            self._break()
            raise


# --- Packed rows with a bound: those before it are together, and swaps bring rows
# across it.


class Bounded(Packed):
    """A manager whose first rows are kept apart from the others."""

    __slots__ = NO_SLOTS

    @abstractmethod
    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and tell what knows its number."""

    @abstractmethod
    def _swap_over(self, one: Instance, other: Instance, spare: Instance) -> None:
        """Let two rows change places by way of a third, which is not in use."""

    @per_class
    def _plan_swap(self, one: Instance, other: Instance) -> Closing | None:
        """Find out how two rows change places where there is no spare row behind the last one."""
        data = self.data
        if data._n < data._allocated or one == other:
            return None
        src, dst = np.array([one, other]), np.array([other, one])
        return src, dst, self._plan_moves(src, dst)

    @per_class
    def _swap(self, one: Instance, other: Instance, swap: Closing | None) -> None:
        """Let two rows change places, as planned, or over the spare row behind the last one."""
        if swap is not None:
            self._move_many(*swap)
        elif one != other:
            self._swap_over(one, other, Instance(self.data._n))
