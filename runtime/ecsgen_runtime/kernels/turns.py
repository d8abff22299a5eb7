"""Orders in which the rows of a kernel take turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.handles import RowArray
from ..entities.entity_pool import EntityPool
from ..managers.manager import BaseManager
from ..managers.policies.owners import Owned
from ..tables.columns import owner_column, used_rows
from .random_streams import derive_stream_keys, draw_range


def order_by(keys: NDArray[Any], rows: RowArray | None = None) -> RowArray:
    """Return all rows, or some, in ascending order of their keys, shape (n,); NaN is last, and
    rows with equal keys are in row order. O(n log n)."""
    if rows is None:
        return keys.argsort(kind="stable")
    rows = np.sort(rows)
    ordered: RowArray = rows[keys[rows].argsort(kind="stable")]
    return ordered


def drawn_turns(rows: RowArray, count: int, key: np.uint64) -> RowArray:
    """Return the row that has each of so many turns, drawn among `rows`; none of no rows."""
    if not len(rows) or count <= 0:
        return np.empty(0, np.intp)
    streams = np.arange(1, count + 1, dtype=np.uint64)
    word, bits, drawn = np.empty_like(streams), np.empty_like(streams), np.empty(count, np.int64)
    derive_stream_keys(streams, key, streams, bits)
    draw_range(streams, 0, len(rows), drawn, word, bits)
    turns: RowArray = rows[drawn]
    return turns


def living_rows(manager: BaseManager, count: int, rows: RowArray | None = None) -> RowArray:
    """Return the rows in use below `count`, or of `rows`, without those of dead entities. O(n)."""
    if rows is None:
        rows = used_rows(manager.data)
        rows = rows[rows < count]
    if not isinstance(manager, Owned) or owner_column(manager.data).size == 0:
        return rows
    return rows[manager._entities.are_alive(owner_column(manager.data)[rows])]


def living_positions(entities: EntityPool, owners: NDArray[np.uint64]) -> RowArray:
    """Return at which positions there are alive entities."""
    return entities.are_alive(owners).nonzero()[0]
