"""Components in archetype chunks: whose rows are in which table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...handles import EntityArray, RowArray
from .handles import Handles
from .names import Names
from .rows import RowPlan, packed_plan

Tables = list[list[Any]]
"""The components of each table, and how many rows it has."""

_WORD = 32
"""So many components are told apart at once."""


def plan_chunks(
    names: Names, handles: Handles, plans: dict[str, RowPlan]
) -> tuple[Tables, EntityArray]:
    """Order the rows of components in chunks; return the tables, and whose rows they have."""
    components = [
        name for name, doc in names.schema["components"].items() if _is_chunked(doc)
    ]
    old_tables = names.saved.state.get("archetypes", {"tables": []})["tables"]
    if _all_stay(names, plans, components):
        tables = [[_present(names, old), rows] for old, rows in old_tables]
        return tables, _saved_owners(names)
    owners = {name: plans[name].take(names.old(name).owners) for name in components}
    entities = _first_of_each([_saved_owners(names), *owners.values()], handles)
    having = {name: _has(owners[name], entities, handles) for name in components}
    number, firsts = _signatures([*having.values()], len(entities))
    some = np.zeros(len(entities), np.bool_)
    for mask in having.values():
        some |= mask
    order = np.argsort(number, kind="stable")
    order = order[some[order]]
    tables = []
    for key, first in enumerate(firsts.tolist()):
        present = [name for name in components if having[name][first]]
        if present:
            tables.append([present, int(np.count_nonzero(number == key))])
    entities = entities[order]
    for name in components:
        wanted = entities[having[name][order]]
        rows = _rows_of(owners[name], wanted, handles)
        plan = plans[name]
        plans[name] = packed_plan(
            plan.old_n, rows if plan.order is None else plan.order[rows]
        )
    return tables, entities


def _is_chunked(doc: dict[str, Any]) -> bool:
    return bool(doc["in"] == "archetypes")


def _all_stay(names: Names, plans: dict[str, RowPlan], components: list[str]) -> bool:
    """Whether no component comes to the chunks or leaves them, and no row goes."""
    tables = names.saved.state.get("archetypes", {"tables": []})["tables"]
    before = {name for present, _ in tables for name in present}
    goes_on = set()
    for name in components:
        old = names.old(name)
        if old.is_new:
            continue
        if not old.is_chunked or not plans[name].stays:
            return False
        goes_on.add(old.name)
    return before <= goes_on


def _present(names: Names, old: list[str]) -> list[str]:
    return [names.targets[name] for name in old]


def _saved_owners(names: Names) -> EntityArray:
    none = np.empty(0, np.uint64)
    owners: EntityArray = names.saved.arrays.get("archetypes.entity", none)
    return owners


def _first_of_each(owners: list[EntityArray], handles: Handles) -> EntityArray:
    """Return all entities once, in the order in which they are there first."""
    every = np.concatenate(owners)
    if len(every) == 0:
        return every
    index = handles.indices(every)
    first = np.full(int(index.max()) + 1, -1, np.intp)
    first[index[::-1]] = np.arange(len(every))[::-1]
    found: EntityArray = every[first[index] == np.arange(len(every))]
    return found


def _rows_of(owners: EntityArray, wanted: EntityArray, handles: Handles) -> RowArray:
    """Return the row of each wanted entity, -1 for those that have none."""
    if len(wanted) == 0:
        return np.empty(0, np.intp)
    table = np.full(int(handles.indices(wanted).max()) + 1, -1, np.intp)
    index = handles.indices(owners)
    inside = index < len(table)
    table[index[inside]] = np.flatnonzero(inside)
    return table[handles.indices(wanted)]


def _has(
    owners: EntityArray, entities: EntityArray, handles: Handles
) -> NDArray[np.bool_]:
    return _rows_of(owners, entities, handles) >= 0


def _signatures(
    having: list[NDArray[np.bool_]], count: int
) -> tuple[NDArray[np.intp], RowArray]:
    """Return the table of each entity, numbered as they are met, and the first entity of each."""
    number = np.zeros(count, np.intp)
    for start in range(0, len(having), _WORD - 1):
        key = number << (_WORD - 1)
        for bit, mask in enumerate(having[start : start + _WORD - 1]):
            key |= mask.astype(np.intp) << bit
        number = _numbered(key)
    _, firsts = np.unique(number, return_index=True)
    return number, firsts


def _numbered(key: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return keys as numbers from 0 on, in the order in which they are met."""
    _, firsts, inverse = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(firsts), np.intp)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    return rank[inverse.reshape(-1)]
