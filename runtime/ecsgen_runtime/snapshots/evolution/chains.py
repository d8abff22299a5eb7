"""Links between rows, in new columns: ranks survive any order, so chains are cut and made again."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...handles import NIL, RowArray
from ...policies.chains import linked
from ..saved import Document
from .old import OldComponent
from .rows import RowPlan

Links = NDArray[np.uint32]
Columns = dict[str, NDArray[Any]]

_SHORT: Final = 1 << 16


def ranks(nexts: Links) -> RowArray:
    """Return how many rows follow each in its chain; O(n log n), by pointer jumping."""
    n = len(nexts)
    jump = np.append(np.minimum(nexts, n), n).astype(np.intp)
    count = (jump != n).astype(np.intp)
    for _ in range(n.bit_length() + 1):  # a circle would never end
        if (jump == n).all():
            break
        count += count[jump]
        jump = jump[jump]
    found: RowArray = count[:n]
    return found


def chained(owners: NDArray[Any], rows: RowArray, n: int) -> tuple[Links, Links]:
    """Return the links of n rows of which some are chained by owner, in the order given.

    The others are chains of their own.
    """
    nexts = np.full(n, NIL, np.uint32)
    previous = np.arange(n, dtype=np.uint32)
    if len(rows):
        writes, *_ = linked(nexts, previous, owners, rows)
        for column, where, what in writes:
            column[where] = what
    return nexts, previous


def by_rank(nexts: Links, plan: RowPlan) -> RowArray:
    """Return the new rows, those first that have the most behind them in their old chains."""
    rank: RowArray = plan.take(ranks(nexts))
    most = int(rank.max()) if len(rank) else 0
    before = most - rank
    if most < _SHORT:
        return np.argsort(before.astype(np.uint16), kind="stable")  # a radix sort
    return np.argsort(before, kind="stable")


def instance_links(
    old: OldComponent, doc: Document, plan: RowPlan, owners: NDArray[np.uint64]
) -> Columns:
    """Return the columns of entities' lists, if there are lists now."""
    if doc["instances"] != "many":
        return {}
    nexts, previous = old.column("next"), old.column("previous")
    had_lists = old.doc["instances"] == "many"
    if not had_lists:
        rows = np.empty(0, np.intp)
        nexts, previous = chained(owners[rows], rows, plan.n)
    elif not plan.stays:
        rows = by_rank(nexts, plan)
        nexts, previous = chained(owners[rows], rows, plan.n)
    return {"next": nexts, "previous": previous}


def ring_links(
    old: OldComponent, doc: Document, plan: RowPlan
) -> tuple[Columns, dict[str, int]]:
    """Return the columns by age, and which row is the oldest, if there is a ring now."""
    most = doc.get("ring", 0)
    if not most:
        return {}, {}
    if plan.n > most:
        why = f"{plan.n} rows do not fit a ring of {most}"
        old.refuse_rows(f"{why}; 'ring: {plan.n}' keeps all, or choose in migrate=")
    had_ring = bool(old.doc.get("ring", 0)) and not old.is_chunked
    if had_ring and plan.stays:
        links = {name: old.column(name) for name in ("newer", "older")}
        return links, {"oldest": old.numbers["oldest"]}
    rows = by_rank(old.column("newer"), plan) if had_ring else np.arange(plan.n)
    newer, older = chained(np.zeros(plan.n, np.uint64), rows, plan.n)
    oldest = int(rows[0]) if plan.n else NIL
    return {"newer": newer, "older": older}, {"oldest": oldest}


def family_links(old: OldComponent, doc: Document, plan: RowPlan) -> Columns:
    """Return the columns of a hierarchy, if there is one now; who loses a parent is a root."""
    if not doc["hierarchy"]:
        return {}
    names = ("parent", "first_child", "next_sibling", "previous_sibling")
    had_family = bool(old.doc["hierarchy"]) and not old.is_chunked
    if had_family and plan.stays:
        return {name: old.column(name) for name in names}
    n = plan.n
    parents = np.full(n, NIL, np.uint32)
    rows = np.empty(0, np.intp)
    if had_family:
        parents = plan.where(plan.take(old.column("parent")))
        rows = by_rank(old.column("next_sibling"), plan)
        rows = rows[parents[rows] != NIL]
    nexts, previous = chained(parents[rows].astype(np.intp), rows, n)
    first = np.full(n, NIL, np.uint32)
    heads = rows[nexts[previous[rows]] == NIL]
    first[parents[heads]] = heads
    columns = (parents, first, nexts, previous)
    return dict(zip(names, columns, strict=True))
