"""Links between rows and bounds among them, in new columns: ranks survive any order, so chains are
cut and made again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ...handles import NIL, RowArray
from ...policies.chains import linked
from ..facts import Evolved
from .rows import RowPlan

if TYPE_CHECKING:
    from .managers import Evolving

Links = NDArray[np.uint32]

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


def instance_links(it: Evolving) -> Evolved:
    """Return the columns of entities' lists."""
    names = ("next", "previous")
    if it.stays:
        return Evolved({name: it.old.column(name) for name in names})
    rows = np.empty(0, np.intp)
    if it.had:
        rows = by_rank(it.old.column("next"), it.plan)
    columns = chained(it.owners[rows], rows, it.plan.n)
    return Evolved(dict(zip(names, columns, strict=True)))


def one_chain(it: Evolving, *, key: str, links: tuple[str, str], first: str) -> Evolved:
    """Return the columns by age, and which row is the first; new rows are in their order.

    `key` of the schema says how many there may be.
    """
    n, most = it.plan.n, it.doc[key]
    if n > most:
        why = f"{n} rows do not fit a {key} of {most}; '{key}: {n}' keeps all"
        it.old.refuse_rows(f"{why}, or choose in migrate=")
    if it.stays:
        columns = {name: it.old.column(name) for name in links}
        return Evolved(columns, {first: it.number(first)})
    rows = by_rank(it.old.column(links[0]), it.plan) if it.had else np.arange(n)
    made = chained(np.zeros(n, np.uint64), rows, n)
    oldest = int(rows[0]) if n else NIL
    return Evolved(dict(zip(links, made, strict=True)), {first: oldest})


def family_links(it: Evolving) -> Evolved:
    """Return the columns of a hierarchy; who loses a parent is a root."""
    names = ("parent", "first_child", "next_sibling", "previous_sibling")
    if it.stays:
        return Evolved({name: it.old.column(name) for name in names})
    old, plan = it.old, it.plan
    n = plan.n
    parents = np.full(n, NIL, np.uint32)
    rows = np.empty(0, np.intp)
    if it.had:
        parents = plan.where(plan.take(old.column("parent")))
        rows = by_rank(old.column("next_sibling"), plan)
        rows = rows[parents[rows] != NIL]
    nexts, previous = chained(parents[rows].astype(np.intp), rows, n)
    first = np.full(n, NIL, np.uint32)
    heads = rows[nexts[previous[rows]] == NIL]
    first[parents[heads]] = heads
    columns = (parents, first, nexts, previous)
    return Evolved(dict(zip(names, columns, strict=True)))


def active_rows(it: Evolving) -> Evolved:
    """Return how many rows are active, which are in front, if rows are active or not."""
    if not it.had:
        return Evolved(
            {}, {"n_active": it.plan.n if it.doc["partition"] == "active" else 0}
        )
    active = it.number("n_active")
    if it.plan.order is not None:
        active = int(np.count_nonzero(it.plan.order < active))
    return Evolved({}, {"n_active": active})
