"""Blocks of some rows of a component, and values that go with each row of any blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from ..handles import RowArray
from .blocks import (
    Blocks,
    Cells,
    block_rows,
    put_rows,
    row_cells,
    take_rows,
    working_bytes,
    working_memory,
)


def chosen_blocks(
    whole: Blocks, rows: RowArray, written: Sequence[int]
) -> Iterator[tuple[Any, ...]]:
    """Yield blocks of some rows of those that a kernel has blocks of, with the same arrays.

    The rows are gathered as a block is asked for. `written` says which of the columns are
    put back when the next one is.
    """
    columns: list[Cells] = [
        (each.dtype.str, each.shape[:-1], each.strides[-1] != each.itemsize)
        for each in whole.columns
    ]
    working = (*columns, *whole.working)
    size = min(len(rows), block_rows(working_bytes(working)))
    memory = [working_memory(cells, size) for cells in working]
    sources = [row_cells(column) for column in whole.columns]
    for start in range(0, len(rows), size or 1):
        some = rows[start : start + size]
        views = tuple(array[..., : len(some)] for array in memory)
        copies = [row_cells(view) for view in views[: len(columns)]]
        for source, copy in zip(sources, copies, strict=True):
            take_rows(source, some, copy)
        yield views
        for number in written:
            put_rows(sources[number], some, copies[number])


def beside(
    blocks: Iterable[tuple[Any, ...]], *each: NDArray[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield blocks with the values of their rows behind the arrays; rows are last in all."""
    start = 0
    for views in blocks:
        end = start + views[0].shape[-1]
        yield (*views, *(values[..., start:end] for values in each))
        start = end
