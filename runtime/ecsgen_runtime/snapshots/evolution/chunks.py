"""Components in archetype chunks: whose rows are in which table."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...handles import EntityArray, RowArray
from .handles import Handles
from .names import Names
from .rows import RowPlan, packed_plan

Tables = list[list[Any]]
"""The components of each table, and how many rows it has."""

_WORD: Final = 32
"""So many components are told apart at once."""

_FEW_KEYS: Final = 1 << 16
"""Up to here a table of all keys is quicker than sorting them."""


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
    few = len(firsts) < _FEW_KEYS  # then it is a radix sort
    order = np.argsort(number.astype(np.uint16) if few else number, kind="stable")
    some = np.logical_or.reduce([*having.values()])
    order = order[some[order]]
    entities = entities[order]
    counts = np.bincount(number, minlength=len(firsts)).tolist()
    present = [[c for c in components if having[c][first]] for first in firsts]
    tables = [[c, n] for c, n in zip(present, counts, strict=True) if c]
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
    firsts = np.empty(int(number.max()) + 1 if count else 0, np.intp)
    firsts[number[::-1]] = np.arange(count)[::-1]
    return number, firsts


def _numbered(key: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return keys as numbers from 0 on, in the order in which they are met."""
    if len(key) and int(key.max()) < _FEW_KEYS:
        table = np.full(int(key.max()) + 1, len(key), np.intp)
        table[key[::-1]] = np.arange(len(key))[::-1]
        met = np.flatnonzero(table < len(key))
        met = met[np.argsort(table[met])]
        table[met] = np.arange(len(met))
        return table[key]
    _, firsts, inverse = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(firsts), np.intp)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    return rank[inverse.reshape(-1)]
