"""Departure of entities to other ranks: their rows, and the parcel that carries them."""

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
from ..base.locks import is_broken, is_locked, mark_broken, raise_if_locked
from ..managers.manager import Manager
from ..managers.policies.chains import MAX_STEPS
from ..managers.policies.cold import cold_row_column
from ..managers.policies.destroy import Release
from ..managers.policies.hierarchy import Hierarchy, HierarchyRows, parent_column
from ..managers.policies.instances import Many
from ..managers.policies.owners import Owned
from ..managers.policies.packed import Partition
from ..tables.columns import owner_column
from ..values.array_coercion import as_entities, drop_duplicates, find_first_duplicate
from . import parcels
from .handle_map import all_distinct
from .parcels import ParcelComponent
from .shard_base import ShardBase
from .sharded_entities import SlotCache
from .sharded_managers import WithForeignEntities, WithForeignIds


class BatchRemoval(NamedTuple):
    """Entities that leave a world, and their rows, in the order of parcels."""

    entities: EntityArray
    slots: RowArray
    ids: Mapping[str, IdArray]
    """By attribute: ids of rows without owners."""
    rows: Mapping[str, RowArray]
    """By attribute."""


def plan_departure(
    world: ShardBase, entities: EntityArray, slots: RowArray, ids: Mapping[str, ArrayLike]
) -> BatchRemoval:
    """Return the departure of distinct live entities in these slots, with their descendants, and of
    rows by id. Raises what `extract` does; then nothing has changed, except that hierarchies may
    have collected rows of dead entities."""
    plan = parcels.plan_of(type(world))
    checked = {name: checked_ids(world, name, ids[name]) for name in ids}
    check_locks(world, entities, checked)
    collect_dead_rows(world, entities)
    all_entities = with_descendants(world, entities)
    if all_entities is not entities:
        entities, slots = all_entities, world.entities.slots(all_entities)
    try:
        with SlotCache(world.entities, entities, slots) as slot_cache:
            rows = _rows_of_all(world, entities, checked, slot_cache)
    except BaseException:  # an interrupt may have come upon the end of the block
        world.entities.slot_cache = None
        raise
    for component in plan.trees:
        _check_parents(getattr(world, component.attribute), rows.get(component.attribute))
    check_locks(world, entities, checked)
    return BatchRemoval(entities, slots, checked, rows)


def collect_dead_rows(world: ShardBase, entities: EntityArray) -> None:
    """Remove the rows of dead entities in hierarchies; StaleEntityError if a cascade removes one
    of `entities`, which is a copy."""
    before = world.entities.despawn_count
    for component in parcels.plan_of(type(world)).trees:
        manager = getattr(world, component.attribute)
        if hasattr(manager, "collect"):
            manager.collect()
    if world.entities.despawn_count != before:
        world.entities.require_many(entities)


def _rows_of_all(
    world: ShardBase, entities: EntityArray, ids: dict[str, IdArray], slot_cache: SlotCache
) -> dict[str, RowArray]:
    """Return all rows that leave by attribute; adds the ids of descendants to `ids`."""
    rows: dict[str, RowArray] = {}
    for component in parcels.plan_of(type(world)).managed:
        manager = getattr(world, component.attribute)
        if component.is_owned:
            first_rows = manager.lookup_many(entities)
            if first_rows is not slot_cache.rows:
                has_row = first_rows != NIL
                if has_row.all():
                    slot_cache.rows = first_rows
                else:
                    first_rows = first_rows[has_row]
            rows[component.attribute] = rows_from_heads(manager, first_rows)
        elif component.attribute in ids:
            rows_by_id = manager.resolve_many(ids[component.attribute])
            if component.is_tree:
                below = manager.with_descendants(np.sort(rows_by_id))
                rows_by_id = np.concatenate((rows_by_id, below[~np.isin(below, rows_by_id)]))
                ids[component.attribute] = manager.ids_in(rows_by_id)
            rows[component.attribute] = rows_by_id
    return rows


def distinct_entities(world: ShardBase, es: ArrayLike) -> tuple[EntityArray, RowArray]:
    """Return live entities as an array, and their slots; StaleEntityError for dead or repeated
    ones."""
    world_entities = world.entities
    entities, slots = world_entities.require_slots(es)
    if not world_entities.BULK.all_distinct_below(slots, world_entities.n_used):
        position = find_first_duplicate(entities)
        e = world.entities.HANDLE_LAYOUT.format_handle(entities[position])
        raise StaleEntityError(f"entity {e} at position {position} is repeated")
    return entities, slots


def checked_ids(world: ShardBase, name: str, ids: ArrayLike) -> IdArray:
    """Return a copy of ids of a component without owners; StaleIdError for stale or repeated ids,
    TypeError for another component."""
    managed = parcels.plan_of(type(world)).managed
    if not any(each.attribute == name and not each.is_owned for each in managed):
        raise TypeError(f"{name} is no component whose rows have no owners")
    checked = as_entities(ids, "ids").copy()
    rows = getattr(world, name).resolve_many(checked)
    stale = rows == NIL
    if stale.any():
        raise StaleIdError(f"{name}: id {int(checked[stale.argmax()]):#x} has no instance here")
    if not all_distinct(checked):
        repeated = int(checked[find_first_duplicate(checked)])
        raise StaleIdError(f"{name}: id {repeated:#x} is given twice")
    return checked


def check_locks(
    world: ShardBase, entities: EntityArray | None = None, ids: Mapping[str, Any] = {}
) -> None:
    """Raise StructureLockedError if rows that leave are in a locked structure; without `entities`
    if any structure is locked."""
    for name in world.MANAGERS:
        manager = getattr(world, name)
        if is_locked(manager) and (
            entities is None
            or len(ids.get(name, ()))
            or (hasattr(manager, "lookup") and manager.has_many(entities).any())
        ):
            raise_if_locked(manager)
    store = world.archetype_store()
    if store is not None and is_locked(store) and (entities is None or store.has_any(entities)):
        raise_if_locked(store)


def owned_trees(world: ShardBase) -> list[Any]:
    """Return the managers of rows that have owners and parents."""
    trees = parcels.plan_of(type(world)).trees
    return [getattr(world, component.attribute) for component in trees if component.is_owned]


def with_descendants(world: ShardBase, entities: EntityArray) -> EntityArray:
    """Return entities and the owners of all descendants of their rows."""
    managers = owned_trees(world)
    while managers:
        below = [
            owner_column(m.data)[m.with_descendants(m.rows_of_many(entities))] for m in managers
        ]
        owners = np.concatenate(below)
        new = drop_duplicates(owners[~np.isin(owners, entities)])
        new = new[world.entities.alive_many(new)]
        if len(new) == 0:
            break
        entities = np.concatenate((entities, new))
    return entities


def _check_parents(manager: Hierarchy, rows: RowArray | None) -> None:
    if rows is None or len(rows) == 0:
        return
    parents = parent_column(manager.data)[rows]
    stays = (parents != NIL) & ~np.isin(parents, rows)
    if stays.any():
        row = int(rows[stays.argmax()])
        raise HierarchyError(
            f"{type(manager).__name__}: the parent of row {row} stays behind; detach it first"
        )


def rows_of(manager: Owned, entities: EntityArray) -> RowArray:
    """Return all rows of distinct entities, in their order if they have one; else by entity."""
    rows = manager.lookup_many(entities)
    return rows_from_heads(manager, rows[rows != NIL])


def rows_from_heads(manager: Owned, rows: RowArray) -> RowArray:
    """Return all rows of entities whose first rows these are, in the order of `rows_of`."""
    if isinstance(manager, Many):
        rows = _chain_rows(manager, rows)
    return manager.order_rows(rows)


def _chain_rows(manager: Many, heads: RowArray) -> RowArray:
    """Return all rows of the chains that begin with these rows, chain by chain."""
    nexts = manager.data._next_column
    rows, list_numbers = [heads], [np.arange(len(heads))]
    current, current_lists = heads, list_numbers[0]
    for _ in range(MAX_STEPS):
        next_rows = nexts[current]
        has_next = next_rows != NIL
        current, current_lists = next_rows[has_next].astype(np.intp), current_lists[has_next]
        if len(current) == 0:
            break
        rows.append(current)
        list_numbers.append(current_lists)
    else:
        for row, number in zip(current.tolist(), current_lists.tolist(), strict=True):
            rest = manager.rows_from(row)[1:]
            rows.append(rest)
            list_numbers.append(np.full(len(rest), number))
    order = np.concatenate(list_numbers).argsort(kind="stable")
    return np.concatenate(rows)[order]


def commit_departure(world: ShardBase, departure: BatchRemoval) -> None:
    """Remove rows that leave without notifying callbacks; destroy rows of components that stay,
    and notify theirs. Rows are looked up again: a group member moves the others' rows."""
    entities, plan = world.entities, parcels.plan_of(type(world))
    concerned = [getattr(world, name) for name in departure.rows if len(departure.rows[name])]
    versions = [manager.version for manager in concerned]
    try:
        with SlotCache(entities, departure.entities, departure.slots) as slot_cache:
            for component in plan.managed:
                if not component.is_tree:
                    _drop_rows(world, component, departure, slot_cache)
            foreign, slots = entities._leave(departure.entities)
            # last: removing a parent would cascade to children of entities that are still here
            for component in plan.trees:
                _drop_rows(world, component, departure, slot_cache)
            store = world.archetype_store()
            if store is not None:
                store._remove_rows_of(departure.entities)
        for manager, version in zip(concerned, versions, strict=True):
            manager.data._version = version + 1  # once, also where group members moved rows
        for name in world.MANAGERS:
            if name in type(world).STAYS:
                _destroy_and_notify(entities.dispatch, getattr(world, name), departure.entities)
        entities.release_foreign(foreign, slots)
    except BaseException:
        mark_broken(entities)
        raise


def _destroy_and_notify(dispatch: Dispatch, manager: Owned, entities: EntityArray) -> None:
    """Remove the rows of entities that have left; one by one if that fails for all at once."""
    try:
        manager.destroy_rows(manager.rows_of_many(entities))
    except BaseException as error:
        if not is_broken(manager):
            manager.remove_rows_one_by_one(entities)
        dispatch.errors.extend(flatten_exceptions(error))


def _drop_rows(
    world: ShardBase, component: ParcelComponent, departure: BatchRemoval, slot_cache: SlotCache
) -> None:
    manager, rows = getattr(world, component.attribute), departure.rows.get(component.attribute)
    if rows is None or len(rows) == 0:
        return
    if not component.is_owned:
        _drop(manager, np.sort(manager.resolve_many(departure.ids[component.attribute])))
    elif component.is_tree:
        rows = _ascending_rows(manager, departure.entities)
        below = manager.with_descendants(rows)
        dead = below[~np.isin(below, rows)]
        if len(dead):  # rows of dead entities stay, as roots
            manager.set_parent_many(dead, NIL)
        _drop(manager, rows)
    else:
        if hasattr(manager, "GROUP"):
            rows = _ascending_rows(manager, departure.entities)
        slot_cache.is_going = not manager.ALLOWS_MANY and len(rows) == len(departure.entities)
        _drop(manager, slot_cache.ascending(rows, manager.data.n))
        slot_cache.is_going = False


def _ascending_rows(manager: WithForeignEntities, entities: EntityArray) -> RowArray:
    """Return all rows of distinct entities, ascending."""
    if manager.ALLOWS_MANY:
        return manager.rows_of_many(entities)
    rows = manager.lookup_many(entities)
    return manager._entities.BULK.ascending(rows[rows != NIL], manager.data.n)


def _drop(manager: Manager, rows: RowArray) -> None:
    """Destroy rows without notifying callbacks."""
    if not isinstance(manager, Release):
        manager.destroy_rows(rows)
        return
    callbacks, manager._released = manager._released, Callbacks()
    try:
        manager.destroy_rows(rows)
    finally:
        if not is_broken(manager):
            manager._released = callbacks


def pack_departure(world: ShardBase, departure: BatchRemoval) -> NDArray[np.uint8]:
    """Return the bytes of a parcel of what leaves."""
    writer = ParcelWriter(parcels.plan_of(type(world)), departure.entities)
    for component in writer.plan.managed:
        rows = departure.rows.get(component.attribute)
        if rows is not None and len(rows):
            writer.add(component, getattr(world, component.attribute), rows)
    if writer.plan.chunked:
        world.archetype_store().pack(writer)
    return writer.bytes()


class ParcelWriter:
    """Cells of a parcel, column by column, and the parcel's bytes."""

    def __init__(self, plan: parcels.ParcelPlan, entities: EntityArray) -> None:
        self.plan = plan
        self.entities = entities
        self._counts = [0] * plan.n_tables
        self._cells: dict[int, NDArray[Any]] = {}
        self._sources: list[tuple[Any, Mapping[str, int], RowArray]] = []
        """Data of a manager, the numbers of its columns in the parcel, and rows."""

    def put(self, number: int, cells: NDArray[Any]) -> None:
        """Set the cells of a column, as many as its table has rows."""
        self._cells[number] = cells
        self._counts[self.plan.columns[number].table] = len(cells)

    def put_objects(self, number: int, values: list[Any]) -> None:
        """Set a pickle of all objects of a field."""
        self.put(number, np.frombuffer(pickle.dumps(values, protocol=4), np.uint8))

    def add(self, component: ParcelComponent, manager: Manager, rows: RowArray) -> None:
        """Add rows of a manager."""
        data: Any = manager.data
        self._counts[component.table] = len(rows)
        self._cells.update(_bookkeeping(component, manager, rows))
        self._sources.append((data, component.columns, rows))
        if component.cold:
            cold_rows = cold_row_column(data)[rows]
            with_cold = (cold_rows != NIL).nonzero()[0]
            self.put(component.cold["~row"], with_cold)
            self._sources.append((data.cold, component.cold, cold_rows[with_cold].astype(np.intp)))
        for field, number in component.objects.items():
            self.put_objects(number, _objects(data, f"_{field}_column", rows))

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
            source_buffer, allocated = data.buffer, data.allocated
            for column in data.LAYOUT if len(rows) else ():
                if column.name not in columns:
                    continue
                number, first = columns[column.name], column.offset(allocated)
                item, start = plan.columns[number].item, starts[number]
                source = source_buffer[first : first + column.nbytes * allocated].view(item)
                target = buffer[start : start + column.nbytes * len(rows)].view(item)
                source.take(rows, out=target, mode="clip")
        for number, values in self._cells.items():
            packed_column = plan.columns[number]
            count = counts[packed_column.table]
            parcels.view_of(buffer, starts[number], count, packed_column)[:] = values
        return buffer


def _objects(data: Any, name: str, rows: RowArray) -> list[Any]:
    """Return the objects of a field in rows, from the cold subtable if it is there."""
    if name in data.OBJECTS:
        values: list[Any] = getattr(data, name)[rows].tolist()
        return values
    column = getattr(data.cold, name)
    cold_rows = cold_row_column(data)[rows].tolist()
    return [None if cold_row == NIL else column[cold_row] for cold_row in cold_rows]


def _bookkeeping(
    component: ParcelComponent, manager: Manager, rows: RowArray
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the parcel's columns for ids, activity and hierarchy of rows."""
    columns = component.columns
    if isinstance(manager, WithForeignIds):
        yield columns["~id"], manager.ids_in(rows)
    if isinstance(manager, Partition):
        yield columns["~active"], rows < manager.data.n_active
    if isinstance(manager, Hierarchy):
        data = manager.data
        positions = np.full(data.n, NIL, np.uint32)
        positions[rows] = np.arange(len(rows), dtype=np.uint32)
        parents = parent_column(data)[rows]
        has_parent = (parents != NIL).nonzero()[0]
        parent_positions = np.full(len(rows), NIL, np.uint32)
        parent_positions[has_parent] = positions[parents[has_parent]]
        yield columns["~parent"], parent_positions
        yield columns["~rank"], _ranks(data, rows, positions)


def _ranks(data: HierarchyRows, rows: RowArray, positions: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the index of each row among its siblings, 0 for roots; `positions`: in the parcel."""
    ranks = np.zeros(len(rows), np.uint32)
    current, rank = data._first_child_column[rows], 0
    current = current[current != NIL]
    while len(current):
        ranks[positions[current]] = rank
        current = data._next_sibling_column[current]
        current, rank = current[current != NIL], rank + 1
    return ranks


def plan_departures(
    world: ShardBase,
    own_rank: int,
    size: int,
    es: ArrayLike,
    ranks: ArrayLike,
    ids: Mapping[str, tuple[ArrayLike, ArrayLike]],
) -> dict[int, BatchRemoval]:
    """Return a departure by target rank, of `size` ranks; entities for `own_rank` stay."""
    entities, slots = distinct_entities(world, es)
    owners = checked_ranks(ranks, len(entities), size)
    leaves = owners != own_rank
    # copies: `es` may be a column of owners, which collecting dead rows changes
    entities, slots, owners = entities[leaves], slots[leaves], owners[leaves]
    if len(entities):
        collect_dead_rows(world, entities)
        has_parent = _has_parent(world, entities)
        if has_parent.any():
            entities, slots, owners = entities[~has_parent], slots[~has_parent], owners[~has_parent]
    rows = {name: _roots_by_id(world, size, name, *arguments) for name, arguments in ids.items()}
    departures: dict[int, BatchRemoval] = {}
    for rank in range(size):
        leaving_ids = {
            name: arguments[targets == rank] for name, (arguments, targets) in rows.items()
        }
        is_leaving = owners == rank
        if rank != own_rank and (is_leaving.any() or any(map(len, leaving_ids.values()))):
            departures[rank] = plan_departure(
                world, entities[is_leaving], slots[is_leaving], leaving_ids
            )
    leaving = [departure.entities for departure in departures.values()]
    if sum(map(len, leaving)) > len(entities) and not all_distinct(np.concatenate(leaving)):
        raise HierarchyError("an entity has roots that go to different ranks")
    return departures


def _roots_by_id(
    world: ShardBase, size: int, name: str, ids: ArrayLike, ranks: ArrayLike
) -> tuple[IdArray, RowArray]:
    """Return ids of rows without owners and without parents, and a rank for each."""
    checked = checked_ids(world, name, ids)
    owners = checked_ranks(ranks, len(checked), size)
    manager = getattr(world, name)
    if not hasattr(manager, "set_parent"):
        return checked, owners
    parents = parent_column(manager.data)[manager.resolve_many(checked)]
    are_roots = parents == NIL
    return checked[are_roots], owners[are_roots]


def checked_ranks(ranks: ArrayLike, count: int, size: int) -> RowArray:
    """Return a rank for each of `count` rows, or raise ValueError or TypeError."""
    array = np.asarray(ranks)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"ranks are integers, not {array.dtype}")
    if array.shape not in ((), (count,)):
        raise ValueError(f"{array.size} ranks for {count}")
    per_row = np.broadcast_to(array, count).astype(np.intp, copy=False)
    if count and not 0 <= int(per_row.min()) <= int(per_row.max()) < size:
        wrong = per_row[(per_row < 0) | (per_row >= size)][0]
        raise ValueError(f"there is no rank {wrong}, they are 0 to {size - 1}")
    return per_row


def merge_departures(plans: list[BatchRemoval]) -> BatchRemoval:
    """Return one departure of all that leave, for whatever rank."""
    if len(plans) == 1:
        return plans[0]

    def merge_tables(tables: list[Mapping[str, Any]]) -> dict[str, Any]:
        names = dict.fromkeys(name for table in tables for name in table)
        return {
            name: np.concatenate([table[name] for table in tables if name in table])
            for name in names
        }

    return BatchRemoval(
        np.concatenate([plan.entities for plan in plans]),
        np.concatenate([plan.slots for plan in plans]),
        merge_tables([plan.ids for plan in plans]),
        merge_tables([plan.rows for plan in plans]),
    )


def _has_parent(world: ShardBase, entities: EntityArray) -> NDArray[np.bool_]:
    """Return a mask of entities that have a row below a row of another entity."""
    has_parent = np.zeros(len(entities), np.bool_)
    for manager in owned_trees(world):
        rows, column = manager.rows_of_many(entities), owner_column(manager.data)
        parents = parent_column(manager.data)[rows]
        is_below = parents != NIL
        owners, above = column[rows[is_below]], column[parents[is_below]]
        has_parent |= np.isin(entities, owners[owners != above])
    return has_parent
