"""Blocks of the columns of chunks, for kernels over chunks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..base.fast_typing import NamedTuple
from ..world.archetypes.archetype_store import ChunkQuery, store_of
from ..world.archetypes.chunks import Archetype, ChunkBase, ChunkLayout, chunk_columns, chunk_layout
from .blocks import ScratchSpec, block_rows, rows_last, working_memory


class ChunkField(NamedTuple):
    """A field of a kernel: the numbers of its component and of its column there."""

    component: int
    column: int
    planes: tuple[int, ...] = ()
    """Shape of a split field, whose adjacent columns begin with this one."""

    def place(self, layout: ChunkLayout) -> int:
        """Return the number of the field's first column among all columns of a chunk."""
        return layout.starts[self.component] + self.column

    def nbytes(self, layout: ChunkLayout) -> int:
        """Return the bytes of one row."""
        return layout.places[self.place(layout)].column.nbytes * prod(self.planes)

    def cells(self, chunk: ChunkBase) -> NDArray[Any]:
        """Return the cells of the rows in use, rows last."""
        number = self.place(chunk_layout(chunk))
        column, n = chunk_columns(chunk)[number], chunk.n
        if column.dtype.kind in "mM":  # kernels count the units of times
            column = column.view(np.int64)
        if not self.planes:
            return rows_last(column[:n])
        layouts = chunk_layout(chunk).places[number : number + prod(self.planes)]
        step = layouts[-1].offset - layouts[-2].offset if len(layouts) > 1 else 0
        strides = [prod(self.planes[axis + 1 :]) * step for axis in range(len(self.planes))]
        return np.ndarray(
            (*self.planes, n),
            column.dtype,
            chunk.buffer,
            layouts[0].offset,
            (*strides, column.itemsize),
        )


class ChunkCache:
    """Cache of a kernel for the chunks that a query finds. Valid until a structural change of the
    archetypes."""

    __slots__ = ("_held", "_query", "_version")

    _held: Sequence[NDArray[Any]]
    """Arrays of the cache itself."""

    def __init__(self, query: ChunkQuery[Any, Any, Any]) -> None:
        self._query = query
        self._version = -1
        self.drop()

    @property
    def nbytes(self) -> int:
        """Bytes of the cache itself."""
        return sum(array.nbytes for array in self._held)

    def drop(self) -> None:
        """Drop the cache."""
        raise NotImplementedError

    def keep(self, name: str) -> Self:
        """Store the cache with the archetypes by the kernel's name."""
        store_of(self._query).kernel_blocks[name] = self
        return self

    def _renew_if_changed(self) -> None:
        store = store_of(self._query)
        if self._version != store.version:
            self._renew([archetype for archetype in self._query._archetypes() if archetype.n])
            self._version = store.version

    def _renew(self, archetypes: Sequence[Archetype]) -> None:
        """Fill the cache for all chunks of archetypes with rows."""
        raise NotImplementedError


class ChunkBlocks(ChunkCache):
    """Views of a kernel's fields and of its working memory, block after block; cached.

    After a structural change only chunks that are new, or have more or fewer rows, get new
    views. A block lies in one chunk; all share the working memory of the longest block.
    """

    __slots__ = ("_column_view", "_fields", "_size", "_views", "_working")

    def __init__(
        self,
        query: ChunkQuery[Any, Any, Any],
        fields: Sequence[ChunkField],
        working: Sequence[ScratchSpec],
    ) -> None:
        self._fields = fields
        self._working = working
        super().__init__(query)

    def drop(self) -> None:
        """Drop all views and the working memory."""
        self._version = -1
        self._size = 0
        self._held = []
        self._column_view: dict[ChunkBase, tuple[int, list[tuple[Any, ...]]]] = {}
        self._views: list[tuple[Any, ...]] = []

    def current(self) -> list[tuple[Any, ...]]:
        """Return the blocks; O(chunks) after a structural change, otherwise O(1)."""
        self._renew_if_changed()
        return self._views

    def _renew(self, archetypes: Sequence[Archetype]) -> None:
        longest = max((archetype.capacity for archetype in archetypes), default=0)
        others = sum(f.nbytes(first.layout) for first in archetypes[:1] for f in self._fields)
        size = min(longest, block_rows(self._working, others=others))
        before = self._column_view
        if size != self._size:
            before = {}
            self._size = size
            self._held = [working_memory(spec, size) for spec in self._working]
        self._column_view = {}
        for archetype in archetypes:
            for chunk in archetype.used():
                n, blocks = before.get(chunk, (-1, []))
                if n != chunk.n:
                    blocks = self._blocks(chunk)
                self._column_view[chunk] = chunk.n, blocks
        self._views = [block for _, cached in self._column_view.values() for block in cached]

    def _blocks(self, chunk: ChunkBase) -> list[tuple[Any, ...]]:
        columns, n = [field.cells(chunk) for field in self._fields], chunk.n
        return [
            (
                *(array[..., start : start + self._size] for array in columns),
                *(array[..., : n - start] for array in self._held),
            )
            for start in range(0, n, self._size)
        ]


def chunk_cells(query: ChunkQuery[Any, Any, Any], field: ChunkField, dtype: str) -> NDArray[Any]:
    """Return the cells of a field in all chunks that a query finds, rows last; O(rows)."""
    parts = [field.cells(chunk) for archetype in query._archetypes() for chunk in archetype.used()]
    if not parts:
        return np.empty((*field.planes, 0), dtype)
    return np.concatenate(parts, axis=-1)


def flat_chunk_cells(
    query: ChunkQuery[Any, Any, Any], field: ChunkField, dtype: str
) -> NDArray[Any]:
    """Return the cells of a field in all chunks, flat, the elements of a row adjacent; O(rows)."""
    return np.moveaxis(chunk_cells(query, field, dtype), -1, 0).reshape(-1)
