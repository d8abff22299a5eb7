"""Leaving a world: who goes, to which rank, with which rows, and the parcel of these."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.callbacks import Callbacks, Dispatch, flatten_exceptions
from ..base.errors import HierarchyError, StaleEntityError, StaleIdError
from ..base.fast_typing import NamedTuple
from ..base.handles import NIL, EntityArray, IdArray, RowArray
from ..base.locks import is_broken, mark_broken
from ..tables.buffers import Column
from ..values.array_coercion import as_entities, drop_duplicates, find_first_duplicate
from . import parcels
from .handle_map import ShardedBulk, all_distinct
from .parcels import ParcelComponent
from .sharded_entities import SlotCache


class BatchRemoval(NamedTuple):
    """Who leaves a world, and with which rows, in the order that parcels have."""

    entities: EntityArray
    slots: RowArray
    ids: Mapping[str, IdArray]
    """By attribute: those of rows without owners."""
    rows: Mapping[str, RowArray]
    """By attribute."""


def plan_departure(
    world: Any, entities: EntityArray, slots: RowArray, ids: Mapping[str, ArrayLike]
) -> BatchRemoval:
    """Find out who leaves: distinct live entities, in these slots, their descendants, and rows
    by id.

    Raises what `extract` does; but for rows of the dead that hierarchies collect, nothing
    has changed then.
    """
    plan = parcels.plan_of(type(world))
    given = {name: checked_ids(world, name, ids[name]) for name in ids}
    families = [one for one in plan.managed if "~parent" in one.columns]
    check_locks(world, entities, given)
    collect_families(world, entities)
    whole = _with_families(world, families, entities)
    if whole is not entities:
        entities, slots = whole, world.entities._slots(whole)
    try:
        with SlotCache(world.entities, entities, slots) as known:
            rows = _rows_of_all(world, families, entities, given, known)
    except BaseException:  # an interrupt may have come upon the end of the block
        world.entities._slot_cache = None
        raise
    for one in families:
        _check_parents(getattr(world, one.attribute), rows.get(one.attribute))
    check_locks(world, entities, given)
    return BatchRemoval(entities, slots, given, rows)


def collect_families(world: Any, entities: EntityArray) -> None:
    """Remove the rows of the dead in hierarchies; StaleEntityError if one of some entities, a copy,
    dies with them."""
    before = world.entities._despawn_count
    for one in parcels.plan_of(type(world)).managed:
        manager = getattr(world, one.attribute)
        if "~parent" in one.columns and hasattr(manager, "collect"):
            manager.collect()
    if world.entities._despawn_count != before:
        world.entities.require_many(entities)


def _rows_of_all(
    world: Any,
    families: list[ParcelComponent],
    entities: EntityArray,
    given: dict[str, IdArray],
    known: SlotCache,
) -> dict[str, RowArray]:
    """Return all rows that leave by attribute; `given` gets the ids of descendants."""
    rows: dict[str, RowArray] = {}
    for one in parcels.plan_of(type(world)).managed:
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
                below = manager._with_descendants(np.sort(found))
                found = np.concatenate((found, below[~np.isin(below, found)]))
                given[one.attribute] = manager._ids_in(found)
            rows[one.attribute] = found
    return rows


def distinct_entities(world: Any, es: ArrayLike) -> tuple[EntityArray, RowArray]:
    """Return live entities as an array, and their slots; StaleEntityError for dead or repeated
    ones."""
    known = world.entities
    entities, slots = known._require_slots(es)
    if not known._BULK.all_distinct_below(slots, known._n_used):
        position = find_first_duplicate(entities)
        e = world.entities._LAYOUT.format_handle(entities[position])
        raise StaleEntityError(f"entity {e} at position {position} is repeated")
    return entities, slots


def checked_ids(world: Any, name: str, ids: ArrayLike) -> IdArray:
    """Return a copy of ids of a component whose rows belong to nobody; StaleIdError for stale or
    repeated ones, TypeError for another component."""
    managed = parcels.plan_of(type(world)).managed
    component = next((one for one in managed if one.attribute == name), None)
    if component is None or component.is_owned:
        raise TypeError(f"{name} is no component whose rows belong to nobody")
    given = as_entities(ids, "ids").copy()
    rows = getattr(world, name).resolve_many(given)
    stale = rows == NIL
    if stale.any():
        raise StaleIdError(f"{name}: id {int(given[stale.argmax()]):#x} has no instance here")
    if not all_distinct(given):
        again = int(given[find_first_duplicate(given)])
        raise StaleIdError(f"{name}: id {again:#x} is given twice")
    return given


def check_locks(
    world: Any, entities: EntityArray | None = None, ids: Mapping[str, Any] = {}
) -> None:
    """Raise StructureLockedError if rows that leave are in something that is locked; without
    entities if anything is."""
    for name in world.MANAGERS:
        manager = getattr(world, name)
        if manager._locks and (
            entities is None
            or len(ids.get(name, ()))
            or (hasattr(manager, "lookup") and manager.has_many(entities).any())
        ):
            manager._raise_if_locked()
    store: Any = getattr(world, "_store", None)
    is_locked = store is not None and store._locks
    if is_locked and (entities is None or store._has_any(entities)):
        store._raise_if_locked()


def _with_families(
    world: Any, families: list[ParcelComponent], entities: EntityArray
) -> EntityArray:
    """Return entities with the owners of all that is below rows of theirs."""
    managers = [getattr(world, one.attribute) for one in families if one.is_owned]
    while managers:
        below = [
            m.data._entity_column[m._with_descendants(m._rows_of_many(entities))] for m in managers
        ]
        found = np.concatenate(below)
        new = drop_duplicates(found[~np.isin(found, entities)])
        new = new[world.entities.alive_many(new)]
        if len(new) == 0:
            break
        entities = np.concatenate((entities, new))
    return entities


def _check_parents(manager: Any, rows: RowArray | None) -> None:
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
    if manager._ALLOWS_MANY:
        rows = _lists(manager, rows)
    ordered: RowArray = manager._order_rows(rows)
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


def commit_departure(world: Any, found: BatchRemoval) -> None:
    """Take away who leaves; rows of components that stay are destroyed, callbacks told."""
    world.entities.dispatch.run(_leave, world, found)


def _leave(world: Any, found: BatchRemoval) -> None:
    """Rows are looked up again in each manager: what leaves a group moves its mates' rows."""
    entities, plan = world.entities, parcels.plan_of(type(world))
    concerned = [getattr(world, name) for name in found.rows if len(found.rows[name])]
    versions = [manager.data._version for manager in concerned]
    # where rows below others die with them, nobody does who has left before
    families = [one for one in plan.managed if "~parent" in one.columns]
    others = [one for one in plan.managed if "~parent" not in one.columns]
    try:
        with SlotCache(entities, found.entities, found.slots) as known:
            for one in others:
                _drop_rows(world, one, found, known)
            guests, slots = entities._leave(found.entities, found.slots)
            for one in families:
                _drop_rows(world, one, found, known)
            store = getattr(world, "_store", None)
            if store is not None:
                store._remove_rows_of(found.entities)
        for manager, version in zip(concerned, versions, strict=True):
            manager.data._version = version + 1  # whatever its mates in a group did
        for name in world.MANAGERS:
            if name in type(world)._STAYS:
                _destroy_where_told(entities.dispatch, getattr(world, name), found.entities)
        entities._clear_objects(guests, slots)
    except BaseException:
        mark_broken(entities)
        raise


def _destroy_where_told(dispatch: Dispatch, manager: Any, entities: EntityArray) -> None:
    """Remove the rows of entities that have left, if need be one by one."""
    try:
        manager._destroy_rows(manager._rows_of_many(entities))
    except BaseException as error:
        if not is_broken(manager):
            manager._remove_rows_one_by_one(entities)
        dispatch.errors.extend(flatten_exceptions(error))


def _drop_rows(world: Any, one: ParcelComponent, found: BatchRemoval, known: SlotCache) -> None:
    manager, rows = getattr(world, one.attribute), found.rows.get(one.attribute)
    if rows is None or len(rows) == 0:
        return
    if not one.is_owned:
        _drop(manager, np.sort(manager.resolve_many(found.ids[one.attribute])))
    elif "~parent" in one.columns:
        _detach_dead_children(manager, _ascending_rows(manager, found.entities))
        _drop(manager, _ascending_rows(manager, found.entities))
    else:
        if hasattr(manager, "GROUP"):
            rows = _ascending_rows(manager, found.entities)
        known.is_going = not manager._ALLOWS_MANY and len(rows) == len(found.entities)
        _drop(manager, known.ascending(rows, manager.data._n))
        known.is_going = False


def _ascending_rows(manager: Any, entities: EntityArray) -> RowArray:
    """Return all rows of distinct entities, ascending."""
    if manager._ALLOWS_MANY:
        found: RowArray = manager._rows_of_many(entities)
        return found
    rows: RowArray = manager.lookup_many(entities)
    bulk: type[ShardedBulk] = manager._entities._BULK
    return bulk.ascending(rows[rows != NIL], manager.data._n)


def _detach_dead_children(manager: Any, rows: RowArray) -> None:
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


# --- How what leaves a world becomes the bytes of a parcel ----------------------------


def pack_departure(world: Any, found: BatchRemoval) -> NDArray[np.uint8]:
    """Return the bytes of a parcel of what leaves."""
    packing = ParcelWriter(parcels.plan_of(type(world)), found.entities)
    for one in packing.plan.managed:
        rows = found.rows.get(one.attribute)
        if rows is not None and len(rows):
            packing.add(one, getattr(world, one.attribute), rows)
    if packing.plan.chunked:
        world._store._pack(packing)
    return packing.bytes()


class ParcelWriter:
    """Collects the cells of a parcel."""

    def __init__(self, plan: parcels.ParcelPlan, entities: EntityArray) -> None:
        self.plan = plan
        self.entities = entities
        self._counts = [0] * plan.n_tables
        self._cells: dict[int, NDArray[Any]] = {}
        self._sources: list[tuple[Any, tuple[tuple[Column, int], ...], RowArray]] = []
        """Data of a manager, columns of it with their numbers in the parcel, and rows."""

    def put(self, number: int, cells: NDArray[Any]) -> None:
        """Have the cells of a column, as many as its table has rows."""
        self._cells[number] = cells
        self._counts[self.plan.columns[number].table] = len(cells)

    def put_objects(self, number: int, values: list[Any]) -> None:
        """Have a pickle of all objects of a field."""
        self.put(number, np.frombuffer(pickle.dumps(values, protocol=4), np.uint8))

    def add(self, one: ParcelComponent, manager: Any, rows: RowArray) -> None:
        """Have rows of a manager."""
        self._counts[one.table] = len(rows)
        if one.is_owned:
            is_whole = one.is_one and len(rows) == len(self.entities)
            owners = self.entities if is_whole else manager.data._entity_column[rows]
            self._cells[one.columns["entity"]] = owners
        self._cells.update(_bookkeeping(one, manager, rows))
        self._sources.append((manager.data, one.sources, rows))
        if one.cold:
            self._add_cold(one, manager.data, rows)
        for field, number in one.objects.items():
            self.put_objects(number, _objects(manager.data, f"_{field}_column", rows))

    def _add_cold(self, one: ParcelComponent, data: Any, rows: RowArray) -> None:
        """Take along the cold rows of those that have one."""
        places = data._cold_row_column[rows]
        which = (places != NIL).nonzero()[0]
        self.put(one.cold["~row"], which)
        if len(which):
            places = places[which].astype(np.intp)
            self._sources.append((data._cold, one.cold_sources, places))

    def bytes(self) -> NDArray[np.uint8]:
        """Return the bytes of the parcel."""
        plan, counts, n = self.plan, self._counts, len(self.entities)
        head = parcels.header_of(plan, n, counts)
        nbytes, starts = head.item(parcels.LENGTH), parcels.starts_of(plan, n, counts)
        words = np.empty(-(-nbytes // 8), np.uint64)
        words[: len(head)] = head
        words[len(head) : len(head) + n] = self.entities
        buffer = words.view(np.uint8)[:nbytes]
        for data, columns, rows in self._sources:
            held, allocated, count = data._buffer, data._allocated, len(rows)
            for column, number in columns:
                nbytes, item = column.nbytes, plan.columns[number].item
                first, start = column.bytes_before * allocated, starts[number]
                source = held[first : first + nbytes * allocated].view(item)
                target = buffer[start : start + nbytes * count].view(item)
                source.take(rows, out=target, mode="clip")
        for number, values in self._cells.items():
            packed_column = plan.columns[number]
            count = counts[packed_column.table]
            parcels.view_of(buffer, starts[number], count, packed_column)[:] = values
        return buffer


def _objects(data: Any, name: str, rows: RowArray) -> list[Any]:
    """Return the objects of a field in rows, which may lie with cold rows."""
    if name in data.OBJECTS:
        values: list[Any] = getattr(data, name)[rows].tolist()
        return values
    column = getattr(data._cold, name)
    places = data._cold_row_column[rows].tolist()
    return [None if place == NIL else column[place] for place in places]


def _bookkeeping(
    one: ParcelComponent, manager: Any, rows: RowArray
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield what stands for ids, links and parts of rows."""
    data, columns = manager.data, one.columns
    if "~id" in columns:
        yield columns["~id"], manager._ids_in(rows)
    if "~active" in columns:
        yield columns["~active"], rows < data._n_active
    if "~parent" in columns:
        place = np.full(data._n, NIL, np.uint32)
        place[rows] = np.arange(len(rows), dtype=np.uint32)
        parents = data._parent_column[rows]
        has_parent = (parents != NIL).nonzero()[0]
        above = np.full(len(rows), NIL, np.uint32)
        above[has_parent] = place[parents[has_parent]]
        yield columns["~parent"], above
        yield columns["~rank"], _ranks(data, rows, place)


def _ranks(data: Any, rows: RowArray, place: NDArray[Any]) -> NDArray[np.uint32]:
    """Return where each row, which has this place, stands among its siblings, 0 for roots."""
    ranks = np.zeros(len(rows), np.uint32)
    here, rank = data._first_child_column[rows], 0
    here = here[here != NIL]
    while len(here):
        ranks[place[here]] = rank
        here = data._next_sibling_column[here]
        here, rank = here[here != NIL], rank + 1
    return ranks


# --- Who goes from this rank to which other one ---------------------------------------


def plan_departures(
    world: Any,
    own: int,
    size: int,
    es: ArrayLike,
    ranks: ArrayLike,
    ids: Mapping[str, tuple[ArrayLike, ArrayLike]],
) -> dict[int, BatchRemoval]:
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
    rows = {name: _roots_by_id(world, size, name, *given) for name, given in ids.items()}
    found: dict[int, BatchRemoval] = {}
    for rank in range(size):
        chosen = {name: given[of == rank] for name, (given, of) in rows.items()}
        some = owners == rank
        if rank != own and (some.any() or any(map(len, chosen.values()))):
            found[rank] = plan_departure(world, entities[some], slots[some], chosen)
    if sum(len(it.entities) for it in found.values()) == len(entities):
        return found
    whole = np.concatenate([entities[:0], *(it.entities for it in found.values())])
    if not all_distinct(whole):
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


def merge_departures(plans: list[BatchRemoval]) -> BatchRemoval:
    """Return who leaves for any rank."""
    if len(plans) == 1:
        return plans[0]

    def joined(tables: list[Mapping[str, Any]]) -> dict[str, Any]:
        names = dict.fromkeys(name for table in tables for name in table)
        parts = {name: [it[name] for it in tables if name in it] for name in names}
        return {name: np.concatenate(arrays) for name, arrays in parts.items()}

    return BatchRemoval(
        np.concatenate([plan.entities for plan in plans]),
        np.concatenate([plan.slots for plan in plans]),
        joined([plan.ids for plan in plans]),
        joined([plan.rows for plan in plans]),
    )


def _has_parent(world: Any, entities: EntityArray) -> NDArray[np.bool_]:
    """Return which entities have a row below one of another entity."""
    found = np.zeros(len(entities), np.bool_)
    for one in parcels.plan_of(type(world)).managed:
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
