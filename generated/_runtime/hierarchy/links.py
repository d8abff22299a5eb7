"""Hierarchies: the parent, first child and siblings of rows, kept right in bulk.

The children of a parent are a chain (see `chains`) in order of attachment, which begins at the
parent's `first` cell. A root has the parent NIL and is a chain of its own.
"""

from __future__ import annotations

from operator import index
from typing import Any, Final, NamedTuple, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..entities.handles import NIL, RowArray
from ..errors import HierarchyError
from ..instances.chains import ROUNDS, Links, chain_rows, join, link, mend_links, unlink
from ..placement.rows import Remap, integers, unused
from .trees import below, own_ancestor

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
    if np.ndim(parents) == 0:
        number = index(cast(SupportsIndex, parents))
        return np.array(number if 0 <= number <= NIL else -1)
    given = integers(parents, manager, "parents")
    if given.dtype == np.bool_:
        raise TypeError(f"{manager}: parents are rows, not a mask")
    return given


def parents_given(given: NDArray[Any], count: int, n: int, manager: str) -> RowArray:
    """Return the numbers (one for all, or one per row; NIL for none) as `count` rows; O(count).

    Raises:
        ValueError: their number is not `count`.
        StaleInstanceError: one of them is neither NIL nor a row in use.
    """
    if given.ndim and len(given) != count:
        raise ValueError(f"{manager}: {len(given)} parents for {count} rows")
    wrong = ((given < 0) | (given >= n)) & (given != NIL)
    if wrong.any():
        raise unused(int(given.flat[wrong.argmax()]), n, manager)
    return np.broadcast_to(given.astype(np.intp, copy=False), count)


def closed_circle(links: FamilyLinks, rows: RowArray, parents: RowArray, n: int) -> int:
    """Return a row that would be its own ancestor if `rows` had these parents, or NIL.

    O(rows * depth), at most O(n log depth). The parents are tried and put back: a copy of the
    column would cost O(n) each time.
    """
    column = links.parents[:n]
    before = column[rows]
    column[rows] = parents
    try:
        return own_ancestor(column, rows)
    finally:
        column[rows] = before


def circular(manager: str, row: int) -> HierarchyError:
    """Return the error of a row that would get itself or a descendant as its parent."""
    return HierarchyError(f"{manager}: row {row} would become its own ancestor")


def set_parents(links: FamilyLinks, rows: RowArray, parents: RowArray) -> None:
    """Take rows out of their parents' chains and append them to others, in the order given."""
    leave_parents(links, np.sort(rows[links.parents[rows] != NIL]))
    rooted = parents == NIL
    make_roots(links, rows[rooted])
    links.parents[rows] = parents
    rows, parents = rows[~rooted], parents[~rooted]
    if len(rows) == 0:
        return
    first, last, owners = link(links.nexts, links.previous, parents, rows)
    heads = links.first[owners].astype(np.intp)
    new, old = heads == NIL, heads != NIL
    links.first[owners[new]] = first[new]
    join(links.nexts, links.previous, heads[old], first[old], last[old])


def make_roots(links: FamilyLinks, rows: RowArray) -> None:
    """Make each of the rows a root, whatever its links were."""
    links.parents[rows] = NIL
    links.nexts[rows] = NIL
    links.previous[rows] = rows


def leave_parents(links: FamilyLinks, gone: RowArray) -> None:
    """Take ascending rows, none of them a root, out of their parents' chains."""
    if len(gone) == 0:
        return
    owners = np.unique(links.parents[gone]).astype(np.intp)
    heads = links.first[owners].astype(np.intp)
    links.first[owners], _ = unlink(links.nexts, links.previous, heads, gone)


def leave_family(links: FamilyLinks, gone: RowArray, n: int) -> None:
    """Take ascending rows that go out of the chains of the parents that stay."""
    parents = links.parents[gone]
    staying = (parents != NIL) & ~_among(parents, gone, n)
    leave_parents(links, gone[staying])


def children_of(links: FamilyLinks, rows: RowArray, n: int) -> RowArray:
    """Return all children of ascending rows, ascending; O(children), at most O(n)."""
    parents = links.parents[:n]
    if len(rows) * _MANY > n:
        return np.flatnonzero(_among(parents, rows, n))
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
        new = here[~_among(here, rows, n)].astype(np.intp)
        found.append(new)
        here = np.concatenate((links.nexts[here], links.first[new]))
        here = here[here != NIL]
        if len(here) == 0:
            return np.sort(np.concatenate(found))
    return below(links.parents[:n], rows)


def remap_family(links: FamilyLinks, src: RowArray, dst: RowArray, n: int) -> None:
    """Mend parents, children and siblings after rows src[k] of n were copied to dst[k]."""
    remap = Remap(src, dst, n)
    firsts = mend_links(links.nexts, links.previous, dst, remap)
    links.first[dst] = remap(links.first[dst])
    _remap_parents(links, dst, remap, n)
    owners = links.parents[firsts]
    owned = owners != NIL
    links.first[owners[owned]] = firsts[owned]
    owners = links.parents[dst]
    lasts = (owners != NIL) & (links.nexts[dst] == NIL)
    links.previous[links.first[owners[lasts]]] = dst[lasts]


def _remap_parents(links: FamilyLinks, dst: RowArray, remap: Remap, n: int) -> None:
    """Tell moved rows where their parents are now, and moved rows' children where they are."""
    own = remap(links.parents[dst])
    found = _children_with_parents(links, dst) if len(dst) * _MANY <= n else None
    if found is None:
        links.parents[:n] = remap(links.parents[:n])
        links.parents[dst] = own
        return
    links.parents[dst] = own
    children, parents = found
    links.parents[children] = parents


def _children_with_parents(
    links: FamilyLinks, rows: RowArray
) -> tuple[NDArray[Any], RowArray] | None:
    """Return the children of rows and the parent of each, or None if a chain is long."""
    here, owners = links.first[rows], rows
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


def _among(rows: NDArray[Any], ascending: RowArray, n: int) -> NDArray[np.bool_]:
    """Return which of `rows` (NIL is none) are in `ascending`, rows below n."""
    if (len(rows) + len(ascending)) * _MANY > n:
        mask = np.zeros(n + 1, np.bool_)
        mask[ascending] = True
        return mask.take(rows, mode="clip")
    place = np.minimum(np.searchsorted(ascending, rows), len(ascending) - 1)
    found: NDArray[np.bool_] = ascending[place] == rows
    return found
