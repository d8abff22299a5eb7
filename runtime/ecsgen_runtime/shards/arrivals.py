"""Arriving in a world: what a parcel must be, and how rows are made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ..base.errors import CapacityError
from ..base.fast_typing import NamedTuple
from ..base.handles import NIL, Columns, EntityArray, IdArray, RowArray
from ..base.locks import mark_broken
from ..managers.policies.chains import own_ancestor
from ..values.array_coercion import are_stored_handles
from .departures import rows_of
from .handle_map import all_distinct
from .parcels import ParcelBase, ParcelComponent, ParcelError, ParcelRows, plan_of
from .sharded_entities import ShardedEntities, SlotCache


class Arrival(NamedTuple):
    """Rows that are going to be in a manager."""

    component: ParcelComponent
    manager: Any
    owners: EntityArray
    """0 for those that have none."""
    columns: Columns
    """By field, checked."""


def absorb(world: Any, parcel: ParcelBase, borrowed: tuple[object, ...] = ()) -> EntityArray:
    """Put what a parcel has into a world; see `ShardedWorld.absorb`.

    `borrowed`: the caller's arguments, which may be views of columns.
    """
    if not isinstance(parcel, ParcelBase):
        raise ParcelError(f"{type(parcel).__name__} is no parcel")
    if parcel._plan().fingerprint != plan_of(type(world)).fingerprint:
        raise ParcelError("a parcel of other schemas")
    es = parcel.entities.copy()
    _check_handles(world, es)
    places = ParcelIndex(es)
    store: Any = getattr(world, "_store", None)
    n_before, slots = world.entities._n_used, world.entities._plan_arrival(es)
    known = SlotCache(world.entities, es, slots)
    came = False
    try:
        came = world.entities._commit_arrival(es, slots)
        if not came:
            raise _over_cell_capacity(world, es)
        arriving = [
            _plan_arrival(world, parcel, one, places)
            for one in parcel._plan().managed
            if parcel._counts[one.table]
        ]
        batches = [] if store is None else store._batches(parcel, places)
        with known:
            for rows in arriving:
                rows.manager._ensure_capacity(rows.owners, rows.columns, borrowed)
        for bits, some, _ in batches:
            store._table.make_room(bits, some)
        run = world.entities.dispatch.run
        run(_settle_all, world, parcel, arriving, batches, known)
        return es
    except BaseException:
        if came and not known.are_new:
            world.entities._rollback_arrival(es, slots, n_before)
        raise


def _settle_all(
    world: Any, parcel: ParcelBase, arriving: list[Arrival], batches: list[Any], known: SlotCache
) -> None:
    """Give entities that have come their rows."""
    try:
        known.are_new = True  # from now on nothing is taken back
        with known:
            versions = [rows.manager.data._version for rows in arriving]
            for rows in arriving:
                _settle(parcel, rows, known.es)
            for rows, version in zip(arriving, versions, strict=True):
                rows.manager.data._version = version + 1  # whatever its mates did
            for bits, some, columns in batches:
                world._store._append(bits, some, columns)
    except BaseException:
        mark_broken(world.entities)
        raise


class ParcelIndex:
    """Where entities stand in a parcel."""

    __slots__ = ("_order", "_ordered", "entities")

    def __init__(self, entities: EntityArray) -> None:
        self.entities = entities
        self._order: RowArray | None = None
        self._ordered = entities

    def are(self, owners: EntityArray) -> bool:
        """Return whether these are all entities, in their order."""
        entities = self.entities
        return len(owners) == len(entities) and bool((owners == entities).all())

    def of(self, name: str, owners: EntityArray, several: bool) -> RowArray:
        """Return the place of each owner; ParcelError for others, and for repeats unless
        `several` may follow each other."""
        if self._order is None:
            self._order = self.entities.argsort()
            self._ordered = self.entities[self._order]
        if len(self.entities) == 0:
            raise ParcelError(f"{name}.entity: rows of nobody in the parcel")
        found = np.minimum(self._ordered.searchsorted(owners), len(self.entities) - 1)
        if (self._ordered[found] != owners).any():
            raise ParcelError(f"{name}.entity: rows of nobody in the parcel")
        places = self._order[found]
        if not several and not all_distinct(places):
            raise ParcelError(f"{name}.entity: two rows of one entity")
        return places


def _check_handles(world: Any, es: EntityArray) -> None:
    """Raise ParcelError for handles that nobody can have, or that somebody made here has."""
    entities: ShardedEntities = world.entities
    if (es < entities._LAYOUT.ONE_GENERATION).any():
        raise ParcelError("entities that are none")
    here = are_stored_handles(entities._handles, es, entities._LAYOUT.INDEX_MASK)
    if here.any():
        raise _already_here(world, es[here.argmax()])


def _over_cell_capacity(world: Any, es: EntityArray) -> ParcelError:
    """Return the error of entities one of which is a visitor already, or is there twice."""
    if not all_distinct(es):
        return ParcelError("an entity is there twice")
    here = world.entities._foreign_slots.find(es) >= 0
    return _already_here(world, es[here.argmax()])


def _already_here(world: Any, e: SupportsIndex) -> ParcelError:
    return ParcelError(f"entity {world.entities._LAYOUT.format_handle(e)} is here already")


def _plan_arrival(
    world: Any, parcel: ParcelBase, one: ParcelComponent, places: ParcelIndex
) -> Arrival:
    manager, rows = getattr(world, one.attribute), ParcelRows(parcel, one)
    if manager._locks:
        manager._raise_if_locked()
    count, most = rows.count, manager.data._MAX_ROWS
    if count > most:
        raise CapacityError(f"{one.name}: {count} rows at once, {most} are all that stay")
    if one.is_owned:
        owners = rows.column("entity")
        # the same object: its slots are going to be known
        if places.are(owners):
            owners = places.entities
        else:
            owners = owners.copy()
            at = places.of(one.name, owners, manager._ALLOWS_MANY)
            is_list = manager._ALLOWS_MANY and not manager._HAS_ORDER
            if is_list and (at[1:] < at[:-1]).any():
                rows.refuse("entity", "rows of an entity are apart")
    else:
        owners = np.zeros(count, np.uint64)
    if "~id" in one.columns:
        _check_ids(rows, manager)
    if "~parent" in one.columns:
        _check_tree(rows)
    if "~active" in one.columns:
        rows.check_bools("~active", rows.column("~active"))
    return Arrival(one, manager, owners, rows.fields(manager))


def _check_ids(rows: ParcelRows, manager: Any) -> None:
    ids: IdArray = rows.column("~id")
    if not all_distinct(ids) or not int(ids.min()) >> 32:
        rows.refuse("~id", "an id is there twice, or none")
    here = manager.resolve_many(ids) != NIL
    if here.any():
        rows.refuse("~id", f"id {int(ids[here.argmax()]):#x} is here already")


def _check_tree(rows: ParcelRows) -> None:
    parents, count = rows.column("~parent"), rows.count
    if ((parents >= count) & (parents != NIL)).any():
        rows.refuse("~parent", "a row that there is not")
    if own_ancestor(parents, np.arange(count)) != NIL:
        rows.refuse("~parent", "a row is its own ancestor")


def _settle(parcel: ParcelBase, arriving: Arrival, es: EntityArray) -> None:
    """Append rows, and let them be what they were."""
    one, manager, owners, columns = arriving
    rows = manager._evict_and_append(owners, manager._own(columns))
    if not one.is_owned:
        rows = manager.resolve_many(rows)
    if not one.marks and not one.cold:
        return
    column = {name: parcel._column(number) for name, number in one.marks.items()}
    if "~id" in column:
        manager._set_ids(rows, column["~id"])
    if one.cold:  # who had a cold row has one, be there nothing but defaults in it
        data, had = manager.data, rows[parcel._column(one.cold["~row"])]
        for row in had[data._cold_row_column[had] == NIL].tolist():
            data._take_cold_row(row)
    if "~active" in column:
        active = column["~active"]  # new rows begin in one part, all of them
        if len(rows) and int(rows[0]) < manager.data._n_active:
            manager.deactivate_many(rows[~active])
        else:
            manager.activate_many(rows[active])
    if "~parent" in column:
        if not one.is_owned:
            rows = manager.resolve_many(column["~id"])
        elif "~active" in column:
            rows = rows_of(manager, es)
        _set_parents(manager, rows, column)


def _set_parents(manager: Any, rows: RowArray, column: Mapping[str, NDArray[Any]]) -> None:
    above = column["~parent"]
    children = (above != NIL).nonzero()[0]
    if len(children):
        children = children[column["~rank"][children].argsort(kind="stable")]
        manager.set_parent_many(rows[children], rows[above[children]])
