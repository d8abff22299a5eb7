"""Groups: the entities that have all members come first in each, in one order."""

from __future__ import annotations

import numpy as np

from ...handles import EntityArray, RowArray
from ..documents import Document
from .handles import Handles
from .names import Names
from .rows import RowPlan, packed_plan


def plan_groups(
    names: Names, handles: Handles, plans: dict[str, RowPlan]
) -> dict[str, int]:
    """Order the rows of groups' members, and return how many entities each group has."""
    found = {}
    for group, members in names.schema["groups"].items():
        before = _same_group(names, members)
        if before is not None and all(plans[name].stays for name in members):
            found[group] = names.saved.state["groups"][before]
        else:
            found[group] = _plan_group(names, handles, plans, members)
    return found


def _same_group(names: Names, members: list[str]) -> str | None:
    """Return the name that a group of the same members had."""
    wanted = {names.components[m].name for m in members if m in names.components}
    groups: Document = names.saved.schema["groups"]
    for name, old in groups.items():
        if set(old) == wanted and len(wanted) == len(members):
            return name
    return None


def _plan_group(
    names: Names, handles: Handles, plans: dict[str, RowPlan], members: list[str]
) -> int:
    owners = {name: plans[name].take(names.old(name).owners) for name in members}
    first, *others = members
    rows = np.arange(len(owners[first]))
    found: dict[str, RowArray] = {first: rows}
    for name in others:
        wanted = owners[first][found[first]]
        places = _rows_of(owners[name], wanted, handles)
        has_it = places >= 0
        found = {other: rows[has_it] for other, rows in found.items()}
        found[name] = places[has_it]
    for name in members:
        plans[name] = _with_first(plans[name], found[name])
    return len(found[first])


def _with_first(plan: RowPlan, rows: RowArray) -> RowPlan:
    """Return the plan with some instances in front, and the others behind in their order."""
    count = plan.count
    is_first = np.zeros(count, np.bool_)
    is_first[rows] = True
    order = np.concatenate((rows, np.flatnonzero(~is_first)))
    if (order == np.arange(count)).all():
        return plan
    old = order if plan.order is None else plan.order[order]
    return packed_plan(plan.old_n, old)


def _rows_of(owners: EntityArray, wanted: EntityArray, handles: Handles) -> RowArray:
    """Return the row of each wanted entity, -1 for those that have none; O(n), or n log n."""
    if len(owners) == 0 or len(wanted) == 0:
        return np.full(len(wanted), -1, np.intp)
    index = handles.indices(owners)
    size = max(int(index.max()), int(handles.indices(wanted).max())) + 1
    table = np.full(size, -1, np.intp)
    table[index] = np.arange(len(owners))
    if (table[index] != np.arange(len(owners))).any():  # an index has several owners
        return _searched(owners, wanted)
    rows = table[handles.indices(wanted)]
    return np.where((rows >= 0) & (owners[rows] == wanted), rows, -1)


def _searched(owners: EntityArray, wanted: EntityArray) -> RowArray:
    order = np.argsort(owners, kind="stable")
    place = np.minimum(np.searchsorted(owners, wanted, sorter=order), len(owners) - 1)
    rows: RowArray = order[place]
    return np.where(owners[rows] == wanted, rows, -1)
