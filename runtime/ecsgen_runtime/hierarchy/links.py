"""Hierarchies: the parent, first child and siblings of rows, kept right in bulk.

The children of a parent are a chain (see `chains`) in order of attachment, which begins at the
parent's `first` cell. A root has the parent NIL and is a chain of its own.
"""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import HierarchyError
from ..handles import NIL, RowArray
from ..instances.chains import ROUNDS, Links, Rewiring, chain_rows, joined, linked
from ..placement.moves import NO_ROWS, Moves, Write
from ..placement.rows import integers, is_integer
from ..typed import NamedTuple
from .trees import below, own_ancestor

if TYPE_CHECKING:
    from ..manager import Manager

_MANY: Final = 16
"""For more than one row in 16 a pass over all rows is cheaper than following links."""


class FamilyLinks(NamedTuple):
    """The four link columns of a hierarchy, uncut: rows may move behind the last one in use."""

    parents: Links
    first: Links
    """First children."""
    nexts: Links
    previous: Links


def parent_numbers(parents: ArrayLike, manager: str) -> NDArray[Any]:
    """Return `parents`, one for all or one per row, as integers; TypeError for others."""
    parent: object = parents
    if is_integer(parent) and np.ndim(parents) == 0:
        number = index(parent)
        return np.array(number if -(2**63) <= number < 2**64 else -1)
    given = integers(parents, manager, "parents")
    if given.dtype == np.bool_:
        raise TypeError(f"{manager}: parents are rows, not a mask")
    return given


def parents_given(given: NDArray[Any], count: int, manager: Manager) -> RowArray:
    """Return the numbers (one for all, or one per row; NIL for none) as `count` rows; O(count).

    Raises:
        ValueError: their number is not `count`.
        StaleInstanceError: one of them is neither NIL nor a row in use.
    """
    if given.ndim and len(given) != count:
        name = type(manager).__name__
        raise ValueError(f"{name}: {len(given)} parents for {count} rows")
    wrong = ((given < 0) | (given >= manager.data._n)) & (given != NIL)
    if wrong.any():
        raise manager._unused(int(given.flat[wrong.argmax()]))
    return np.broadcast_to(given.astype(np.intp, copy=False), count)


def closed_circle(links: FamilyLinks, rows: RowArray, parents: RowArray, n: int) -> int:
    """Return a row that would be its own ancestor if `rows` had these parents, or NIL.

    O(rows * depth), at most O(n log depth). The parents are tried and put back: a copy of the
    column would cost O(n) each time.
    """
    column = links.parents[:n]
    before = column[rows]
    try:
        column[rows] = parents
        found = own_ancestor(column, rows)
        column[rows] = before
        return found
    except BaseException:
        column[rows] = before
        raise


def circular(manager: str, row: int) -> HierarchyError:
    """Return the error of a row that would get itself or a descendant as its parent."""
    return HierarchyError(f"{manager}: row {row} would become its own ancestor")


def new_parents(
    links: FamilyLinks, rows: RowArray, parents: RowArray, n: int
) -> list[Write]:
    """Plan to take rows out of their parents' chains and to append them to others, in order."""
    left = np.sort(rows[links.parents[rows] != NIL])
    chains = Rewiring(links.nexts, links.previous, (NO_ROWS, NO_ROWS), left, n)
    writes = [*_left_parents(links, chains, left)]
    rooted = parents == NIL
    writes += roots(links, rows[rooted])
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


def roots(links: FamilyLinks, rows: RowArray) -> list[Write]:
    """Plan to make each of the rows a root, whatever its links were."""
    return [
        (links.parents, rows, NIL),
        (links.nexts, rows, NIL),
        (links.previous, rows, rows),
    ]


def _left_parents(links: FamilyLinks, chains: Rewiring, left: RowArray) -> list[Write]:
    """Plan what the parents know of rows that leave their chains, and mend the chains."""
    if len(left) == 0:
        return chains.writes
    owners = np.unique(links.parents[left])
    heads = chains.close(links.first[owners])
    return [*chains.writes, (links.first, chains.moved(owners), heads)]


def moved_family(
    links: FamilyLinks, moves: Moves, gone: RowArray, orphans: RowArray, n: int
) -> list[Write]:
    """Plan parents, children and siblings when the ascending rows `gone` go and others move.

    `orphans` are the children of rows that go, and may go themselves.
    """
    src, dst = moves
    owners, left = links.parents[src], gone
    if (
        not len(orphans)
        and (owners == NIL).all()
        and (links.first[src] == NIL).all()
        and (links.parents[gone] == NIL).all()
    ):
        return roots(links, dst) if len(dst) else []
    has_parent = owners != NIL
    if len(gone):
        above = links.parents[gone]
        left = gone[(above != NIL) & ~among(above, gone, n)]
        has_parent &= ~among(owners, gone, n)
    chains = Rewiring(links.nexts, links.previous, moves, left, n)
    owners, siblings, places = owners[has_parent], src[has_parent], dst[has_parent]
    is_first, is_last = chains.follow(siblings, places)
    heads = chains.after(links.first[owners[is_last]])
    parents = chains.after(owners)
    writes = [
        *_children_told(links, chains, moves, n),
        (links.parents, places, parents),
        *_left_parents(links, chains, left),
        (links.first, parents[is_first], places[is_first]),
        (links.previous, heads, places[is_last]),
        *roots(links, dst[~has_parent]),
    ]
    if len(orphans):
        staying = orphans[~among(orphans, gone, n)]
        writes += roots(links, chains.after(staying))
    return writes


def children_of(links: FamilyLinks, rows: RowArray, n: int) -> RowArray:
    """Return all children of ascending rows, ascending; O(children), at most O(n)."""
    parents = links.parents[:n]
    if len(rows) * _MANY > n:
        return among(parents, rows, n).nonzero()[0]
    return chain_rows(links.nexts, parents, rows, links.first[rows].astype(np.intp))


def with_descendants(links: FamilyLinks, rows: RowArray, n: int) -> RowArray:
    """Return ascending rows and all their descendants, ascending.

    O(descendants) as long as 64 steps along first children and next siblings reach them all, else
    O(n log depth).
    """
    here = links.first[rows]
    here = here[here != NIL]
    if len(here) == 0:
        return rows
    if len(rows) * _MANY > n:
        return below(links.parents[:n], rows)
    found = [rows]
    for _ in range(ROUNDS):
        # a row that is in `rows` itself has sent its children already
        new = here[~among(here, rows, n)].astype(np.intp)
        found.append(new)
        here = np.concatenate((links.nexts[here], links.first[new]))
        here = here[here != NIL]
        if len(here) == 0:
            return np.sort(np.concatenate(found))
    return below(links.parents[:n], rows)


def _children_told(
    links: FamilyLinks, chains: Rewiring, moves: Moves, n: int
) -> list[Write]:
    """Plan to tell the children of rows that move where their parents are.

    What is written to those that move or go themselves does not matter: all rows that others move
    to are told of their parents later.
    """
    src, dst = moves
    found = _children_with_parents(links, src, dst) if len(dst) * _MANY <= n else None
    if found is None:
        return [(links.parents, slice(0, n), chains.after(links.parents[:n]))]
    children, parents = found
    return [(links.parents, children, parents)]


def _children_with_parents(
    links: FamilyLinks, rows: RowArray, owners: RowArray
) -> tuple[NDArray[Any], RowArray] | None:
    """Return the children of rows and the owner of each, or None if a chain is long."""
    here = links.first[rows]
    children, parents = [], []
    for _ in range(ROUNDS):
        more = here != NIL
        here, owners = here[more], owners[more]
        if len(here) == 0:
            break
        children.append(here)
        parents.append(owners)
        here = links.nexts[here]
    else:
        return None
    if not children:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    return np.concatenate(children), np.concatenate(parents)


def among(rows: NDArray[Any], ascending: RowArray, n: int) -> NDArray[np.bool_]:
    """Return which of `rows` (NIL is none) are in `ascending`, rows below n; O(k log k)."""
    if (len(rows) + len(ascending)) * _MANY > n:
        mask = np.zeros(n + 1, np.bool_)
        mask[ascending] = True
        return mask.take(rows, mode="clip")
    place = np.minimum(ascending.searchsorted(rows), len(ascending) - 1)
    found: NDArray[np.bool_] = ascending[place] == rows
    return found
