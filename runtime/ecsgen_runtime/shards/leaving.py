"""Leaving a world: who goes, to which rank, with which rows, and what becomes of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..callbacks import Callbacks, Dispatch, flattened
from ..errors import HierarchyError, StaleEntityError, StaleIdError
from ..given_arrays import as_entities, first_repeat
from ..handles import NIL, EntityArray, IdArray, RowArray
from ..locks import break_down, is_broken
from ..typed import NamedTuple
from .handle_map import ShardedBulk, are_distinct
from .parcels import Component, plan_of
from .sharded_entities import KnownSlots

# --- Who leaves a world, and with which rows. Nothing is changed here -----------------


class Leaving(NamedTuple):
    """Who leaves a world, and with which rows, in the order that parcels have."""

    entities: EntityArray
    slots: RowArray
    ids: Mapping[str, IdArray]
    """By attribute: those of rows without owners."""
    rows: Mapping[str, RowArray]
    """By attribute."""


def leaving(
    world: Any, entities: EntityArray, slots: RowArray, ids: Mapping[str, ArrayLike]
) -> Leaving:
    """Find out who leaves: distinct live entities, in these slots, their descendants, and rows
    by id.

    Raises what `extract` does; but for rows of the dead that hierarchies collect, nothing
    has changed then.
    """
    plan = plan_of(type(world))
    given = {name: checked_ids(world, name, ids[name]) for name in ids}
    families = [one for one in plan.managed if "~parent" in one.columns]
    check_locks(world, entities, given)
    collect_families(world, entities)
    whole = _with_families(world, families, entities)
    if whole is not entities:
        entities, slots = whole, world.entities._slots(whole)
    try:
        with KnownSlots(world.entities, entities, slots) as known:
            rows = _rows_of_all(world, families, entities, given, known)
    except BaseException:  # an interrupt may have come upon the end of the block
        world.entities._known = None
        raise
    for one in families:
        _check_parents(one, getattr(world, one.attribute), rows.get(one.attribute))
    check_locks(world, entities, given)
    return Leaving(entities, slots, given, rows)


def collect_families(world: Any, entities: EntityArray) -> None:
    """Remove the rows of the dead in hierarchies; StaleEntityError if one of some entities, a copy,
    dies with them."""
    before = world.entities._deaths
    for one in plan_of(type(world)).managed:
        manager = getattr(world, one.attribute)
        if "~parent" in one.columns and hasattr(manager, "collect"):
            manager.collect()
    if world.entities._deaths != before:
        world.entities.require_many(entities)


def _rows_of_all(
    world: Any,
    families: list[Component],
    entities: EntityArray,
    given: dict[str, IdArray],
    known: KnownSlots,
) -> dict[str, RowArray]:
    """Return all rows that leave by attribute; `given` gets the ids of descendants."""
    rows: dict[str, RowArray] = {}
    for one in plan_of(type(world)).managed:
        manager = getattr(world, one.attribute)
        if one.is_owned:
            first = manager.lookup_many(entities)
            if first is not known.rows:
                has_row = first != NIL
                if has_row.all():
                    known.rows = first
                else:
                    first = first[has_row]
            rows[one.attribute] = in_order(manager, first)
        elif one.attribute in given:
            found = manager.resolve_many(given[one.attribute])
            if one in families:
                found = _whole_family(manager, found)
                given[one.attribute] = manager._ids_in(found)
            rows[one.attribute] = found
    return rows


def distinct_entities(world: Any, es: ArrayLike) -> tuple[EntityArray, RowArray]:
    """Return live entities as an array, and their slots; StaleEntityError for dead or repeated
    ones."""
    known = world.entities
    entities, slots = known._require_slots(es)
    if not known._BULK.are_distinct_below(known._n_used, slots):
        position = first_repeat(entities)
        e = world.entities._LAYOUT.shown(entities[position])
        raise StaleEntityError(f"entity {e} at position {position} is repeated")
    return entities, slots


def checked_ids(world: Any, name: str, ids: ArrayLike) -> IdArray:
    """Return a copy of ids of a component whose rows belong to nobody; StaleIdError for stale or
    repeated ones, TypeError for another component."""
    managed = plan_of(type(world)).managed
    component = next((one for one in managed if one.attribute == name), None)
    if component is None or component.is_owned:
        raise TypeError(f"{name} is no component whose rows belong to nobody")
    given = as_entities(ids, "ids").copy()
    rows = getattr(world, name).resolve_many(given)
    stale = rows == NIL
    if stale.any():
        raise StaleIdError(
            f"{name}: id {int(given[stale.argmax()]):#x} has no instance here"
        )
    if not are_distinct(given):
        again = int(given[first_repeat(given)])
        raise StaleIdError(f"{name}: id {again:#x} is given twice")
    return given


def check_locks(world: Any, entities: EntityArray, ids: Mapping[str, Any]) -> None:
    """Raise StructureLockedError if rows that leave are in something that is locked."""
    for name in world.MANAGERS:
        manager = getattr(world, name)
        if not manager._locks:
            continue
        if len(ids.get(name, ())) or (
            hasattr(manager, "lookup") and manager.has_many(entities).any()
        ):
            manager._refuse_locked()
    store = getattr(world, "_store", None)
    if store is not None and store._locks and store._has_any(entities):
        store._refuse_locked()


def _with_families(
    world: Any, families: list[Component], entities: EntityArray
) -> EntityArray:
    """Return entities with the owners of all that is below rows of theirs."""
    managers = [getattr(world, one.attribute) for one in families if one.is_owned]
    while managers:
        below = [
            m.data._entity_column[m._with_descendants(m._rows_of_many(entities))]
            for m in managers
        ]
        found = np.concatenate(below)
        new = found[~np.isin(found, entities)]
        _, first = np.unique(new, return_index=True)
        new = new[np.sort(first)]
        new = new[world.entities.alive_many(new)]
        if len(new) == 0:
            break
        entities = np.concatenate((entities, new))
    return entities


def _whole_family(manager: Any, rows: RowArray) -> RowArray:
    """Return rows, then what is below them and not among them."""
    below = manager._with_descendants(np.sort(rows))
    return np.concatenate((rows, below[~np.isin(below, rows)]))


def _check_parents(one: Component, manager: Any, rows: RowArray | None) -> None:
    if rows is None or len(rows) == 0:
        return
    parents = manager.data._parent_column[rows]
    stays = (parents != NIL) & ~np.isin(parents, rows)
    if stays.any():
        row = int(rows[stays.argmax()])
        raise HierarchyError(
            f"{type(manager).__name__}: the parent of row {row} stays behind; detach it first"
        )


def rows_of(manager: Any, entities: EntityArray) -> RowArray:
    """Return all rows of distinct entities, in their order if they have one; else by entity."""
    rows: RowArray = manager.lookup_many(entities)
    return in_order(manager, rows[rows != NIL])


def in_order(manager: Any, rows: RowArray) -> RowArray:
    """Return all rows of entities of which these are the first ones, as `rows_of` does."""
    if manager._IS_LIST:
        rows = _lists(manager, rows)
    ordered: RowArray = manager._in_order(rows)
    return ordered


def _lists(manager: Any, heads: RowArray) -> RowArray:
    """Return the rows of lists, one list after the other."""
    nexts = manager.data._next_column
    rows, whose = [heads], [np.arange(len(heads))]
    here, place = heads, whose[0]
    for _ in range(64):
        following = nexts[here]
        more = following != NIL
        here, place = following[more].astype(np.intp), place[more]
        if len(here) == 0:
            break
        rows.append(here)
        whose.append(place)
    else:
        for row, number in zip(here.tolist(), place.tolist(), strict=True):
            rest = manager._rows_from(row)[1:]
            rows.append(rest)
            whose.append(np.full(len(rest), number))
    order = np.concatenate(whose).argsort(kind="stable")
    return np.concatenate(rows)[order]


# --- Leaving a world: rows go without a word to callbacks, for nobody dies ------------


def leave(world: Any, found: Leaving) -> None:
    """Take away who leaves; rows of components that stay are destroyed, callbacks told."""
    world.entities.dispatch.run(_leave, world, found)


def _leave(world: Any, found: Leaving) -> None:
    """Do what `leave` does.

    Rows are looked up again in each manager: what leaves a group moves its mates' rows.
    """
    entities, plan = world.entities, plan_of(type(world))
    concerned = [getattr(world, name) for name in found.rows if len(found.rows[name])]
    versions = [manager.data._version for manager in concerned]
    # where rows below others die with them, nobody does who has left before
    families = [one for one in plan.managed if "~parent" in one.columns]
    others = [one for one in plan.managed if "~parent" not in one.columns]
    try:
        with KnownSlots(entities, found.entities, found.slots) as known:
            for one in others:
                _drop_rows(world, one, found, known)
            guests, slots = entities._leave(found.entities, found.slots)
            for one in families:
                _drop_rows(world, one, found, known)
            store = getattr(world, "_store", None)
            if store is not None:
                store._drop_many(found.entities)
        for manager, version in zip(concerned, versions, strict=True):
            manager.data._version = version + 1  # whatever its mates in a group did
    except BaseException:
        break_down(entities)
        raise
    try:
        for name in world.MANAGERS:
            if name in type(world)._STAYS:
                _let_go(entities.dispatch, getattr(world, name), found.entities)
        entities._vacate(guests, slots)
    except BaseException:
        break_down(entities)
        raise


def _let_go(dispatch: Dispatch, manager: Any, entities: EntityArray) -> None:
    """Remove the rows of entities that have left, if need be one by one."""
    try:
        manager._destroy_rows(manager._rows_of_many(entities))
    except BaseException as error:
        if not is_broken(manager):
            manager._remove_each(entities)
        dispatch.errors.extend(flattened(error))


def _drop_rows(world: Any, one: Component, found: Leaving, known: KnownSlots) -> None:
    """Take away the rows of a component."""
    manager, rows = getattr(world, one.attribute), found.rows.get(one.attribute)
    if rows is None or len(rows) == 0:
        return
    if not one.is_owned:
        _drop(manager, np.sort(manager.resolve_many(found.ids[one.attribute])))
    elif "~parent" in one.columns:
        _spare_the_dead(manager, _rows_of(manager, found.entities))
        _drop(manager, _rows_of(manager, found.entities))
    else:
        if hasattr(manager, "GROUP"):
            rows = _rows_of(manager, found.entities)
        known.is_going = not manager._IS_LIST and len(rows) == len(found.entities)
        _drop(manager, known.ascending(rows, manager.data._n))
        known.is_going = False


def _rows_of(manager: Any, entities: EntityArray) -> RowArray:
    """Return all rows of distinct entities, ascending."""
    if manager._IS_LIST:
        found: RowArray = manager._rows_of_many(entities)
        return found
    rows: RowArray = manager.lookup_many(entities)
    bulk: type[ShardedBulk] = manager._entities._BULK
    return bulk.ascending(rows[rows != NIL], manager.data._n)


def _spare_the_dead(manager: Any, rows: RowArray) -> None:
    """Let rows of the dead below those that go be roots: they stay."""
    below = manager._with_descendants(np.sort(rows))
    dead = below[~np.isin(below, rows)]
    if len(dead):
        manager.set_parent_many(dead, NIL)


def _drop(manager: Any, rows: RowArray) -> None:
    """Destroy rows, of which callbacks are not told."""
    if not hasattr(manager, "_released"):
        manager._destroy_rows(rows)
        return
    told, manager._released = manager._released, Callbacks()
    try:
        manager._destroy_rows(rows)
    finally:
        if not is_broken(manager):
            manager._released = told


# --- Who goes from this rank to which other one ---------------------------------------


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
