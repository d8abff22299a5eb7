"""What rows take in an archetype chunk: each column on a cache line of its own, owners first."""

from __future__ import annotations

from collections.abc import Iterable

from ecsgen.model import Component
from ecsgen.model.columns import field_columns

CACHE_LINE = 64
OWNER_BYTES = 8


def chunk_rows(components: Iterable[Component], chunk: int) -> int:
    """Return how many rows with all these components fit into a chunk; 0 if none does."""
    sizes = _chunk_sizes(components)
    rows = chunk // sum(sizes)
    while _chunk_bytes(sizes, rows) > chunk:
        rows -= 1
    return rows


def chunk_row_bytes(components: Iterable[Component]) -> int:
    """Return the bytes that one row with all these components takes in a chunk of its own."""
    return _chunk_bytes(_chunk_sizes(components), 1)


def _chunk_sizes(components: Iterable[Component]) -> list[int]:
    columns = (c for component in components for f in component.fields for c in field_columns(f))
    return [OWNER_BYTES, *(column.nbytes for column in columns)]


def _chunk_bytes(sizes: list[int], rows: int) -> int:
    return sum(whole_lines(rows * size) for size in sizes)


def whole_lines(nbytes: int) -> int:
    """Return the bytes of the cache lines that so many bytes take."""
    return -(-nbytes // CACHE_LINE) * CACHE_LINE
