"""Chains: rows linked by next and previous columns: an entity's instances, a parent's children.

Every chain has an owner, the entity or the parent, by which its first row is found. It is circular
backwards: its first row's `previous` cell holds its last row, whose `next` is NIL.
Nothing here steps along chains without a bound: one owner may have a million rows.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..entities.handles import NIL, EntityArray, Instance, RowArray
from ..placement.rows import Remap

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
    active = np.flatnonzero(heads != NIL)
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
        found.append(np.flatnonzero(np.isin(owners, wanted)))
    return np.unique(np.concatenate(found))


def first_rows(nexts: Links, previous: Links) -> RowArray:
    """Return the first row of every chain, ascending; O(rows)."""
    is_first: NDArray[np.bool_] = nexts[previous] == NIL
    return np.flatnonzero(is_first)


def link(
    nexts: Links, previous: Links, owners: NDArray[_Owner], rows: RowArray
) -> tuple[RowArray, RowArray, NDArray[_Owner]]:
    """Chain new rows by owner, in the order given; return each chain's first, last and owner."""
    order = np.argsort(owners, kind="stable")
    owners, ordered = owners[order], rows[order]
    starts = np.ones(len(rows), np.bool_)
    starts[1:] = owners[1:] != owners[:-1]
    ends = np.roll(starts, -1)
    first, last = ordered[starts], ordered[ends]
    nexts[ordered[:-1]] = ordered[1:]
    previous[ordered[1:]] = ordered[:-1]
    nexts[last] = NIL
    previous[first] = last
    return first, last, owners[starts]


def join(
    nexts: Links, previous: Links, heads: RowArray, first: RowArray, last: RowArray
) -> None:
    """Append the chains first … last to those that begin at `heads`."""
    tails = previous[heads]
    nexts[tails] = first
    previous[first] = tails
    previous[heads] = last


def unlink(
    nexts: Links, previous: Links, heads: RowArray, gone: RowArray
) -> tuple[RowArray, NDArray[np.bool_]]:
    """Take the ascending rows `gone` out of the chains that begin at `heads`.

    `heads` are the first rows of all chains concerned. Returns their first rows from now on and
    which chains are empty. O(k log k): runs of neighbours are bridged by pointer jumping.
    """
    is_first = nexts[previous[gone]] == NIL
    after = _bridge(nexts[gone].astype(np.intp), gone)
    before = _bridge(np.where(is_first, NIL, previous[gone]).astype(np.intp), gone)
    tails = _survivor(previous[heads].astype(np.intp), gone, before)
    heads = _survivor(heads, gone, after)
    inner = before != NIL
    nexts[before[inner]] = after[inner]
    inner &= after != NIL
    previous[after[inner]] = before[inner]
    empty = heads == NIL
    previous[heads[~empty]] = tails[~empty]
    return heads, empty


def _bridge(neighbours: RowArray, gone: RowArray) -> RowArray:
    """Return, for each row of `gone`, the first row along its neighbours that stays, or NIL."""
    place = np.searchsorted(gone, neighbours)
    np.minimum(place, len(gone) - 1, out=place)
    active = np.flatnonzero(gone[place] == neighbours)
    jump = np.full(len(gone), -1, np.intp)
    jump[active] = place[active]
    while len(active):
        through = jump[active]
        neighbours[active], jump[active] = neighbours[through], jump[through]
        active = active[jump[active] >= 0]
    return neighbours


def _survivor(rows: RowArray, gone: RowArray, instead: RowArray) -> RowArray:
    """Return `rows`, with those that are gone replaced by their `instead`."""
    place = np.minimum(np.searchsorted(gone, rows), len(gone) - 1)
    return np.where(gone[place] == rows, instead[place], rows)


def remap_links(
    nexts: Links, previous: Links, src: RowArray, dst: RowArray, n: int
) -> RowArray:
    """Mend links after rows src[k] were copied to dst[k]; return the moved rows that are first."""
    return mend_links(nexts, previous, dst, Remap(src, dst, n))


def mend_links(nexts: Links, previous: Links, dst: RowArray, remap: Remap) -> RowArray:
    """Mend links after rows were copied to dst; return the moved rows that are first."""
    nexts[dst] = remap(nexts[dst])
    previous[dst] = remap(previous[dst])
    before, after = previous[dst], nexts[dst]
    is_first = nexts[before] == NIL
    nexts[before[~is_first]] = dst[~is_first]
    followed = after != NIL
    previous[after[followed]] = dst[followed]
    first: RowArray = dst[is_first]
    return first
