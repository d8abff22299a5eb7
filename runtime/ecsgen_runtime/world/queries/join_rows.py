"""Rows of one manager in the match of a query: finding and gathering them."""

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
    """Members without rows of dead entities, which come by despawns alone.

    Computing them takes as long as it saves in a join: the first one after a despawn goes without.
    """

    __slots__ = ("_despawn_count", "_entities", "_found", "_members")

    def __init__(self, entities: EntityManagerBase, members: tuple[QueryMember, ...]) -> None:
        self._entities = entities
        self._members = members
        self._despawn_count = -1
        self._found: frozenset[QueryMember] | None = None

    def members(self) -> frozenset[QueryMember]:
        """Return the members known to have no such rows; O(rows) once between two despawns."""
        despawns = self._entities.despawn_count
        if despawns != self._despawn_count:
            self._despawn_count, self._found = despawns, None
            return frozenset()
        if self._found is None:
            alive_many = self._entities.alive_many
            self._found = frozenset(
                member for member in self._members if alive_many(member.owners()).all()
            )
        return self._found


_MAX_SPAN_RATIO: Final = 4
"""Ratio of span to rows above which rows are not sorted, because that takes too long."""


class RowOrder(NamedTuple):
    """Ascending rows, and the position of each in a match in another order."""

    rows: RowsOrSlice
    positions: RowArray

    def gather(self, cells: NDArray[Any], out: NDArray[Any]) -> None:
        """Copy the rows' cells to their positions; both arrays of one item per row. Processors wait
        for reads, not for writes: reading in the order of memory takes half the time."""
        if isinstance(self.rows, slice):
            np.put(out, self.positions, cells[self.rows], mode="clip")
            return
        step = Tuning.reorder_block_rows
        for start in range(0, len(self.positions), step):
            part = slice(start, start + step)
            np.put(out, self.positions[part], cells.take(self.rows[part]), mode="clip")


class JoinRows:
    """Rows of one member in a match, in the order of the match."""

    __slots__ = ("_is_ordered", "_order", "has_nil", "rows")

    def __init__(self, rows: RowsOrSlice, has_nil: bool) -> None:
        self.rows = rows
        self.has_nil = has_nil
        """True if a row is NIL, as an optional component's may be."""
        self._order: RowOrder | None = None
        self._is_ordered = has_nil

    def gather(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of the rows' cells; O(k)."""
        rows = rows_to_array(self.rows)
        # a fast path of `order`
        if len(rows) * column.strides[0] < Tuning.cached_random_bytes:
            return column.take(rows, 0)
        order = self.order(column.strides[0])
        if order is None or column.dtype.hasobject:
            return column.take(rows, axis=0)
        cells = np.empty((len(rows), *column.shape[1:]), column.dtype)
        order.gather(item_view(column), item_view(cells))
        return cells

    def order(self, nbytes: int) -> RowOrder | None:
        """Return the order in which to gather cells of `nbytes`, None for that of the rows: another
        one is faster where cells are scattered over more than a cache."""
        rows = self.rows
        if isinstance(rows, slice) or nbytes in Tuning.fast_copy_sizes:
            return None
        if len(rows) * nbytes < Tuning.cached_random_bytes:
            return None
        if not self._is_ordered:
            self._is_ordered = True
            self._order = order_rows(rows) if is_scattered(rows) else None
        return self._order


def is_scattered(rows: RowArray) -> bool:
    """Return True if rows are in random order, judged by a sample: half of random steps descend;
    below a third, another order is no faster."""
    rows = sample_rows(rows)
    down = int(np.count_nonzero(rows[1:] < rows[:-1]))
    return down * 3 > len(rows)


def sample_rows(rows: RowsOrSlice) -> RowArray:
    """Return all rows if they are few, else runs of rows from all over them."""
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
    """Yield the rows, `size` at a time."""
    if isinstance(rows, slice):
        for start in range(rows.start, rows.stop, size):
            yield slice(start, min(start + size, rows.stop))
    else:
        for start in range(0, len(rows), size):
            yield rows[start : start + size]


def has_nil(rows: RowsOrSlice) -> bool:
    """Return True if an entity has no row."""
    return not isinstance(rows, slice) and bool((rows == NIL).any())


def member_rows(rows: slice | JoinRows) -> RowsOrSlice:
    """Return the rows of a member, or the slice itself."""
    return rows.rows if isinstance(rows, JoinRows) else rows


def member_row_array(rows: slice | JoinRows) -> RowArray:
    """Return the rows of a member, or of a slice, as an array."""
    return rows_to_array(member_rows(rows))


def hidden_rows(rows: RowArray, *parts: tuple[slice | JoinRows, int]) -> RowArray:
    """Return the rows of entities that are inactive in another component; `parts`: their rows in
    each component with a partition, and its number of active rows."""
    is_hidden = np.zeros(len(rows), np.bool_)
    for member, active in parts:
        is_hidden |= member_row_array(member) >= active
    return rows.compress(is_hidden)


def merged_rows(parts: list[FoundRows]) -> RowsOrSlice:
    """Return concatenated parts of rows, as a slice if all are consecutive."""
    if not parts:
        return slice(0, 0)
    if len(parts) == 1:
        (part,) = parts
        if isinstance(part, slice):
            return part
        return rows_to_slice(part.astype(np.intp, copy=False))
    spans = [part for part in parts if isinstance(part, slice)]
    follows = all(span.stop == next_.start for span, next_ in pairwise(spans))
    if len(spans) == len(parts) and follows:
        return slice(spans[0].start, spans[-1].stop)
    arrays = [rows_to_array(part) for part in parts]
    return rows_to_slice(np.concatenate(arrays, dtype=np.intp))


def order_rows(rows: RowArray) -> RowOrder | None:
    """Return the order of distinct rows; None if they are sparse."""
    first, count = int(rows.min()), len(rows)
    span = int(rows.max()) + 1 - first
    if span > _MAX_SPAN_RATIO * count:
        return None
    positions = np.full(span, NIL, np.uint32)
    positions[rows - first] = np.arange(count, dtype=np.uint32)
    if span == count:
        return RowOrder(slice(first, first + count), positions.astype(np.intp))
    used = (positions != NIL).nonzero()[0]
    return RowOrder(used + first, positions.take(used).astype(np.intp))
