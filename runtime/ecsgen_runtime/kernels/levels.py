"""What a kernel that reads parents runs on: the rows of a hierarchy, level by level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.fast_typing import NamedTuple
from ..base.handles import NIL, RowArray
from ..tables.placement import rows_to_slice
from .blocks import (
    BlockColumn,
    Copied,
    RowBatch,
    ScratchSpec,
    batch_of,
    block_rows,
    moved_rows,
    row_copies,
    working_memory,
)


class ParentColumn(NamedTuple):
    """A field of the rows' parents."""

    column: BlockColumn
    above_roots: ArrayLike
    """What roots read, as an array that broadcasts to their block."""
    own: int | None
    """Which of the rows' own columns it is, if the kernel writes it."""


_FEW: Final = 256


class LevelBlocks:
    """Blocks of one level each, from the roots down: rows' own fields, parents' fields, and working
    memory; good for one version.

    If all rows fit the memory of a block, they are gathered at once, level behind level, and put
    back when all is done: with few rows it is numpy's calls that take the time. Rows that lie one
    behind the other are worked on where they are.
    """

    def __init__(
        self,
        levels: Sequence[RowArray],
        parents: NDArray[Any],
        stamp: int,
        columns: Sequence[BlockColumn],
        above: Sequence[ParentColumn],
        working: Sequence[ScratchSpec],
    ) -> None:
        self.stamp = stamp
        fields = [one.memory for one in (*columns, *(each.column for each in above))]
        size = block_rows([*fields, *working])
        count = sum(map(len, levels))
        rows = np.concatenate([np.empty(0, np.intp), *levels])
        place = _places(rows, parents) if count <= size else None
        size = min(size, max(map(len, levels), default=0)) if place is None else count
        if count <= _FEW:  # numpy's calls are shortest if all lies as most columns do
            working = [(*cells[:2], True) for cells in working]
        memory = [working_memory(cells, size) for cells in (*fields, *working)]
        self.nbytes = sum(array.nbytes for array in memory)
        """Bytes that are held beside the columns."""
        self._batches: list[RowBatch] = []
        if place is None:
            self._batches = list(_by_level(levels, parents, columns, above, memory))
            self.nbytes += sum(level.nbytes for level in levels[1:])
        elif count:
            whole = batch_of(columns, rows_to_slice(rows), memory)
            self._batches = _at_once(whole, len(columns), levels, parents, above, place)
            self.nbytes += 2 * rows.nbytes

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the blocks."""
        return moved_rows(self._batches)


def _by_level(
    levels: Sequence[RowArray],
    parents: NDArray[Any],
    columns: Sequence[BlockColumn],
    above: Sequence[ParentColumn],
    memory: Sequence[NDArray[Any]],
) -> Iterator[RowBatch]:
    """Yield blocks that all have the same memory; what is above roots is not copied."""
    size = memory[0].shape[-1]
    for depth, level in enumerate(levels):
        for start in range(0, len(level), size or 1):
            rows = level[start : start + size]
            some = [array[..., : len(rows)] for array in memory]
            batch = batch_of(columns, rows_to_slice(rows), some)
            views = list(batch.views)
            upper = parents[rows].astype(np.intp)
            for place, one in enumerate(above, len(columns)):
                into = some[place]
                if depth:
                    batch.gathered.extend(row_copies(one.column.cells, upper, into))
                else:
                    roots = np.asarray(one.above_roots, into.dtype)
                    views[place] = np.broadcast_to(roots, into.shape)
            yield batch._replace(views=tuple(views))


def _at_once(
    whole: RowBatch,
    first: int,
    levels: Sequence[RowArray],
    parents: NDArray[Any],
    above: Sequence[ParentColumn],
    place: RowArray,
) -> list[RowBatch]:
    """Return blocks whose memory lies behind each other, `place`: where rows are in it. Parents'
    fields begin with the `first` array; roots' are filled once, which numpy reads sooner.
    """
    gathered, memory, put = whole
    roots = len(levels[0])
    upper = parents[np.concatenate([np.empty(0, np.intp), *levels[1:]])].astype(np.intp)
    for number, one in enumerate(above, first):
        memory[number][..., :roots] = one.above_roots
        if one.own is None:
            below = memory[number][..., roots:]
            gathered += row_copies(one.column.cells, upper, below)
    batches, start = [], 0
    for level in levels:
        views = tuple(array[..., start : start + len(level)] for array in memory)
        made: list[Copied] = []
        for number, one in enumerate(above, first):
            if start and one.own is not None:
                upper = place[parents[level]]
                made += row_copies(memory[one.own], upper, views[number])
        batches.append(RowBatch(made, views, []))
        start += len(level)
    batches[0].gathered.extend(gathered)
    batches[-1].put.extend(put)
    return batches


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
