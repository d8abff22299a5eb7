"""Queries of components in archetypes as Arrow tables: a batch for each chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from ..archetypes.chunks import ChunkBase
from .tables import ComponentStruct, field_parts, struct_batch

ChunkedParts: TypeAlias = Mapping[int, Any]
"""The classes of `ChunkColumns` by component number."""


def chunk_structs(parts: ChunkedParts, flat: bool) -> list[ComponentStruct]:
    """Return the components of a query, which are named as their modules are."""
    return [
        ComponentStruct(
            part.__module__.rpartition(".")[2], part, field_parts(part, flat)
        )
        for part in parts.values()
    ]


def chunk_batches(
    parts: ChunkedParts, chunks: Iterator[ChunkBase], copy: bool, flat: bool
) -> Iterator[Any]:
    """Yield a batch for each chunk; O(components), and O(rows) for each column that is copied."""
    structs = chunk_structs(parts, flat)
    for chunk in chunks:
        arrays = [
            _array(struct, chunk, number, copy)
            for number, struct in zip(parts, structs, strict=True)
        ]
        yield struct_batch(chunk.entity, structs, arrays, copy)


def _array(struct: ComponentStruct, chunk: ChunkBase, number: int, copy: bool) -> Any:
    if number not in chunk._layout.components:
        return struct.nulls(chunk.n)
    columns = chunk._parts[number]
    cells = {part.source: getattr(columns, part.source) for part in struct.parts}
    return struct.array(cells, chunk.n, copy)
