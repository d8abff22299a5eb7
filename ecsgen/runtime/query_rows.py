"""Rows of one manager in the result of a query, and the fastest way to gather from them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .buffers import items
from .handles import NIL, RowArray
from .query_members import FoundRows, RowsOrSlice

_SAMPLES: Final = 16
_SAMPLE: Final = 256
"""Rows that follow each other in a sample of many."""

_NEAR: Final = 1 << 20
"""Bytes that a processor reads in any order without waiting long."""

_CROWDED: Final = 4
"""Among more than four times as many, rows are not put in order: finding them takes too long."""

_PLAIN: Final = (1, 2, 4, 8, 16, 32)
"""Sizes of cells that numpy copies without a call: many of them are on their way at once."""

_STEP: Final = 16_384
"""Cells that are on their way from order to order: a core's own cache holds them."""


class QueryRows:
    """The rows of one member in the result of a join, in its order."""

    __slots__ = ("_order", "_order_sought", "has_nil", "rows")

    def __init__(self, rows: RowsOrSlice, has_nil: bool) -> None:
        self.rows = rows
        self.has_nil = has_nil
        """Whether it is NIL for some entities, as an optional component's may be."""
        self._order: tuple[RowsOrSlice, RowArray] | None = None
        self._order_sought = has_nil

    def gather(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the cells of these rows, a copy; O(k)."""
        rows, size = as_array(self.rows), column.strides[0]
        is_near = size in _PLAIN or len(rows) * size < _NEAR
        order = None if is_near else self._ascending(rows)
        if order is None:
            return column.take(rows, axis=0)
        gathered = np.empty((len(rows), *column.shape[1:]), column.dtype)
        _put_all(items(gathered), items(column), *order)
        return gathered

    def _ascending(self, rows: RowArray) -> tuple[RowsOrSlice, RowArray] | None:
        """Return the rows in order of memory, and the place of each in the result.

        None where they are in that order already, more or less, or few among many.
        """
        if not self._order_sought:
            self._order_sought = True
            if is_strewn(rows):
                self._order = _in_order(rows)
        return self._order


def is_strewn(rows: RowArray) -> bool:
    """Return whether rows go up and down, judged by a sample: not if nearly all ascend."""
    rows = sample_rows(rows)
    down = int(np.count_nonzero(rows[1:] < rows[:-1]))
    return down * 8 > len(rows)


def sample_rows(rows: RowsOrSlice) -> RowArray:
    """Return all rows if they are few, otherwise neighbours from places all over them."""
    count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    if count <= _SAMPLES * _SAMPLE:
        return as_array(rows)
    starts = range(0, count - _SAMPLE, count // _SAMPLES)
    if isinstance(rows, slice):
        first: int = rows.start
        spans = [np.arange(first + k, first + k + _SAMPLE) for k in starts]
    else:
        spans = [rows[k : k + _SAMPLE] for k in starts]
    return np.concatenate(spans)


def row_blocks(rows: RowsOrSlice, size: int) -> Iterator[RowsOrSlice]:
    """Yield the rows, some at a time."""
    if isinstance(rows, slice):
        for start in range(rows.start, rows.stop, size):
            yield slice(start, min(start + size, rows.stop))
    else:
        for start in range(0, len(rows), size):
            yield rows[start : start + size]


def has_nil(rows: RowsOrSlice) -> bool:
    """Return whether some entity has no row."""
    return not isinstance(rows, slice) and bool((rows == NIL).any())


def as_array(rows: RowsOrSlice) -> RowArray:
    """Return rows as an array."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def merged_rows(pieces: list[FoundRows]) -> RowsOrSlice:
    """Return pieces of rows one behind the other, as a slice where all follow each other."""
    if not pieces:
        return slice(0, 0)
    spans = [piece for piece in pieces if isinstance(piece, slice)]
    follows = all(one.stop == next_.start for one, next_ in pairwise(spans))
    if len(spans) == len(pieces) and follows:
        return slice(spans[0].start, spans[-1].stop)
    arrays = [as_array(piece) for piece in pieces]
    return _as_slice(np.concatenate(arrays, dtype=np.intp))


def _as_slice(rows: RowArray) -> RowsOrSlice:
    """Return rows that follow each other as a slice, others as they are."""
    if len(rows) == 0 or rows[0] == NIL:
        return rows
    first, end = int(rows[0]), int(rows[-1]) + 1
    if end - first == len(rows) and np.array_equal(rows, np.arange(first, end)):
        return slice(first, end)
    return rows


def _in_order(rows: RowArray) -> tuple[RowsOrSlice, RowArray] | None:
    """Return distinct rows ascending, and where each was; None if they are few among many."""
    first, count = int(rows.min()), len(rows)
    span = int(rows.max()) + 1 - first
    if span > _CROWDED * count:
        return None
    place = np.full(span, NIL, np.uint32)
    place[rows - first] = np.arange(count, dtype=np.uint32)
    if span == count:
        return slice(first, first + count), place.astype(np.intp)
    used = np.flatnonzero(place != NIL)
    return used + first, place.take(used).astype(np.intp)


def _put_all(
    gathered: NDArray[Any],
    cells: NDArray[Any],
    ascending: RowsOrSlice,
    places: RowArray,
) -> None:
    """Copy cells from ascending rows to their places.

    A processor waits for what it reads, but not for what it writes: reading in the order of
    memory takes half the time of reading in that of the places.
    """
    if isinstance(ascending, slice):
        np.put(gathered, places, cells[ascending], mode="clip")
        return
    for start in range(0, len(places), _STEP):
        part = slice(start, start + _STEP)
        np.put(gathered, places[part], cells.take(ascending[part]), mode="clip")
