"""Trees: what follows from a column of parents alone, found by pointer doubling.

A round replaces every row's ancestor by that one's ancestor, so that r rounds climb 2**r steps: a
chain of a million rows takes twenty.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..handles import NIL, Instance, RowArray
from ..instances.chains import ROUNDS, Links

_FEW_BELOW: Final = 64
"""So many rows are found one after the other."""

_SHORT: Final = 16
"""Bits of a key that numpy sorts by radix, ten times faster than longer ones."""


def _upwards(parents: Links) -> RowArray:
    """Return the parents with n, a row above all roots and its own parent, instead of NIL."""
    n = len(parents)
    up = np.full(n + 1, n)
    np.minimum(parents, n, out=up[:n], casting="unsafe")
    return up


def depths(parents: Links) -> NDArray[np.int32]:
    """Return the number of ancestors of each row, shape (n,); O(n log depth)."""
    n = len(parents)
    up = _upwards(parents)
    depth = np.zeros(n + 1, np.int32)
    depth[:n] = parents != NIL
    while not (up == n).all():
        depth += depth.take(up)
        up = up.take(up)
    return depth[:n]


def below(parents: Links, rows: RowArray) -> RowArray:
    """Return the rows and all their descendants, ascending; O(n log depth)."""
    n = len(parents)
    up = _upwards(parents)
    marked = np.zeros(n + 1, np.bool_)
    marked[rows] = True
    while not (up == n).all():
        marked |= marked.take(up)
        up = up.take(up)
    return marked.nonzero()[0]


def few_below(
    firsts: memoryview[Instance], nexts: memoryview[Instance], rows: list[int]
) -> list[int] | None:
    """Return rows and all their descendants, ascending, if they are few; O(descendants).

    One after the other, which is quicker than numpy's calls for a level at a time.
    """
    found, pending = set(rows), rows
    while pending:
        row = firsts[pending.pop()]
        while row != NIL:
            if row not in found:
                found.add(row)
                pending.append(row)
            if len(found) > _FEW_BELOW:
                return None
            row = nexts[row]
    return sorted(found)


def own_ancestor(parents: Links, rows: RowArray) -> int:
    """Return a row that is its own ancestor, or NIL; O(n log depth).

    `rows` are those that may have closed a cycle; if they are few and near their roots, O(rows).
    """
    n = len(parents)
    if len(rows) * ROUNDS <= n:
        here = parents[rows]
        for _ in range(ROUNDS):
            here = parents[here[here != NIL]]
            if len(here) == 0:
                return NIL
    up = _upwards(parents)
    for _ in range(n.bit_length()):
        if (up == n).all():
            return NIL
        up = up.take(up)
    circling = up[up != n]  # climbed at least n steps, so these are on a cycle
    return int(circling[0]) if len(circling) else NIL


def is_below(parents: memoryview[Instance], row: int, ancestor: int) -> bool:
    """Return whether `row` is `ancestor` or one of its descendants; O(depth)."""
    while row != NIL and row != ancestor:
        row = parents[row]
    return row == ancestor


class LevelCache:
    """The levels of a hierarchy: found when asked for, kept until the structure changes."""

    __slots__ = ("_found", "_version", "rows")

    def __init__(self) -> None:
        self.rows: RowArray = np.empty(0, np.intp)
        """All rows by depth; the levels are slices of it."""
        self._found: tuple[RowArray, ...] = ()
        self._version = -1

    def levels(self, parents: Links, version: int) -> tuple[RowArray, ...]:
        """Return the rows of each depth, ascending, read-only; O(n log depth) per version."""
        if version != self._version:
            depth = depths(parents)
            self.rows = _by_depth(depth)
            self.rows.flags.writeable = False
            ends = np.cumsum(np.bincount(depth)).tolist() if len(depth) else []
            self._found = tuple(self.rows[a:b] for a, b in pairwise([0, *ends]))
            self._version = version
        return self._found


def _by_depth(depth: NDArray[np.int32]) -> RowArray:
    """Return the rows in order of depth, then of row: a radix sort, 16 bits at a time."""
    order = depth.astype(np.uint16).argsort(kind="stable")
    upper = depth >> _SHORT
    if upper.any():
        order = order[upper.astype(np.uint16)[order].argsort(kind="stable")]
    return order
