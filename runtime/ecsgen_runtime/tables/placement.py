"""Placement: checks of row arguments, and where rows move when the table changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from typing import Any, Final, SupportsIndex, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import (
    DuplicateInstanceError,
    MissingInstanceError,
    StaleInstanceError,
    StructureLockedError,
    short_repr,
)
from ..base.handles import NIL, EntityArray, HandleLayout, RowArray
from ..values.interchange import plain_array, refuse_nulls, table_hint

Moves: TypeAlias = tuple[RowArray, RowArray]
"""(src, dst): rows src[k] move to dst[k]."""

Write: TypeAlias = tuple[NDArray[Any], RowArray | slice, NDArray[Any] | int]
"""Column, rows, and their new cells."""

CommitSteps: TypeAlias = tuple[Callable[[], None], ...]
"""Steps to take once rows have moved; they allocate nothing of size."""

NO_ROWS: Final = np.empty(0, np.intp)
NO_ROWS.flags.writeable = False


def apply_writes(writes: Iterable[Write]) -> None:
    """Execute writes, one after the other."""
    for column, rows, values in writes:
        column[rows] = values


def joined_ranges(starts: RowArray, counts: RowArray) -> tuple[RowArray, RowArray]:
    """Return where each of k ranges begins among the numbers in all of them, shape (k + 1,), and
    these numbers: `counts[i]` from `starts[i]` on. O(k + numbers)."""
    begins = np.zeros(len(counts) + 1, np.intp)
    np.cumsum(counts, out=begins[1:])
    numbers = (starts - begins[:-1]).repeat(counts)
    numbers += np.arange(len(numbers))
    return begins, numbers


# Placements are pure functions over row numbers, with one rule that keeps columns and
# managers in step: the rows that fill ascending holes ascend.


_DENSE = 16
"""Sets of more than one row in 16 are checked through a mask, smaller ones by sorting."""


def is_integer(value: object) -> TypeGuard[SupportsIndex]:
    """Return whether a value has the type of a handle or a row."""
    return hasattr(value, "__index__")


def integers(values: ArrayLike, manager: str, what: str) -> NDArray[Any]:
    """Return array-like integers (or bools) as an array of one dimension.

    TypeError for all else and for masked elements, ValueError for nulls and for more dimensions.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:  # sequences of different lengths
        wrong = f"{manager}: {what} must be a flat array, not {short_repr(values)}"
        raise ValueError(wrong) from error
    if array is not values and isinstance(values, np.ndarray):
        refuse_nulls(values, f"{manager}: {what}")
    if array.ndim == 0 and not is_integer(values):
        kind = f"{type(values).__name__}{table_hint(values)}"
        raise TypeError(f"{manager}: {what} must be an array or a sequence, not {kind}")
    if array.ndim != 1:
        raise ValueError(f"{manager}: {what} must have one dimension, not {array.ndim}")
    if len(array) == 0 and not isinstance(values, np.ndarray):
        return array.astype(np.intp)
    if array.dtype.kind in "iub":
        return array
    if array.dtype.kind == "O" or (array.dtype.kind == "f" and array is not values):
        # numpy makes floats of integers that share no integer type, and of nulls
        refuse_nulls(values, f"{manager}: {what}")
        try:
            return _from_objects(np.asarray(values, np.object_))
        except TypeError as error:
            raise TypeError(f"{manager}: {what} must be integers: {error}") from error
    raise TypeError(f"{manager}: {what} must be integers, not {array.dtype}")


def _from_objects(array: NDArray[Any]) -> NDArray[Any]:
    """Return integers of any size as int64, bools as bools, as libraries keep them in objects.

    Numbers that fit no row become -1, a row never in use.
    """
    values = array.tolist()
    if values and all(isinstance(value, (bool, np.bool_)) for value in values):
        return np.array(values, np.bool_)
    numbers = (index(value) for value in values)
    return np.array([n if 0 <= n <= NIL else -1 for n in numbers], np.int64)


def sort_distinct(rows: RowArray, n: int, manager: str) -> RowArray:
    """Return the rows, ascending, as a new array; O(k).

    StaleInstanceError if one is given twice.
    """
    if len(rows) < 2:
        return rows.copy()
    if len(rows) * _DENSE > n:
        mask = np.zeros(n, np.bool_)
        mask[rows] = True
        ascending = mask.nonzero()[0]
    else:
        ascending = rows.copy()
        ascending.sort()  # `unique` is written in Python
        if np.logical_or.reduce(ascending[1:] == ascending[:-1]):
            raise repeated_row_error(rows, manager)
    if len(ascending) < len(rows):
        raise repeated_row_error(rows, manager)
    return ascending


def repeated_row_error(rows: RowArray, manager: str) -> StaleInstanceError:
    """Return the error of rows of which one is repeated."""
    ordered = np.sort(rows)
    twice = int(ordered[1:][ordered[1:] == ordered[:-1]][0])
    return StaleInstanceError(f"{manager}: row {twice} is given twice")


def swap_remove_moves(removed: RowArray, n: int) -> tuple[RowArray, RowArray]:
    """Return the moves (src, dst) when ascending rows of n are removed.

    The rows behind the new end move, in ascending order, into the holes before it.
    """
    n_kept = n - len(removed)
    if n_kept == 0:
        return NO_ROWS, NO_ROWS
    split = int(removed.searchsorted(n_kept))
    stays = np.empty(n - n_kept, np.bool_)
    stays.fill(True)  # `ones` is written in Python
    stays[removed[split:] - n_kept] = False
    return stays.nonzero()[0] + n_kept, removed[:split]


def permutation(order: NDArray[Any], n: int, manager: str) -> RowArray:
    """Return integers as rows if they name each of n rows once, or raise ValueError; O(n).

    A view is copied: it may be one of a column that is going to move.
    """
    if order.dtype == np.bool_:
        raise ValueError(f"{manager}: an order takes row numbers, not a mask")
    seen = np.zeros(n, np.bool_)
    if len(order) == n and not np.logical_or.reduce((order < 0) | (order >= n)):
        seen[order] = True
    if len(order) != n or not np.logical_and.reduce(seen):
        raise ValueError(f"{manager}: the order is not a permutation of the {n} rows")
    return order.astype(np.intp, copy=order.base is not None)


class Remap:
    """Map of rows below n: `keys` to `values`, which may be NIL; NIL and other rows to themselves.
    O(k log k).
    """

    __slots__ = ("_keys", "_table", "_values")

    def __init__(self, keys: RowArray, values: RowArray, n: int) -> None:
        self._table: RowArray | None = None
        if len(keys) * _DENSE > n:
            self._table = np.arange(n + 1)
            self._table[n] = NIL  # NIL is clipped to this
            self._table[keys] = values
        else:
            order = keys.argsort()
            self._keys = keys[order]
            self._values = values[order]

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return where each of the rows is mapped, a new array; O(k log k)."""
        if self._table is not None:
            return self._table.take(rows, mode="clip")
        if len(self._keys) == 0:
            return rows.copy()
        slots = self._keys.searchsorted(rows)
        np.minimum(slots, len(self._keys) - 1, out=slots)
        return np.where(self._keys[slots] == rows, self._values[slots], rows)


def locked_error(manager: str) -> StructureLockedError:
    """Return the error of a structural change while the manager is locked."""
    return StructureLockedError(
        f"{manager} is locked: a `locked()` block or one of its callbacks is running"
    )


def missing_instance_error(
    manager: str, entity: SupportsIndex, layout: HandleLayout
) -> MissingInstanceError:
    """Return the error of an entity without the component."""
    return MissingInstanceError(f"{manager}: entity {layout.format_handle(entity)} has no instance")


def duplicate_instance_error(
    manager: str, entity: SupportsIndex, layout: HandleLayout
) -> DuplicateInstanceError:
    """Return the error of a second instance where one is allowed."""
    return DuplicateInstanceError(
        f"{manager}: entity {layout.format_handle(entity)} has an instance already"
    )


def first_present(
    manager: str, entities: EntityArray, rows: RowArray, layout: HandleLayout
) -> None:
    """Raise DuplicateInstanceError for the first entity with a row other than NIL."""
    present = rows != NIL
    if present.any():
        raise duplicate_instance_error(manager, int(entities[present.argmax()]), layout)


def first_repeated(manager: str, entities: EntityArray, layout: HandleLayout) -> None:
    """Raise DuplicateInstanceError if an entity is repeated; O(k) if ascending."""
    if len(entities) < 2 or bool((entities[1:] > entities[:-1]).all()):
        return
    ordered = np.sort(entities)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise DuplicateInstanceError(
            f"{manager}: entity {layout.format_handle(repeated[0])} is given twice"
        )


def key_values(key: ArrayLike, manager: str) -> NDArray[Any]:
    """Return a key as an array; objects as their ranks, TypeError if they have no order."""
    array = plain_array(key, f"{manager}: key")
    if array.dtype.kind == "O" and array.ndim == 1:
        return _ranks(array.tolist(), manager)
    return array


def sort_key(key: NDArray[Any], n: int, manager: str) -> NDArray[Any]:
    """Return a key that has one value per row, or raise ValueError."""
    if key.shape != (n,):
        raise ValueError(f"{manager}: a key of shape {key.shape} for {n} rows")
    return key


def sort_order(key: NDArray[Any]) -> RowArray:
    """Return the stable ascending order of a key with one value per row, NaN last."""
    return key.argsort(kind="stable")


def _ranks(values: list[Any], manager: str) -> RowArray:
    """Return the rank of each value in their stable ascending order; NaN, which is not equal to
    itself, comes last."""
    try:
        numbers = [k for k, value in enumerate(values) if value == value]
        order = sorted(numbers, key=values.__getitem__)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{manager}: a key's values need an order: {error}") from error
    nans = set(range(len(values))).difference(numbers)
    ranks = np.empty(len(values), np.intp)
    ranks[[*order, *sorted(nans)]] = np.arange(len(values))
    return ranks


def make_room_moves(bound: int, n: int, count: int) -> tuple[RowArray, RowArray]:
    """Return the moves that free `count` rows at the boundary: rows behind it move to the end."""
    end = bound + count
    return np.arange(bound, min(end, n)), np.arange(max(n, end), n + count)


def swap_remove_moves_in_parts(removed: RowArray, bound: int, n: int) -> tuple[RowArray, RowArray]:
    """Return the moves that close both parts when ascending rows are removed.

    The active part closes as any table does. Its last rows then are holes of the inactive
    part, like the rows removed there.
    """
    split = int(removed.searchsorted(bound))
    src, dst = swap_remove_moves(removed[:split], bound)
    start = bound - split
    holes = np.concatenate((np.arange(start, bound), removed[split:]))
    behind, front = swap_remove_moves(holes - start, n - start)
    return np.concatenate((src, behind + start)), np.concatenate((dst, front + start))


def swap_moves(rows: RowArray, start: int, end: int) -> tuple[RowArray, RowArray]:
    """Return the moves, swaps alone, that bring the ascending `rows` to [start, end)."""
    outside = np.ones(end - start, np.bool_)
    inside = rows[(rows >= start) & (rows < end)]
    outside[inside - start] = False
    leaving = outside.nonzero()[0] + start
    coming = rows[(rows < start) | (rows >= end)]
    return np.concatenate((leaving, coming)), np.concatenate((coming, leaving))


RowsOrSlice: TypeAlias = slice | RowArray
"""Rows of one manager; a slice where they follow each other."""


FoundRows: TypeAlias = slice | NDArray[Any]
"""Rows of one manager during a join, as u32 or intp; a slice if they are consecutive."""


def rows_to_array(rows: RowsOrSlice) -> RowArray:
    """Return rows as an array."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def rows_to_slice(rows: RowArray) -> RowsOrSlice:
    """Return rows that follow each other as a slice, others as they are."""
    if len(rows) == 0 or rows[0] == NIL:
        return rows
    first, end = int(rows[0]), int(rows[-1]) + 1
    if end - first == len(rows) and np.array_equal(rows, np.arange(first, end)):
        return slice(first, end)
    return rows
