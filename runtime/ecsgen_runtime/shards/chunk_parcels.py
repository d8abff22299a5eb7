"""Components in chunks where worlds are several: rows of visitors, and tables in parcels."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archetypes.chunks import ChunkColumns
from ..archetypes.store import ArchetypeStore
from ..archetypes.table import (
    NOWHERE,
    POSITION_BITS,
    ArchetypeTable,
    EntityPlaces,
    by_archetype,
)
from ..archetypes.view import ChunkT
from ..buffers import Column
from ..handles import EntityArray
from ..typed import NamedTuple
from .arriving import ParcelPlaces
from .parcels import Component, ParcelBase, ParcelPlan, checked_column, unpickled
from .sharded_entities import ShardedEntities

# --- Components in chunks, in parcels: a table each, by entity ------------------------


class Batch(NamedTuple):
    """Rows of one signature that are to be appended."""

    bits: int
    entities: EntityArray
    columns: dict[int, list[NDArray[Any]]]
    """By component."""


def packed_chunks(
    table: ArchetypeTable,
    plan: ParcelPlan,
    entities: EntityArray,
    counts: list[int],
    cells: dict[int, NDArray[Any]],
) -> None:
    """Find the cells of all components in chunks."""
    places = table.places.get_many(entities)
    numbers = _numbers(table)
    for one in plan.chunked:
        owners, columns = _cells(table, entities, places, numbers[one.kind])
        counts[one.table] = count = len(owners)
        if not count:
            continue
        cells[one.columns["entity"]] = owners
        for column, values in zip(one.kind.LAYOUT, columns, strict=True):
            if column.name in one.objects:
                place = one.objects[column.name]
                text = pickle.dumps(values.tolist(), protocol=4)
                cells[place] = np.frombuffer(text, np.uint8)
                counts[plan.columns[place].table] = len(text)
            else:
                shaped = values.view(column.dtype).reshape(count, *column.shape)
                cells[one.columns[column.name]] = shaped


def _numbers(table: ArchetypeTable) -> dict[type[ChunkColumns], int]:
    return {part: number for number, part in enumerate(table.parts)}


def _cells(
    table: ArchetypeTable,
    entities: EntityArray,
    places: NDArray[np.uint64],
    number: int,
) -> tuple[EntityArray, list[NDArray[Any]]]:
    """Return the owners of a component's rows, in the order of entities, and its columns."""
    layout = table.parts[number].LAYOUT
    which: list[NDArray[np.intp]] = []
    found: list[list[NDArray[Any]]] = []
    for place, some, positions in by_archetype(places):
        if place == NOWHERE >> POSITION_BITS or not table.archetypes[place].has(number):
            continue
        archetype = table.archetypes[place]
        start, runs = archetype.layout.starts[number], archetype.runs(positions)
        which.append(np.arange(len(entities)) if some is None else some)
        cells = (
            archetype.take(start + k, len(positions), runs) for k in range(len(layout))
        )
        found.append([*cells])
    if not which:
        return entities[:0], []
    chosen = np.concatenate(which)
    order = chosen.argsort()
    columns = [np.concatenate(parts)[order] for parts in zip(*found, strict=True)]
    return entities[chosen[order]], columns


def batches(
    table: ArchetypeTable, parcel: ParcelBase, places: ParcelPlaces
) -> list[Batch]:
    """Return what is to be appended, checked, by signature."""
    numbers, count = _numbers(table), len(places.entities)
    bits = np.zeros(count, np.uint64)
    rows: dict[int, NDArray[np.intp]] = {}
    columns: dict[int, list[NDArray[Any]]] = {}
    for one in parcel._plan().chunked:
        if not parcel._counts[one.table]:
            continue
        number = numbers[one.kind]
        at = places.of(one.name, parcel._column(one.columns["entity"]), several=False)
        bits[at] |= np.uint64(1 << number)
        rows[number] = np.full(count, -1)
        rows[number][at] = np.arange(len(at))
        columns[number] = [_column(parcel, one, column) for column in one.kind.LAYOUT]
    found = []
    for signature in np.unique(bits[bits > 0]).tolist():
        some = (bits == np.uint64(signature)).nonzero()[0]
        chosen = {
            number: [column[rows[number][some]] for column in columns[number]]
            for number in columns
            if signature >> number & 1
        }
        found.append(Batch(signature, places.entities[some], chosen))
    return found


def _column(parcel: ParcelBase, one: Component, column: Column) -> NDArray[Any]:
    count = parcel._counts[one.table]
    if column.name in one.objects:
        return unpickled(parcel, one, column.name, count)
    cells = parcel._column(one.columns[column.name])
    if column.name not in one.kind._CONVERTERS:
        return cells  # an element of a field that is split
    field, _ = one.kind._CONVERTERS[column.name]
    return checked_column(one, column.name, field, cells, count)


# --- Where the rows of entities are in chunks: slot → archetype and position ----------


class ShardedPlaces(EntityPlaces):
    """Sparse arrays by slot: whose row it is, and `archetype << 32 | position`.

    The whole handle decides, so stale handles find nothing.
    """

    __slots__ = ("_entities",)

    def __init__(self, index_mask: int, entities: ShardedEntities) -> None:
        super().__init__(index_mask)
        self._entities = entities
        """Who tells the slots."""

    def get(self, entity: int) -> int:
        """Return an entity's place, or NOWHERE; O(1)."""
        slot = self._entities._slot(entity)
        if slot < len(self._owners) and self._owner_cells[slot] == entity:
            place: int = self._place_cells[slot]
            return place
        return NOWHERE

    def get_many(self, entities: EntityArray) -> NDArray[np.uint64]:
        """Return each entity's place; O(k)."""
        slots = self._entities._slots(entities)
        places: NDArray[np.uint64] = self._places.take(slots, mode="clip")
        others = self._owners.take(slots, mode="clip") != entities
        np.putmask(places, others, np.uint64(NOWHERE))
        return places

    def set(self, entity: int, place: int) -> None:
        """Remember an entity's place; its slot was covered before."""
        slot = self._entities._slot(entity)
        self._owner_cells[slot] = entity
        self._place_cells[slot] = place

    def set_many(self, entities: EntityArray, places: NDArray[np.uint64]) -> None:
        """Remember each entity's place; O(k)."""
        slots = self._entities._slots(entities)
        self._owners[slots] = entities
        self._places[slots] = places

    def forget(self, entity: int) -> None:
        """An entity has no row any more."""
        slot = self._entities._slot(entity)
        self._owner_cells[slot] = 0
        self._place_cells[slot] = NOWHERE

    def forget_many(self, entities: EntityArray) -> None:
        """These entities have no rows any more; O(k)."""
        slots = self._entities._slots(entities)
        self._owners[slots] = 0
        self._places[slots] = NOWHERE

    def cover(self, entity: int) -> int:
        """Make room for an entity and return whose row its slot leads to, or 0; O(1) amortised."""
        slot = self._entities._slot(entity)
        if slot >= len(self._owners):
            self._grow(slot)
        owner: int = self._owner_cells[slot]
        return owner

    def cover_many(self, entities: EntityArray) -> EntityArray:
        """Make room for entities and return the others that their slots lead to; O(k)."""
        if len(entities) == 0:
            return entities
        slots = self._entities._slots(entities)
        last = int(slots.max())
        if last >= len(self._owners):
            self._grow(last)
        owners = self._owners[slots]
        others: EntityArray = owners[(owners != 0) & (owners != entities)]
        return others


# --- Archetypes whose rows may belong to visitors, and travel -------------------------


class ShardedStore(ArchetypeStore[ChunkT]):
    """All rows in chunks, found by slot; the generated class adds what is typed by component."""

    __slots__ = ()
    _entities: ShardedEntities

    def _new_places(self, index_mask: int) -> EntityPlaces:
        return ShardedPlaces(index_mask, self._entities)

    def _has_any(self, entities: EntityArray) -> bool:
        """Return whether one of the entities has a row."""
        places = self._table.places.get_many(entities)
        return bool((places != np.uint64(NOWHERE)).any())

    def _pack(
        self,
        plan: ParcelPlan,
        entities: EntityArray,
        counts: list[int],
        cells: dict[int, NDArray[Any]],
    ) -> None:
        """Find the cells of entities for a parcel."""
        packed_chunks(self._table, plan, entities, counts, cells)

    def _batches(self, parcel: Any, places: Any) -> list[Batch]:
        """Check what a parcel has for chunks, and return it by signature."""
        found = batches(self._table, parcel, places)
        if found:
            self._refuse_locked()
        return found
