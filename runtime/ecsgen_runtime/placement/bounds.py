"""Partitions: rows of two parts, the active ones in front of a bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..handles import RowArray
from .rows import fill
from .sorting import sort_order


def room_at(bound: int, n: int, count: int) -> tuple[RowArray, RowArray]:
    """Return (src, dst) that free `count` rows at the bound: those behind it go to the end."""
    end = bound + count
    return np.arange(bound, min(end, n)), np.arange(max(n, end), n + count)


def fill_parts(gone: RowArray, bound: int, n: int) -> tuple[RowArray, RowArray]:
    """Return (src, dst) that close both parts when the ascending rows `gone` leave.

    The active part closes as any table does. The rows that it gives up belong to the
    inactive part now: they are holes of that part, like those of its own rows that
    leave.
    """
    split = int(gone.searchsorted(bound))
    src, dst = fill(gone[:split], bound)
    start = bound - split
    holes = np.concatenate((np.arange(start, bound), gone[split:]))
    behind, front = fill(holes - start, n - start)
    return np.concatenate((src, behind + start)), np.concatenate((dst, front + start))


def exchange(rows: RowArray, start: int, end: int) -> tuple[RowArray, RowArray]:
    """Return (src, dst) by which the ascending `rows` come to be [start, end), by swaps alone."""
    outside = np.ones(end - start, np.bool_)
    inside = rows[(rows >= start) & (rows < end)]
    outside[inside - start] = False
    leaving = outside.nonzero()[0] + start
    coming = rows[(rows < start) | (rows >= end)]
    return np.concatenate((leaving, coming)), np.concatenate((coming, leaving))


def parts_sorted(key: NDArray[Any], bound: int) -> RowArray:
    """Return the stable ascending order inside each part, NaN last."""
    return np.concatenate((sort_order(key[:bound]), sort_order(key[bound:]) + bound))


def within_parts(order: RowArray, bound: int, manager: str) -> RowArray:
    """Return an order that keeps every row in its part, or raise ValueError."""
    if len(order) and bound and int(order[:bound].max()) >= bound:
        raise ValueError(f"{manager}: the order moves rows across the active boundary")
    return order
