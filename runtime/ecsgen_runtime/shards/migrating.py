"""Who goes from this rank to which other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import HierarchyError
from ..handles import NIL, EntityArray, IdArray, RowArray
from .departing import (
    Leaving,
    checked_ids,
    collect_families,
    distinct_entities,
    leaving,
)
from .distinct import are_distinct
from .tables import plan_of


def refuse_locks(world: Any) -> None:
    """Raise StructureLockedError if anything in a world is locked."""
    for name in world.MANAGERS:
        manager = getattr(world, name)
        if manager._locks:
            manager._refuse_locked()
    store = getattr(world, "_store", None)
    if store is not None:
        store._refuse_locked()


def departures(
    world: Any,
    own: int,
    size: int,
    es: ArrayLike,
    ranks: ArrayLike,
    ids: Mapping[str, tuple[ArrayLike, ArrayLike]],
) -> dict[int, Leaving]:
    """Return who leaves for which of `size` ranks; those for the own one stay."""
    entities, slots = distinct_entities(world, es)
    owners = checked_ranks(ranks, len(entities), size)
    away = owners != own
    # copies: of a column of owners, which changes where rows of the dead are collected
    entities, slots, owners = entities[away], slots[away], owners[away]
    if len(entities):
        collect_families(world, entities)
        below = _has_parent(world, entities)
        if below.any():
            entities, slots, owners = entities[~below], slots[~below], owners[~below]
    rows = {
        name: _roots_by_id(world, size, name, *given) for name, given in ids.items()
    }
    found: dict[int, Leaving] = {}
    for rank in range(size):
        chosen = {name: given[of == rank] for name, (given, of) in rows.items()}
        some = owners == rank
        if rank != own and (some.any() or any(map(len, chosen.values()))):
            found[rank] = leaving(world, entities[some], slots[some], chosen)
    if sum(len(it.entities) for it in found.values()) == len(entities):
        return found
    whole = np.concatenate([entities[:0], *(it.entities for it in found.values())])
    if not are_distinct(whole):
        raise HierarchyError("an entity has roots that go to different ranks")
    return found


def _roots_by_id(
    world: Any, size: int, name: str, ids: ArrayLike, ranks: ArrayLike
) -> tuple[IdArray, RowArray]:
    """Return ids of rows without owners that are below no others, and a rank for each."""
    given = checked_ids(world, name, ids)
    owners = checked_ranks(ranks, len(given), size)
    manager = getattr(world, name)
    if not hasattr(manager, "set_parent"):
        return given, owners
    parents = manager.data._parent_column[manager.resolve_many(given)]
    are_roots = parents == NIL
    return given[are_roots], owners[are_roots]


def checked_ranks(ranks: ArrayLike, count: int, size: int) -> RowArray:
    """Return a rank for each of some rows, or raise ValueError or TypeError."""
    given = np.asarray(ranks)
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"ranks are integers, not {given.dtype}")
    if given.shape not in ((), (count,)):
        raise ValueError(f"{given.size} ranks for {count}")
    whole = np.broadcast_to(given, count).astype(np.intp, copy=False)
    if count and not 0 <= int(whole.min()) <= int(whole.max()) < size:
        wrong = whole[(whole < 0) | (whole >= size)][0]
        raise ValueError(f"there is no rank {wrong}, they are 0 to {size - 1}")
    return whole


def united(plans: list[Leaving]) -> Leaving:
    """Return who leaves for any rank."""
    if len(plans) == 1:
        return plans[0]
    ids: dict[str, list[Any]] = {}
    rows: dict[str, list[Any]] = {}
    for plan in plans:
        for name, given in plan.ids.items():
            ids.setdefault(name, []).append(given)
        for name, found in plan.rows.items():
            rows.setdefault(name, []).append(found)
    return Leaving(
        np.concatenate([plan.entities for plan in plans]),
        np.concatenate([plan.slots for plan in plans]),
        {name: np.concatenate(given) for name, given in ids.items()},
        {name: np.concatenate(found) for name, found in rows.items()},
    )


def _has_parent(world: Any, entities: EntityArray) -> NDArray[np.bool_]:
    """Return which entities have a row below one of another entity."""
    found = np.zeros(len(entities), np.bool_)
    for one in plan_of(type(world)).managed:
        if "~parent" not in one.columns or not one.is_owned:
            continue
        manager = getattr(world, one.attribute)
        data = manager.data
        rows = manager._rows_of_many(entities)
        parents = data._parent_column[rows]
        below = rows[parents != NIL]
        above = data._entity_column[data._parent_column[below]]
        owners = data._entity_column[below]
        found |= np.isin(entities, owners[owners != above])
    return found
