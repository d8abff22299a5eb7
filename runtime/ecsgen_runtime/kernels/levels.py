"""What a kernel that reads parents runs on: the rows of a hierarchy, level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..handles import NIL, RowArray
from .blocks import (
    Blocks,
    Cells,
    block_rows,
    row_cells,
    working_bytes,
    working_memory,
)


class LevelField(NamedTuple):
    """A field of the rows themselves."""

    column: int
    """Which of the columns it is."""
    is_read: bool
    is_written: bool


class ParentField(NamedTuple):
    """A field of the rows' parents."""

    column: int
    above_roots: ArrayLike
    """What roots read, as an array that broadcasts to their block."""


_FEW: Final = 256
_IS_READ: Final = attrgetter("is_read")
_IS_WRITTEN: Final = attrgetter("is_written")

Copied: TypeAlias = tuple[NDArray[Any], RowArray, NDArray[Any]]
"""Cells, some rows of them, and a copy of these."""


class LevelBlocks(Blocks):
    """Blocks of one level each, from the roots down; their memory begins with the fields.

    Fields are gathered before a block is worked on, and put back behind it. If all rows fit the
    memory of a block, they are gathered at once, level behind level, and put back when all is done:
    with few rows it is numpy's calls that take the time. Rows that lie one behind the other are
    worked on where they are.
    """

    __slots__ = ("_steps",)

    def __init__(
        self,
        levels: Sequence[RowArray],
        parents: NDArray[Any],
        stamp: int,
        columns: Sequence[NDArray[Any]],
        working: Sequence[Cells],
        fields: Sequence[LevelField | ParentField],
    ) -> None:
        self.stamp = stamp
        self._steps: list[_Step] = []
        made = _Making(columns, fields)
        size = block_rows(working_bytes(working))
        count = sum(map(len, levels))
        rows = np.concatenate([np.empty(0, np.intp), *levels])
        place = _places(rows, parents) if count <= size else None
        size = min(size, max(map(len, levels), default=0)) if place is None else count
        if (
            count <= _FEW
        ):  # then numpy's calls are shortest if all lies as most columns do
            own = len(fields)
            working = [*working[:own], *((*cells[:2], True) for cells in working[own:])]
        memory = [working_memory(cells, size) for cells in working]
        self.nbytes = sum(array.nbytes for array in memory)
        if place is None:
            self._steps = made.levels(levels, parents, memory, size)
            self.nbytes += sum(level.nbytes for level in levels[1:])
        elif count:
            self._steps = made.whole(levels, rows, parents, place, memory)
            self.nbytes += 2 * rows.nbytes
        self.views = [step.views for step in self._steps]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks."""
        for gathered, views, put in self._steps:
            for cells, rows, copy in gathered:
                cells.take(rows, out=copy, mode="clip")
            yield views
            for cells, rows, copy in put:
                if cells.dtype.kind == "V":  # `put` takes half the time
                    cells.put(rows, copy, "clip")
                else:
                    cells[rows] = copy


class _Step(NamedTuple):
    """A block: what is copied before it, its arrays, and what is copied behind it."""

    gathered: list[Copied]
    views: tuple[Any, ...]
    put: list[Copied]


class _Making:
    """Makes the blocks of one kernel."""

    def __init__(
        self,
        columns: Sequence[NDArray[Any]],
        fields: Sequence[LevelField | ParentField],
    ) -> None:
        self._whole = columns
        self._columns = [row_cells(column) for column in columns]
        self._fields = fields

    def levels(
        self,
        levels: Sequence[RowArray],
        parents: NDArray[Any],
        memory: Sequence[NDArray[Any]],
        size: int,
    ) -> list[_Step]:
        """Return blocks that all have the same memory."""
        steps = []
        for depth, level in enumerate(levels):
            for start in range(0, len(level), size or 1):
                rows = level[start : start + size]
                views = [array[..., : len(rows)] for array in memory]
                above = parents[rows].astype(np.intp)
                views, gathered, put = self._owned(rows, views)
                if depth:
                    gathered += self._of_parents(above, views)
                else:
                    self._above_roots(views)
                steps.append(_Step(gathered, tuple(views), put))
        return steps

    def whole(
        self,
        levels: Sequence[RowArray],
        rows: RowArray,
        parents: NDArray[Any],
        place: RowArray,
        memory: Sequence[NDArray[Any]],
    ) -> list[_Step]:
        """Return blocks whose memory lies behind each other; `place`: where rows are in it."""
        memory, own, put = self._owned(rows, memory)
        steps = []
        start = 0
        for level in levels:
            views = [array[..., start : start + len(level)] for array in memory]
            gathered: list[Copied] = []
            if start:
                gathered = self._of_placed(place[parents[level]], views, memory)
            else:
                self._fill_above_roots(views)
            steps.append(_Step(gathered, tuple(views), []))
            start += len(level)
        steps[0].gathered.extend(own)
        above = parents[rows[len(levels[0]) :]].astype(np.intp)
        below = [array[..., len(levels[0]) :] for array in memory]
        steps[0].gathered.extend(self._of_parents(above, below, is_written=False))
        steps[-1].put.extend(put)
        return steps

    def _owned(
        self, rows: RowArray, views: Sequence[NDArray[Any]]
    ) -> tuple[list[NDArray[Any]], list[Copied], list[Copied]]:
        """Return where the rows' own fields are worked on, what is gathered and what is put."""
        if not _follow_each_other(rows):
            read = self._own(rows, views, _IS_READ)
            return list(views), read, self._own(rows, views, _IS_WRITTEN)
        here = list(views)
        for number, field in enumerate(self._fields):
            if isinstance(field, LevelField):
                here[number] = self._whole[field.column][..., rows[0] : rows[-1] + 1]
        return here, [], []

    def _own(
        self,
        rows: RowArray,
        views: Sequence[NDArray[Any]],
        is_concerned: Callable[[LevelField], bool],
    ) -> list[Copied]:
        """Return how the rows' own fields are copied, those that this concerns."""
        found: list[Copied] = []
        for field, view in zip(self._fields, views, strict=False):
            if isinstance(field, LevelField) and is_concerned(field):
                found += _copied(self._columns[field.column], rows, view)
        return found

    def _of_parents(
        self,
        above: RowArray,
        views: Sequence[NDArray[Any]],
        is_written: bool = True,
    ) -> list[Copied]:
        """Return how the parents' fields are gathered, or those that the kernel leaves alone."""
        found: list[Copied] = []
        for field, view in zip(self._fields, views, strict=False):
            if not isinstance(field, ParentField):
                continue
            if is_written or self._memory_of(field) is None:
                found += _copied(self._columns[field.column], above, view)
        return found

    def _of_placed(
        self,
        above: RowArray,
        views: Sequence[NDArray[Any]],
        memory: Sequence[NDArray[Any]],
    ) -> list[Copied]:
        """Return how the parents' fields are gathered that the kernel writes into memory."""
        found: list[Copied] = []
        for field, view in zip(self._fields, views, strict=False):
            own = self._memory_of(field) if isinstance(field, ParentField) else None
            if own is not None:
                found += _copied(row_cells(memory[own]), above, view)
        return found

    def _memory_of(self, parent: ParentField) -> int | None:
        """Return which memory has a parents' field if the kernel writes it, as rows' own."""
        for number, field in enumerate(self._fields):
            is_own = isinstance(field, LevelField) and field.is_written
            if is_own and field.column == parent.column:
                return number
        return None

    def _fill_above_roots(self, views: Sequence[NDArray[Any]]) -> None:
        """Write what is above roots to memory of their own, which numpy reads sooner."""
        for field, view in zip(self._fields, views, strict=False):
            if isinstance(field, ParentField):
                view[...] = field.above_roots

    def _above_roots(self, views: list[NDArray[Any]]) -> None:
        """Show what is above roots instead of parents' fields; nothing is copied."""
        for number, field in enumerate(self._fields):
            if isinstance(field, ParentField):
                view = views[number]
                above = np.asarray(field.above_roots, view.dtype)
                views[number] = np.broadcast_to(above, view.shape)


def _copied(
    cells: Sequence[NDArray[Any]], rows: RowArray, copy: NDArray[Any]
) -> Iterator[Copied]:
    """Yield what is copied of a column: both as `row_cells` has them."""
    for each, into in zip(cells, row_cells(copy), strict=True):
        yield each, rows, into


def _follow_each_other(rows: RowArray) -> bool:
    return len(rows) > 0 and bool((np.diff(rows) == 1).all())


def _places(rows: RowArray, parents: NDArray[Any]) -> RowArray | None:
    """Return where each row is among some, if all their parents are among them, too."""
    if not len(rows):
        return rows
    place = np.full(int(rows.max()) + 1, -1)
    place[rows] = np.arange(len(rows))
    above = parents[rows]
    above = above[above != NIL]
    if (above >= len(place)).any() or (place[above] < 0).any():
        return None
    return place
