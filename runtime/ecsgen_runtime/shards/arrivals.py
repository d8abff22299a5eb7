"""Arrival of entities from other ranks: checks of a parcel, and its rows' insertion."""

from __future__ import annotations

from typing import Any, Final, SupportsIndex

import numpy as np

from ..base.errors import CapacityError
from ..base.fast_typing import NamedTuple
from ..base.handles import NIL, Columns, EntityArray, IdArray, RowArray
from ..base.locks import mark_broken, raise_if_locked
from ..managers.policies.additions import announce_all
from ..managers.policies.chains import own_ancestor
from ..managers.policies.cold import cold_row_column
from ..managers.policies.ids import SLOT_BITS
from ..values.array_coercion import are_stored_handles
from .departures import rows_of
from .handle_map import HandleMap, ShardedBulk, all_distinct
from .parcels import ParcelBase, ParcelComponent, ParcelError, ParcelRows, plan_of
from .shard_base import ShardBase
from .sharded_entities import SlotCache
from .sharded_managers import ShardedDirectIds, WithForeignIds


class Arrival(NamedTuple):
    """Rows to append to a manager."""

    component: ParcelComponent
    manager: Any
    owners: EntityArray
    """0 for rows without owners."""
    columns: Columns
    """Columns by field, checked."""
    span: int
    """As many rows there must be, beside those for the owners."""


def absorb(world: ShardBase, parcel: ParcelBase, borrowed: tuple[object, ...] = ()) -> EntityArray:
    """Add the entities of a parcel, as `ShardedWorld.absorb` does; `borrowed`: the caller's
    arguments, which may be views of columns."""
    if not isinstance(parcel, ParcelBase):
        raise ParcelError(f"{type(parcel).__name__} is no parcel")
    if parcel.plan().fingerprint != plan_of(type(world)).fingerprint:
        raise ParcelError("a parcel of other schemas")
    es = parcel.entities.copy()
    _check_handles(world, es)
    parcel_index = ParcelIndex(es)
    store = world.archetype_store()
    n_before, slots = world.entities.n_used, world.entities._plan_arrival(es)
    slot_cache = SlotCache(world.entities, es, slots)
    has_arrived = False
    try:
        has_arrived = world.entities.commit_arrival(es, slots)
        if not has_arrived:
            raise _duplicate_error(world, es)
        arrivals = [
            _plan_arrival(world, parcel, component, parcel_index)
            for component in parcel.plan().managed
            if parcel.counts[component.table]
        ]
        batches = [] if store is None else store.batches(parcel, parcel_index)
        with slot_cache:
            for arrival in arrivals:
                arrival.manager._ensure_capacity(arrival.owners, arrival.columns, borrowed)
                arrival.manager.data.reserve_rows(arrival.span, borrowed)
        for bits, owners, _ in batches:
            store.table.make_room(bits, owners)
        run = world.entities.dispatch.run
        run(_settle_all, world, parcel, arrivals, batches, slot_cache)
        return es
    except BaseException:
        if has_arrived and not slot_cache.are_new:
            world.entities.rollback_arrival(es, slots, n_before)
        raise


def _settle_all(
    world: ShardBase,
    parcel: ParcelBase,
    arrivals: list[Arrival],
    batches: list[Any],
    slot_cache: SlotCache,
) -> None:
    """Append the rows of entities that have arrived; an error marks the world broken."""
    try:
        slot_cache.are_new = True  # no rollback from now on
        world.entities.retire_indices(slot_cache.es)
        with slot_cache:
            versions = [arrival.manager.version for arrival in arrivals]
            for arrival in arrivals:
                _settle(parcel, arrival, slot_cache.es)
            for arrival, version in zip(arrivals, versions, strict=True):
                # once, also where group members moved rows
                arrival.manager.data._version = version + 1
            for bits, owners, columns in batches:
                world.archetype_store().append(bits, owners, columns)
    except BaseException:
        mark_broken(world.entities)
        raise
    _announce(world, parcel, arrivals, slot_cache.es)


def _announce(
    world: ShardBase, parcel: ParcelBase, arrivals: list[Arrival], es: EntityArray
) -> None:
    """Notify the callbacks of the rows that have arrived."""
    added = []
    for component, manager, *_ in arrivals:
        if manager.HAS_ADD_CALLBACKS and manager.has_add_listeners:
            ids = None if component.is_owned else parcel.column(component.columns["~id"])
            added.append(manager.added_rows(rows_of(manager, es) if ids is None else ids))
    announce_all(world.entities.dispatch, added)


class ParcelIndex:
    """Positions of entities in a parcel."""

    __slots__ = ("_map", "entities")

    def __init__(self, entities: EntityArray) -> None:
        self.entities = entities
        self._map: HandleMap | None = None

    def of(self, name: str, owners: EntityArray, allows_many: bool) -> RowArray:
        """Return the position of each owner; ParcelError for owners that are not in the parcel, and
        for repeated ones unless `allows_many`."""
        if self._map is None:
            self._map = HandleMap(ShardedBulk)
            self._map.add(self.entities, np.arange(len(self.entities)))
        positions = self._map.find(owners)
        if (positions < 0).any():
            raise ParcelError(f"{name}.entity: rows of an entity that is not in the parcel")
        if not allows_many and not all_distinct(positions):
            raise ParcelError(f"{name}.entity: two rows of one entity")
        return positions


_MAX_SKIPPED: Final = 1 << 20
"""As many indices may be skipped, or a few for each arriving entity: they take memory."""


def _check_handles(world: ShardBase, es: EntityArray) -> None:
    """Raise ParcelError for handles that no shard makes, of entities made here and alive, or of
    this shard's number if it may still make them."""
    entities = world.entities
    if (es < entities.HANDLE_LAYOUT.ONE_GENERATION).any():
        raise ParcelError("a handle that no entity can have")
    is_here = are_stored_handles(entities.handles, es, entities.HANDLE_LAYOUT.INDEX_MASK)
    if is_here.any():
        raise _already_here(world, es[is_here.argmax()])
    unknown, indices = entities.not_made_here(es)
    end = entities.n_used + max(_MAX_SKIPPED, 16 * len(es))
    cannot_skip = (indices < entities.n_used) | (indices >= end)
    if cannot_skip.any():
        shown = entities.HANDLE_LAYOUT.format_handle(unknown[cannot_skip.argmax()])
        origin = f"another world of the same number, {entities.shard}"
        raise ParcelError(f"entity {shown} is of {origin}; give one of them another number")


def _duplicate_error(world: ShardBase, es: EntityArray) -> ParcelError:
    """Return the error of entities one of which is here as a foreign one, or is repeated."""
    if not all_distinct(es):
        return ParcelError("an entity is in the parcel twice")
    is_here = world.entities.foreign_slots.find(es) >= 0
    return _already_here(world, es[is_here.argmax()])


def _already_here(world: ShardBase, e: SupportsIndex) -> ParcelError:
    return ParcelError(f"entity {world.entities.HANDLE_LAYOUT.format_handle(e)} is here already")


def _plan_arrival(
    world: ShardBase, parcel: ParcelBase, component: ParcelComponent, parcel_index: ParcelIndex
) -> Arrival:
    manager, rows = getattr(world, component.attribute), ParcelRows(parcel, component)
    raise_if_locked(manager)
    count, max_rows = rows.count, manager.data.MAX_ROWS
    if count > max_rows:
        raise CapacityError(f"{component.name}: {count} rows at once, max_rows is {max_rows}")
    if component.is_owned:
        owners = rows.column("entity")
        # not a copy: `slot_cache` knows entities by identity
        if np.array_equal(owners, parcel_index.entities):
            owners = parcel_index.entities
        else:
            owners = owners.copy()
            positions = parcel_index.of(component.name, owners, manager.ALLOWS_MANY)
            is_list = manager.ALLOWS_MANY and not manager.HAS_ORDER
            if is_list and (positions[1:] < positions[:-1]).any():
                rows.refuse("entity", "rows of one entity do not follow each other")
    else:
        owners = np.zeros(count, np.uint64)
    span = _check_ids(rows, manager, world.entities.n_used) if "~id" in component.columns else 0
    if component.is_tree:
        parents = rows.column("~parent")
        if ((parents >= count) & (parents != NIL)).any():
            rows.refuse("~parent", "a row that does not exist")
        if own_ancestor(parents, np.arange(count)) != NIL:
            rows.refuse("~parent", "a row is its own ancestor")
    if "~active" in component.columns:
        rows.check_bools("~active", rows.column("~active"))
    return Arrival(component, manager, owners, rows.fields(), span)


def _check_ids(rows: ParcelRows, manager: WithForeignIds, n_used: int) -> int:
    """Raise ParcelError for wrong ids, those that are here, and those of this shard's number that
    it may still make; return how many rows it takes to skip the others of that number."""
    ids: IdArray = rows.column("~id")
    if not all_distinct(ids) or not int(ids.min()) >> 32:
        rows.refuse("~id", "an id is there twice, or is 0")
    is_here = manager.resolve_many(ids) != NIL
    if is_here.any():
        rows.refuse("~id", f"id {int(ids[is_here.argmax()]):#x} is here already")
    name_rows = isinstance(manager, ShardedDirectIds)
    end = n_used + max(_MAX_SKIPPED, 16 * len(ids)) if name_rows else 1 << SLOT_BITS
    wrong = manager.data.first_unskippable(ids, end)
    if wrong:
        origin = "another world of the same number"
        rows.refuse("~id", f"id {wrong:#x} is of {origin}; give one of them another number")
    return int(manager.data.not_made_here(ids)[1].max(initial=-1)) + 1 if name_rows else 0


def _settle(parcel: ParcelBase, arrival: Arrival, es: EntityArray) -> None:
    """Append rows and restore their ids, cold rows, activity and parents."""
    component, manager, owners, columns, _ = arrival
    rows = manager.evict_and_append(owners, manager._own(columns))
    if not component.is_owned:
        rows = manager.resolve_many(rows)
    columns_by_mark = {
        name: parcel.column(number)
        for name, number in component.columns.items()
        if name.startswith("~")
    }
    if "~id" in columns_by_mark:
        manager.set_ids(rows, columns_by_mark["~id"])
    if component.cold:  # a cold row is restored even if it has only defaults
        data, with_cold = manager.data, rows[parcel.column(component.cold["~row"])]
        for row in with_cold[cold_row_column(data)[with_cold] == NIL].tolist():
            data.take_cold_row(row)
    if "~active" in columns_by_mark:
        active = columns_by_mark["~active"]  # new rows are all active or all inactive
        if len(rows) and int(rows[0]) < manager.data.n_active:
            manager.deactivate_many(rows[~active])
        else:
            manager.activate_many(rows[active])
    if component.is_tree:
        if not component.is_owned:
            rows = manager.resolve_many(columns_by_mark["~id"])
        elif "~active" in columns_by_mark:
            rows = rows_of(manager, es)
        parents = columns_by_mark["~parent"]
        children = (parents != NIL).nonzero()[0]
        if len(children):
            children = children[columns_by_mark["~rank"][children].argsort(kind="stable")]
            manager.set_parent_many(rows[children], rows[parents[children]])
