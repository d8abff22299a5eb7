"""Blocks for kernels that read parents: the rows of a hierarchy, level by level."""

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
    """Field of the rows' parents."""

    column: BlockColumn
    above_roots: ArrayLike
    """Value that roots read, as an array that broadcasts to their block."""
    own: int | None
    """Number of the field among the rows' own columns, if the kernel writes it."""


_FEW: Final = 256


class LevelBlocks:
    """Blocks of one level each, from the roots down: rows' own fields, parents' fields, and working
    memory; valid for one version.

    If all rows fit the memory of a block, they are gathered at once, level after level, and put
    back at the end: with few rows numpy's calls take most of the time. Consecutive rows are views.
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
        fields = [column.memory for column in (*columns, *(each.column for each in above))]
        size = block_rows([*fields, *working])
        count = sum(map(len, levels))
        rows = np.concatenate([np.empty(0, np.intp), *levels])
        positions = _positions(rows, parents) if count <= size else None
        size = min(size, max(map(len, levels), default=0)) if positions is None else count
        if count <= _FEW:  # numpy's calls are fastest with the layout of most columns
            working = [(*spec[:2], True) for spec in working]
        memory = [working_memory(spec, size) for spec in (*fields, *working)]
        self.nbytes = sum(array.nbytes for array in memory)
        """Bytes of the blocks' own memory."""
        self._batches: list[RowBatch] = []
        if positions is None:
            self._batches = list(_by_level(levels, parents, columns, above, memory))
            self.nbytes += sum(level.nbytes for level in levels[1:])
        elif count:
            batch = batch_of(columns, rows_to_slice(rows), memory)
            self._batches = _at_once(batch, len(columns), levels, parents, above, positions)
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
    """Yield blocks that share one memory; values above roots are not copied."""
    size = memory[0].shape[-1]
    for depth, level in enumerate(levels):
        for start in range(0, len(level), size or 1):
            rows = level[start : start + size]
            arrays = [array[..., : len(rows)] for array in memory]
            batch = batch_of(columns, rows_to_slice(rows), arrays)
            views = list(batch.views)
            upper = parents[rows].astype(np.intp)
            for number, parent in enumerate(above, len(columns)):
                into = arrays[number]
                if depth:
                    batch.gathered.extend(row_copies(parent.column.cells, upper, into))
                else:
                    roots = np.asarray(parent.above_roots, into.dtype)
                    views[number] = np.broadcast_to(roots, into.shape)
            yield batch._replace(views=tuple(views))


def _at_once(
    batch: RowBatch,
    first: int,
    levels: Sequence[RowArray],
    parents: NDArray[Any],
    above: Sequence[ParentColumn],
    positions: RowArray,
) -> list[RowBatch]:
    """Return blocks with adjacent memory, in which rows are at `positions`. Parents' fields begin
    with array `first`; those of roots are filled once."""
    gathered, memory, put = batch
    roots = len(levels[0])
    upper = parents[np.concatenate([np.empty(0, np.intp), *levels[1:]])].astype(np.intp)
    for number, parent in enumerate(above, first):
        memory[number][..., :roots] = parent.above_roots
        if parent.own is None:
            below = memory[number][..., roots:]
            gathered += row_copies(parent.column.cells, upper, below)
    batches, start = [], 0
    for level in levels:
        views = tuple(array[..., start : start + len(level)] for array in memory)
        moves: list[Copied] = []
        for number, parent in enumerate(above, first):
            if start and parent.own is not None:
                upper = positions[parents[level]]
                moves += row_copies(memory[parent.own], upper, views[number])
        batches.append(RowBatch(moves, views, []))
        start += len(level)
    batches[0].gathered.extend(gathered)
    batches[-1].put.extend(put)
    return batches


def _positions(rows: RowArray, parents: NDArray[Any]) -> RowArray | None:
    """Return each row's position among the rows, if all their parents are among them, else None."""
    if not len(rows):
        return rows
    positions = np.full(int(rows.max()) + 1, -1)
    positions[rows] = np.arange(len(rows))
    above = parents[rows]
    above = above[above != NIL]
    if (above >= len(positions)).any() or (positions[above] < 0).any():
        return None
    return positions
