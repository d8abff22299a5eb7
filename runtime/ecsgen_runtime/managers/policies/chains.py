"""Rows linked by columns: chains by `next` and `previous`, and hierarchies made of chains.

Every chain has an owner, the entity or the parent, by which its first row is found. It is circular
backwards: its first row's `previous` cell holds its last row, whose `next` is NIL.
Nothing here steps along chains without a bound: one owner may have a million rows. What changes
many links is planned first, so that no lack of memory finds them half changed.
"""

from __future__ import annotations

from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import HierarchyError
from ...base.fast_typing import NamedTuple
from ...base.handles import NIL, EntityArray, Instance, RowArray
from ...tables.placement import NO_ROWS, Moves, Remap, Write, integers, is_integer

if TYPE_CHECKING:
    from ..manager import Manager


RowLinks = NDArray[np.uint32]
_Owner = TypeVar("_Owner", np.uint64, np.intp)

MAX_STEPS: Final = 64
"""Steps along all chains at once before a scan of the owners is cheaper."""


def chain_to_array(nexts: memoryview[Instance], first: int) -> RowArray:
    """Return the rows of the chain that begins at `first`, in its order; O(length)."""
    rows = []
    row = first
    while row != NIL:
        rows.append(row)
        row = nexts[row]
    return np.array(rows, np.intp)


def chain_lengths(
    nexts: RowLinks, owners: EntityArray, entities: EntityArray, heads: RowArray
) -> RowArray:
    """Return the length of each entity's chain, shape (k,); O(k), O(n log n) for long ones."""
    counts = np.zeros(len(entities), np.intp)
    active = (heads != NIL).nonzero()[0]
    current = heads[active]
    for _ in range(MAX_STEPS):
        if len(active) == 0:
            return counts
        counts[active] += 1
        following = nexts[current]
        has_next = following != NIL
        active, current = active[has_next], following[has_next].astype(np.intp)
    ordered = np.sort(owners)
    long_owners = entities[active]
    counts[active] = ordered.searchsorted(long_owners, "right") - ordered.searchsorted(
        long_owners, "left"
    )
    return counts


def chain_rows(
    nexts: RowLinks, owners: NDArray[Any], wanted: NDArray[Any], heads: RowArray
) -> RowArray:
    """Return all rows of the wanted owners' chains, ascending and distinct."""
    current: RowArray = np.unique(heads[heads != NIL])
    parts = [current]
    for _ in range(MAX_STEPS):
        following = nexts[current]
        current = following[following != NIL].astype(np.intp)
        if len(current) == 0:
            break
        parts.append(current)
    else:
        parts.append(np.isin(owners, wanted).nonzero()[0])
    return np.unique(np.concatenate(parts))


def first_rows(nexts: RowLinks, previous: RowLinks) -> RowArray:
    """Return the first row of every chain, ascending; O(rows)."""
    is_first: NDArray[np.bool_] = nexts[previous] == NIL
    return is_first.nonzero()[0]


def linked(
    nexts: RowLinks, previous: RowLinks, owners: NDArray[_Owner], rows: RowArray
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
    nexts: RowLinks,
    previous: RowLinks,
    chains: tuple[RowArray, RowArray],
    new: tuple[RowArray, RowArray],
) -> list[Write]:
    """Plan to append new chains to existing ones; both are given by their first and last rows."""
    (heads, tails), (first, last) = chains, new
    return [(nexts, tails, first), (previous, first, tails), (previous, heads, last)]


class LinkUpdates:
    """Updates of chains when ascending rows are removed and src[k] moves to dst[k].

    Nothing is changed here: `writes` are to be made once the rows have moved. O(k log k): runs of
    neighbours are bridged by pointer jumping.
    """

    __slots__ = ("_nexts", "_previous", "after", "before", "moved", "writes")

    def __init__(
        self, nexts: RowLinks, previous: RowLinks, moves: Moves, removed: RowArray, n: int
    ) -> None:
        self._nexts = nexts
        self._previous = previous
        self.writes: list[Write] = []
        src, dst = moves
        self.moved = self.after = self.before = Remap(src, dst, n)
        """Maps of rows, `next` and `previous` links; links to removed rows skip on."""
        if len(removed):
            self._bridge(moves, removed, n)

    def follow(self, src: RowArray, dst: RowArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Plan the links to moved rows; return which of the moved rows are first and last.

        The links of a row move with its cells; links from its neighbours are written here.
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
        """Plan chains that lose rows to be circular again; return their first rows, NIL where
        empty."""
        first = self.after(heads)
        is_left = first != NIL
        last = self.before(self._previous[heads[is_left]])
        self.writes.append((self._previous, first[is_left], last))
        return first

    def _bridge(self, moves: Moves, removed: RowArray, n: int) -> None:
        """Link the rows on both sides of removed ones."""
        nexts, previous = self._nexts, self._previous
        is_first = nexts[previous[removed]] == NIL
        after = _bridged(nexts[removed].astype(np.intp), removed)
        before = np.where(is_first, NIL, previous[removed]).astype(np.intp)
        before = _bridged(before, removed)
        after, before = self.moved(after), self.moved(before)
        src, dst = moves
        keys = np.concatenate((src, removed))
        self.after = Remap(keys, np.concatenate((dst, after)), n)
        self.before = Remap(keys, np.concatenate((dst, before)), n)
        inner = before != NIL
        self.writes.append((nexts, before[inner], after[inner]))
        inner &= after != NIL
        self.writes.append((previous, after[inner], before[inner]))


def _bridged(neighbours: RowArray, removed: RowArray) -> RowArray:
    """Return, for each removed row, the first row along its neighbours that stays, or NIL."""
    slots = removed.searchsorted(neighbours)
    np.minimum(slots, len(removed) - 1, out=slots)
    goes_too = removed[slots] == neighbours
    active = goes_too.nonzero()[0]
    jump = np.where(goes_too, slots, -1)
    while len(active):
        through = jump[active]
        neighbours[active], jump[active] = neighbours[through], jump[through]
        active = active[jump[active] >= 0]
    return neighbours


# A round replaces every row's ancestor by that one's ancestor, so that r rounds climb
# 2**r steps: a chain of a million rows takes twenty.


_FEW_BELOW: Final = 64
"""At most so many rows are found one after the other."""

_SHORT: Final = 1 << 16
"""Depths below it are of 16 bits, which numpy sorts by radix, ten times faster than longer ones."""


def _upwards(parents: RowLinks) -> RowArray:
    """Return the parents with n, a row above all roots and its own parent, instead of NIL."""
    n = len(parents)
    up = np.full(n + 1, n)
    np.minimum(parents, n, out=up[:n], casting="unsafe")
    return up


def depths(parents: RowLinks) -> NDArray[np.int32]:
    """Return the number of ancestors of each row, shape (n,); O(n log depth)."""
    n = len(parents)
    up = _upwards(parents)
    depth = np.zeros(n + 1, np.int32)
    depth[:n] = parents != NIL
    for _ in range(n.bit_length() + 1):  # a circle would never end
        if (up == n).all():
            break
        depth += depth.take(up)
        up = up.take(up)
    return depth[:n]


def subtree_rows(parents: RowLinks, rows: RowArray) -> RowArray:
    """Return the rows and all their descendants, ascending; O(n log depth)."""
    n = len(parents)
    up = _upwards(parents)
    marked = np.zeros(n + 1, np.bool_)
    marked[rows] = True
    while not (up == n).all():
        marked |= marked.take(up)
        up = up.take(up)
    return marked.nonzero()[0]


def small_subtree(
    firsts: memoryview[Instance], nexts: memoryview[Instance], rows: list[int]
) -> list[int] | None:
    """Return rows and all their descendants, ascending, if they are few; O(descendants).

    One after the other, which is quicker than numpy's calls for a level at a time.
    """
    subtree, pending = set(rows), rows
    while pending:
        row = firsts[pending.pop()]
        while row != NIL:
            if row not in subtree:
                subtree.add(row)
                pending.append(row)
            if len(subtree) > _FEW_BELOW:
                return None
            row = nexts[row]
    return sorted(subtree)


def own_ancestor(parents: RowLinks, rows: RowArray) -> int:
    """Return a row that is its own ancestor, or NIL; O(n log depth).

    `rows` are those that may have closed a cycle; if they are few and near their roots, O(rows).
    """
    n = len(parents)
    if len(rows) * MAX_STEPS <= n:
        ancestors = parents[rows]
        for _ in range(MAX_STEPS):
            ancestors = parents[ancestors[ancestors != NIL]]
            if len(ancestors) == 0:
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

    def levels(self, parents: RowLinks, version: int) -> tuple[RowArray, ...]:
        """Return the rows of each depth, ascending, read-only; O(n log depth) per version."""
        if version != self._version:
            depth = depths(parents)
            short = depth.astype(np.uint16) if depth.max(initial=0) < _SHORT else depth
            self.rows = short.argsort(kind="stable")
            self.rows.flags.writeable = False
            ends = np.cumsum(np.bincount(depth)).tolist() if len(depth) else []
            self._found = tuple(self.rows[a:b] for a, b in pairwise([0, *ends]))
            self._version = version
        return self._found


# The children of a parent are a chain in order of attachment; a root is one of its own.


_MANY: Final = 16
"""For more than one row in 16 a pass over all rows is cheaper than following links."""


class HierarchyLinks(NamedTuple):
    """The four link columns of a hierarchy, uncut: rows may move behind the last one in use."""

    parents: RowLinks
    first: RowLinks
    """First children."""
    nexts: RowLinks
    previous: RowLinks


def parent_numbers(parents: ArrayLike, manager: str) -> NDArray[Any]:
    """Return `parents`, one for all or one per row, as integers; TypeError for other arguments."""
    parent: object = parents
    if is_integer(parent) and np.ndim(parents) == 0:
        number = index(parent)
        return np.array(number if -(2**63) <= number < 2**64 else -1)
    numbers = integers(parents, manager, "parents")
    if numbers.dtype == np.bool_:
        raise TypeError(f"{manager}: parents are rows, not a mask")
    return numbers


def parse_parents(numbers: NDArray[Any], count: int, manager: Manager) -> RowArray:
    """Return the numbers (one for all, or one per row; NIL for none) as `count` rows; O(count).

    Raises:
        ValueError: their number is not `count`.
        StaleInstanceError: one of them is neither NIL nor a row in use.
    """
    if numbers.ndim and len(numbers) != count:
        name = type(manager).__name__
        raise ValueError(f"{name}: {len(numbers)} parents for {count} rows")
    wrong = ((numbers < 0) | (numbers >= manager.data.n)) & (numbers != NIL)
    if wrong.any():
        raise manager._unused_row_error(int(numbers.flat[wrong.argmax()]))
    return np.broadcast_to(numbers.astype(np.intp, copy=False), count)


def find_cycle(links: HierarchyLinks, rows: RowArray, parents: RowArray, n: int) -> int:
    """Return a row that would be its own ancestor if `rows` had these parents, or NIL.

    O(rows * depth), at most O(n log depth). The parents are tried and put back: a copy of the
    column would cost O(n) each time.
    """
    column = links.parents[:n]
    before = column[rows]
    try:
        column[rows] = parents
        ancestor = own_ancestor(column, rows)
        column[rows] = before
        return ancestor
    except BaseException:
        column[rows] = before
        raise


def cycle_error(manager: str, row: int) -> HierarchyError:
    """Return the error of a row that would get itself or a descendant as its parent."""
    return HierarchyError(f"{manager}: row {row} would become its own ancestor")


def plan_reparenting(
    links: HierarchyLinks, rows: RowArray, parents: RowArray, n: int
) -> list[Write]:
    """Plan to detach rows from their parents and to attach them to new ones, in order."""
    detached = np.sort(rows[links.parents[rows] != NIL])
    chains = LinkUpdates(links.nexts, links.previous, (NO_ROWS, NO_ROWS), detached, n)
    writes = [*_left_parents(links, chains, detached)]
    rooted = parents == NIL
    writes += plan_roots(links, rows[rooted])
    writes.append((links.parents, rows, parents))
    rows, parents = rows[~rooted], parents[~rooted]
    new, first, last, owners = linked(links.nexts, links.previous, parents, rows)
    before = links.first[owners]
    heads = chains.after(before)
    alone, old = heads == NIL, heads != NIL
    tails = chains.before(links.previous[before[old]])
    lists = heads[old], tails
    writes += [*new, (links.first, owners[alone], first[alone])]
    writes += joined(links.nexts, links.previous, lists, (first[old], last[old]))
    return writes


def plan_roots(links: HierarchyLinks, rows: RowArray) -> list[Write]:
    """Plan to make each of the rows a root, whatever its links were."""
    return [(links.parents, rows, NIL), (links.nexts, rows, NIL), (links.previous, rows, rows)]


def _left_parents(links: HierarchyLinks, chains: LinkUpdates, detached: RowArray) -> list[Write]:
    """Plan first children of the parents that rows leave, and mend the chains."""
    if len(detached) == 0:
        return chains.writes
    owners = np.unique(links.parents[detached])
    heads = chains.close(links.first[owners])
    return [*chains.writes, (links.first, chains.moved(owners), heads)]


def plan_hierarchy_moves(
    links: HierarchyLinks, moves: Moves, removed: RowArray, orphans: RowArray, n: int
) -> list[Write]:
    """Plan parents, children and siblings when ascending rows are removed and others move.

    `orphans` are the children of removed rows, and may be removed as well.
    """
    src, dst = moves
    owners, detached = links.parents[src], removed
    if (
        not len(orphans)
        and (owners == NIL).all()
        and (links.first[src] == NIL).all()
        and (links.parents[removed] == NIL).all()
    ):
        return plan_roots(links, dst) if len(dst) else []
    has_parent = owners != NIL
    if len(removed):
        above = links.parents[removed]
        detached = removed[(above != NIL) & ~isin_sorted(above, removed, n)]
        has_parent &= ~isin_sorted(owners, removed, n)
    chains = LinkUpdates(links.nexts, links.previous, moves, detached, n)
    owners, siblings, places = owners[has_parent], src[has_parent], dst[has_parent]
    is_first, is_last = chains.follow(siblings, places)
    heads = chains.after(links.first[owners[is_last]])
    parents = chains.after(owners)
    writes = [
        *_plan_new_parents(links, chains, moves, n),
        (links.parents, places, parents),
        *_left_parents(links, chains, detached),
        (links.first, parents[is_first], places[is_first]),
        (links.previous, heads, places[is_last]),
        *plan_roots(links, dst[~has_parent]),
    ]
    if len(orphans):
        staying = orphans[~isin_sorted(orphans, removed, n)]
        writes += plan_roots(links, chains.after(staying))
    return writes


def children_of(links: HierarchyLinks, rows: RowArray, n: int) -> RowArray:
    """Return all children of ascending rows, ascending; O(children), at most O(n)."""
    parents = links.parents[:n]
    if len(rows) * _MANY > n:
        return isin_sorted(parents, rows, n).nonzero()[0]
    return chain_rows(links.nexts, parents, rows, links.first[rows].astype(np.intp))


def with_descendants(links: HierarchyLinks, rows: RowArray, n: int) -> RowArray:
    """Return ascending rows and all their descendants, ascending.

    O(descendants) as long as 64 steps along first children and next siblings reach them all, else
    O(n log depth).
    """
    frontier = links.first[rows]
    frontier = frontier[frontier != NIL]
    if len(frontier) == 0:
        return rows
    if len(rows) * _MANY > n:
        return subtree_rows(links.parents[:n], rows)
    parts = [rows]
    for _ in range(MAX_STEPS):
        # the children of a row in `rows` are in `here` already
        new = frontier[~isin_sorted(frontier, rows, n)].astype(np.intp)
        parts.append(new)
        frontier = np.concatenate((links.nexts[frontier], links.first[new]))
        frontier = frontier[frontier != NIL]
        if len(frontier) == 0:
            return np.sort(np.concatenate(parts))
    return subtree_rows(links.parents[:n], rows)


def _plan_new_parents(
    links: HierarchyLinks, chains: LinkUpdates, moves: Moves, n: int
) -> list[Write]:
    """Plan the new parents of the children of rows that move.

    Cells of children that move or are removed may get anything: the parents of moved rows are
    written later.
    """
    src, dst = moves
    changes = _children_with_parents(links, src, dst) if len(dst) * _MANY <= n else None
    if changes is None:
        return [(links.parents, slice(0, n), chains.after(links.parents[:n]))]
    children, parents = changes
    return [(links.parents, children, parents)]


def _children_with_parents(
    links: HierarchyLinks, rows: RowArray, owners: RowArray
) -> tuple[NDArray[Any], RowArray] | None:
    """Return the children of rows and the parent of each, or None if a chain is long."""
    frontier = links.first[rows]
    children, parents = [NO_ROWS], [NO_ROWS]
    for _ in range(MAX_STEPS):
        has_child = frontier != NIL
        frontier, owners = frontier[has_child], owners[has_child]
        if len(frontier) == 0:
            break
        children.append(frontier)
        parents.append(owners)
        frontier = links.nexts[frontier]
    else:
        return None
    return np.concatenate(children), np.concatenate(parents)


def isin_sorted(rows: NDArray[Any], ascending: RowArray, n: int) -> NDArray[np.bool_]:
    """Return which of `rows` (NIL is none) are in `ascending`, rows below n; O(k log k)."""
    if (len(rows) + len(ascending)) * _MANY > n:
        mask = np.zeros(n + 1, np.bool_)
        mask[ascending] = True
        return mask.take(rows, mode="clip")
    slots = np.minimum(ascending.searchsorted(rows), len(ascending) - 1)
    is_member: NDArray[np.bool_] = ascending[slots] == rows
    return is_member
