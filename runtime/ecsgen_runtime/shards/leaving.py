"""Leaving a world: rows go without a word to callbacks, for nobody dies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..broken import break_down, is_broken
from ..callbacks import Callbacks, Dispatch, flattened
from ..handles import NIL, EntityArray, RowArray
from .bulk import ShardedBulk
from .departing import Leaving
from .knowing import KnownSlots
from .tables import Component, plan_of


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
