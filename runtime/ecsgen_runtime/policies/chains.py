"""Chains: rows linked by next and previous columns: an entity's instances, a parent's children.

Every chain has an owner, the entity or the parent, by which its first row is found. It is circular
backwards: its first row's `previous` cell holds its last row, whose `next` is NIL.
Nothing here steps along chains without a bound: one owner may have a million rows. What changes
many links is planned first, so that no lack of memory finds them half changed.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..handles import NIL, EntityArray, Instance, RowArray
from ..placement import Moves, Remap, Write

Links = NDArray[np.uint32]
_Owner = TypeVar("_Owner", np.uint64, np.intp)

ROUNDS: Final = 64
"""Steps along all chains at once before a scan of the owners is cheaper."""


def walk(nexts: memoryview[Instance], first: int) -> RowArray:
    """Return the rows of the chain that begins at `first`, in its order; O(length)."""
    rows = []
    row = first
    while row != NIL:
        rows.append(row)
        row = nexts[row]
    return np.array(rows, np.intp)


def chain_lengths(
    nexts: Links, owners: EntityArray, entities: EntityArray, heads: RowArray
) -> RowArray:
    """Return the length of each entity's chain, shape (k,); O(k), O(n log n) for long ones."""
    counts = np.zeros(len(entities), np.intp)
    active = (heads != NIL).nonzero()[0]
    here = heads[active]
    for _ in range(ROUNDS):
        if len(active) == 0:
            return counts
        counts[active] += 1
        following = nexts[here]
        more = following != NIL
        active, here = active[more], following[more].astype(np.intp)
    ordered = np.sort(owners)
    rest = entities[active]
    counts[active] = ordered.searchsorted(rest, "right") - ordered.searchsorted(
        rest, "left"
    )
    return counts


def chain_rows(
    nexts: Links, owners: NDArray[Any], wanted: NDArray[Any], heads: RowArray
) -> RowArray:
    """Return all rows of the wanted owners' chains, ascending and distinct."""
    here: RowArray = np.unique(heads[heads != NIL])
    found = [here]
    for _ in range(ROUNDS):
        following = nexts[here]
        here = following[following != NIL].astype(np.intp)
        if len(here) == 0:
            break
        found.append(here)
    else:
        found.append(np.isin(owners, wanted).nonzero()[0])
    return np.unique(np.concatenate(found))


def first_rows(nexts: Links, previous: Links) -> RowArray:
    """Return the first row of every chain, ascending; O(rows)."""
    is_first: NDArray[np.bool_] = nexts[previous] == NIL
    return is_first.nonzero()[0]


def linked(
    nexts: Links, previous: Links, owners: NDArray[_Owner], rows: RowArray
) -> tuple[list[Write], RowArray, RowArray, NDArray[_Owner]]:
    """Plan to chain new rows by owner, in the order given.

    Returns what is to be written, and each chain's first row, last row and owner.
    """
    order = owners.argsort(kind="stable")
    owners, ordered = owners[order], rows[order]
    starts, ends = np.empty((2, len(rows)), np.bool_)
    starts[:1] = ends[-1:] = True
    starts[1:] = ends[:-1] = owners[1:] != owners[:-1]
    first, last = ordered[starts], ordered[ends]
    writes: list[Write] = [
        (nexts, ordered[:-1], ordered[1:]),
        (previous, ordered[1:], ordered[:-1]),
        (nexts, last, NIL),
        (previous, first, last),
    ]
    return writes, first, last, owners[starts]


def joined(
    nexts: Links,
    previous: Links,
    chains: tuple[RowArray, RowArray],
    new: tuple[RowArray, RowArray],
) -> list[Write]:
    """Plan to append new chains to others; both are given by their first and last rows."""
    (heads, tails), (first, last) = chains, new
    return [(nexts, tails, first), (previous, first, tails), (previous, heads, last)]


class Rewiring:
    """What becomes of chains when the ascending rows `gone` leave them and src[k] go to dst[k].

    It only looks; `writes` are to be made once the rows have moved. O(k log k): runs of neighbours
    are bridged by pointer jumping.
    """

    __slots__ = ("_nexts", "_previous", "after", "before", "moved", "writes")

    def __init__(
        self, nexts: Links, previous: Links, moves: Moves, gone: RowArray, n: int
    ) -> None:
        self._nexts = nexts
        self._previous = previous
        self.writes: list[Write] = []
        src, dst = moves
        self.moved = self.after = self.before = Remap(src, dst, n)
        """Where links forwards and backwards lead: those to rows that go, to the next that stay."""
        if len(gone):
            self._bridge(moves, gone, n)

    def follow(
        self, src: RowArray, dst: RowArray
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Let neighbours know where rows went; return which of these are first and last.

        What rows know themselves goes with them; their neighbours tell them if these move or go.
        """
        after, before = self._nexts[src], self._previous[src]
        is_first = self._nexts[before] == NIL
        is_last = after == NIL
        after, before = self.after(after), self.before(before)
        inner = ~is_first & (before != NIL)
        followed = after != NIL
        self.writes += (
            (self._nexts, before[inner], dst[inner]),
            (self._previous, after[followed], dst[followed]),
        )
        return is_first, is_last

    def close(self, heads: NDArray[Any]) -> NDArray[Any]:
        """Let chains that lose rows be circular again; return their first rows, NIL without any."""
        first = self.after(heads)
        kept = first != NIL
        last = self.before(self._previous[heads[kept]])
        self.writes.append((self._previous, first[kept], last))
        return first

    def _bridge(self, moves: Moves, gone: RowArray, n: int) -> None:
        """Link the rows on both sides of those that go."""
        nexts, previous = self._nexts, self._previous
        is_first = nexts[previous[gone]] == NIL
        after = _bridged(nexts[gone].astype(np.intp), gone)
        before = np.where(is_first, NIL, previous[gone]).astype(np.intp)
        before = _bridged(before, gone)
        after, before = self.moved(after), self.moved(before)
        src, dst = moves
        keys = np.concatenate((src, gone))
        self.after = Remap(keys, np.concatenate((dst, after)), n)
        self.before = Remap(keys, np.concatenate((dst, before)), n)
        inner = before != NIL
        self.writes.append((nexts, before[inner], after[inner]))
        inner &= after != NIL
        self.writes.append((previous, after[inner], before[inner]))


def _bridged(neighbours: RowArray, gone: RowArray) -> RowArray:
    """Return, for each row of `gone`, the first row along its neighbours that stays, or NIL."""
    place = gone.searchsorted(neighbours)
    np.minimum(place, len(gone) - 1, out=place)
    goes_too = gone[place] == neighbours
    active = goes_too.nonzero()[0]
    jump = np.where(goes_too, place, -1)
    while len(active):
        through = jump[active]
        neighbours[active], jump[active] = neighbours[through], jump[through]
        active = active[jump[active] >= 0]
    return neighbours
