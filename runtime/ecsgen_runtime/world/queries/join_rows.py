"""Rows of one manager in the result of a query: how they are found, and gathered from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...base.fast_typing import NamedTuple
from ...base.handles import NIL, RowArray
from ...entities.entity_manager import EntityManagerBase
from ...managers.query_members import QueryMember
from ...tables.buffers import item_view
from ...tables.bulk import Tuning
from ...tables.placement import FoundRows, RowsOrSlice, rows_to_array, rows_to_slice


class CleanMembers:
    """Which members have no rows of dead entities; known while nobody dies.

    A component is created for the living alone, so what is known stays true until the next death.
    Finding it out takes as long as it spares a join, so it waits for a second one.
    """

    __slots__ = ("_despawn_count", "_entities", "_found", "_members")

    def __init__(self, entities: EntityManagerBase, members: tuple[QueryMember, ...]) -> None:
        self._entities = entities
        self._members = members
        self._despawn_count = -1
        self._found: frozenset[QueryMember] | None = None

    def members(self) -> frozenset[QueryMember]:
        """Return those that are known to have none; O(rows) once between two deaths."""
        deaths = self._entities._despawn_count
        if deaths != self._despawn_count:
            self._despawn_count, self._found = deaths, None
            return frozenset()
        if self._found is None:
            alive_many = self._entities.alive_many
            self._found = frozenset(
                member for member in self._members if alive_many(member.owners()).all()
            )
        return self._found


_CROWDED: Final = 4
"""Among more than four times as many, rows are not put in order: finding them takes too long."""


class RowOrder(NamedTuple):
    """Rows that ascend, and the place of each in a result that has another order."""

    rows: RowsOrSlice
    places: RowArray

    def gather(self, cells: NDArray[Any], out: NDArray[Any]) -> None:
        """Copy the rows' cells to their places; both arrays of one item per row.

        A processor waits for what it reads, but not for what it writes: reading in the order of
        memory takes half the time of reading in that of the places.
        """
        if isinstance(self.rows, slice):
            np.put(out, self.places, cells[self.rows], mode="clip")
            return
        step = Tuning.reorder_block_rows
        for start in range(0, len(self.places), step):
            part = slice(start, start + step)
            np.put(out, self.places[part], cells.take(self.rows[part]), mode="clip")


class JoinRows:
    """The rows of one member in the result of a join, in its order."""

    __slots__ = ("_is_ordered", "_order", "has_nil", "rows")

    def __init__(self, rows: RowsOrSlice, has_nil: bool) -> None:
        self.rows = rows
        self.has_nil = has_nil
        """Whether it is NIL for some entities, as an optional component's may be."""
        self._order: RowOrder | None = None
        self._is_ordered = has_nil

    def gather(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the cells of these rows, a copy; O(k)."""
        rows = rows_to_array(self.rows)
        # as `order` says, without its questions
        if len(rows) * column.strides[0] < Tuning.cached_random_bytes:
            return column.take(rows, 0)
        order = self.order(column.strides[0])
        if order is None or column.dtype.hasobject:
            return column.take(rows, axis=0)
        cells = np.empty((len(rows), *column.shape[1:]), column.dtype)
        order.gather(item_view(column), item_view(cells))
        return cells

    def order(self, nbytes: int) -> RowOrder | None:
        """Return in which order cells of so many bytes are gathered, if not in that of the rows.

        That is where they are scattered over more than a processor has near.
        """
        rows = self.rows
        if isinstance(rows, slice) or nbytes in Tuning.fast_copy_sizes:
            return None
        if len(rows) * nbytes < Tuning.cached_random_bytes:
            return None
        if not self._is_ordered:
            self._is_ordered = True
            self._order = _order_rows(rows) if is_scattered(rows) else None
        return self._order


def is_scattered(rows: RowArray) -> bool:
    """Return whether rows go up and down, judged by a sample: in no order half the steps go down,
    and where fewer than a third do, nothing is won by going about it in another order.
    """
    rows = sample_rows(rows)
    down = int(np.count_nonzero(rows[1:] < rows[:-1]))
    return down * 3 > len(rows)


def sample_rows(rows: RowsOrSlice) -> RowArray:
    """Return all rows if they are few, otherwise neighbours from places all over them."""
    count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    length = Tuning.sample_length
    if count <= Tuning.sample_count * length:
        return rows_to_array(rows)
    starts = range(0, count - length, count // Tuning.sample_count)
    if isinstance(rows, slice):
        first: int = rows.start
        spans = [np.arange(first + k, first + k + length) for k in starts]
    else:
        spans = [rows[k : k + length] for k in starts]
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


def member_rows(rows: slice | JoinRows) -> RowsOrSlice:
    """Return the rows of one member themselves."""
    return rows.rows if isinstance(rows, JoinRows) else rows


def member_row_array(rows: slice | JoinRows) -> RowArray:
    """Return the same as an array."""
    return rows_to_array(member_rows(rows))


def hidden_rows(rows: RowArray, *parts: tuple[slice | JoinRows, int]) -> RowArray:
    """Return which of some rows nobody sees: of entities that are inactive in another component.

    `parts`: the rows of the same entities in each of those with a partition, and how many of its
    rows are active.
    """
    is_hidden = np.zeros(len(rows), np.bool_)
    for found, active in parts:
        is_hidden |= member_row_array(found) >= active
    return rows[is_hidden]


def merged_rows(pieces: list[FoundRows]) -> RowsOrSlice:
    """Return pieces of rows one behind the other, as a slice where all follow each other."""
    if not pieces:
        return slice(0, 0)
    if len(pieces) == 1:
        (piece,) = pieces
        if isinstance(piece, slice):
            return piece
        return rows_to_slice(piece.astype(np.intp, copy=False))
    spans = [piece for piece in pieces if isinstance(piece, slice)]
    follows = all(one.stop == next_.start for one, next_ in pairwise(spans))
    if len(spans) == len(pieces) and follows:
        return slice(spans[0].start, spans[-1].stop)
    arrays = [rows_to_array(piece) for piece in pieces]
    return rows_to_slice(np.concatenate(arrays, dtype=np.intp))


def _order_rows(rows: RowArray) -> RowOrder | None:
    """Return distinct rows in order; None if they are few among many."""
    first, count = int(rows.min()), len(rows)
    span = int(rows.max()) + 1 - first
    if span > _CROWDED * count:
        return None
    place = np.full(span, NIL, np.uint32)
    place[rows - first] = np.arange(count, dtype=np.uint32)
    if span == count:
        return RowOrder(slice(first, first + count), place.astype(np.intp))
    used = (place != NIL).nonzero()[0]
    return RowOrder(used + first, place.take(used).astype(np.intp))
