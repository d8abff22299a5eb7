"""What rows take in an archetype chunk, as the generator and the runtime count it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.archetypes.chunks import (
    ChunkBase,
    ChunkColumns,
    ChunkLayout,
    ChunkPool,
    RowCount,
)
from ecsgen_runtime.buffers import Column
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecsgen.model.columns import chunk_row_bytes, chunk_rows
from ecsgen.model.types import SCALARS
from tests.support.world_package import load

KINDS = {
    name: np.dtype(name if name == "bool" else f"{name[0]}{scalar.nbytes}")
    for name, scalar in SCALARS.items()
}
SHAPES = [(), (3,), (2, 2), (4, 4)]
FIELDS = st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(SHAPES)), max_size=5)


class Row(tuple[Any, ...]):
    """Stands for the rows of all components here."""


def part(columns: Sequence[tuple[str, tuple[int, ...]]]) -> type[ChunkColumns]:
    """A component of these columns, as generated code describes it."""

    class Data(ChunkColumns):
        _ROW = Row
        LAYOUT = tuple(
            Column(f"c{k}", KINDS[kind], shape, KINDS[kind].itemsize * prod(shape), (), 0)
            for k, (kind, shape) in enumerate(columns)
        )

        def __init__(self, rows: RowCount, columns: Sequence[NDArray[Any]]) -> None:
            self._rows = rows

    return Data


@given(parts=st.lists(FIELDS, min_size=1, max_size=3), size=st.sampled_from([4096, 5000, 16384]))
def test_the_generator_counts_as_the_runtime_does(
    parts: list[list[tuple[str, tuple[int, ...]]]], size: int
) -> None:
    text = "\n---\n".join(
        f"component: C{k}\nfields: {{"
        + ", ".join(
            f'c{i}: "{kind}{list(shape) if shape else ""}"'.replace(" ", "").replace(":", ": ")
            for i, (kind, shape) in enumerate(fields)
        )
        + "}"
        for k, fields in enumerate(parts)
    )
    components = load(text).components
    if chunk_row_bytes(components) > size:
        assert chunk_rows(components, size) == 0
        return
    layout = ChunkLayout(2 ** len(parts) - 1, [part(fields) for fields in parts], size)
    assert layout.capacity == chunk_rows(components, size) > 0


@given(fields=FIELDS)
def test_columns_lie_apart_on_cache_lines(fields: list[tuple[str, tuple[int, ...]]]) -> None:
    layout = ChunkLayout(1, [part(fields)], 8192)
    chunk: ChunkBase = ChunkPool(ChunkBase, 8192).take(layout)
    assert chunk.buffer.nbytes == 8192
    start = chunk.buffer.__array_interface__["data"][0]
    ends = start
    for column in chunk._columns:
        first = column.__array_interface__["data"][0]
        assert first % 64 == 0
        assert first >= ends
        assert column.shape[0] == layout.capacity
        ends = first + column.nbytes
    assert ends <= start + 8192
    # one row more would not have fitted
    rows = layout.capacity + 1
    lines = (-(-rows * place.column.nbytes // 64) * 64 for place in layout.places)
    assert sum(lines) > 8192


def test_empty_chunks_are_used_again_by_anyone() -> None:
    pool = ChunkPool(ChunkBase, 4096)
    one, other = (ChunkLayout(1, [part([(kind, ())])], 4096) for kind in ("f32", "u8"))
    chunk = pool.take(one)
    pool.give(chunk)
    assert pool.take(one) is chunk
    pool.give(chunk)
    again = pool.take(other)
    assert again.buffer is chunk.buffer
    assert pool.nbytes == 4096
    assert pool.take(other).buffer is not chunk.buffer
    assert pool.nbytes == 8192
    pool.give(again)
    pool.clear()
    assert pool.nbytes == 4096


def test_missing_columns_are_no_attributes() -> None:
    layout = ChunkLayout(2, [part([]), part([("f32", ())])], 4096)
    chunk = ChunkPool(ChunkBase, 4096).take(layout)
    with pytest.raises(AttributeError, match="Row"):
        chunk._parts[0]
    assert chunk._parts[1] is chunk._parts[1]
