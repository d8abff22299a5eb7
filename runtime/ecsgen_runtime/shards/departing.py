"""Who leaves a world, and with which rows. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..entities.arrays import as_entities, first_repeat
from ..errors import HierarchyError, StaleEntityError, StaleIdError
from ..handles import NIL, EntityArray, IdArray, RowArray
from ..typed import NamedTuple
from .distinct import are_distinct
from .knowing import KnownSlots
from .tables import Component, plan_of


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
    """Return all rows of distinct entities: by entity, each one's in order; in a ring by age."""
    rows: RowArray = manager.lookup_many(entities)
    return in_order(manager, rows[rows != NIL])


def in_order(manager: Any, rows: RowArray) -> RowArray:
    """Return all rows of entities of which these are the first ones, as `rows_of` does."""
    if manager._IS_LIST:
        rows = _lists(manager, rows)
    if hasattr(manager, "by_age") and len(rows):
        age = np.empty(manager.data._n, np.intp)
        age[manager.by_age()] = np.arange(len(age))
        rows = rows[age[rows].argsort()]
    return rows


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
