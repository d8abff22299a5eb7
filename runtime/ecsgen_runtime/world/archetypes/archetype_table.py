"""All archetypes of a world, the locations of entities in them, and moves between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final
from weakref import ReferenceType

import numpy as np
from numpy.typing import NDArray

from ...base.handles import EntityArray, RowArray
from ...base.locks import mark_broken
from ...entities.entity_pool import EntityPool
from .chunks import (
    Archetype,
    ArchetypeEdge,
    ChunkBase,
    ChunkColumns,
    ChunkLayout,
    ChunkPool,
    RemovalPlan,
)

NO_LOCATION: Final = 0
"""Location of an entity without a row: in the root archetype, which has no rows."""

POSITION_BITS: Final = 32
POSITION_MASK: Final = (1 << POSITION_BITS) - 1


class EntityLocations:
    """Sparse arrays by entity index, or slot: owner of the row, and `archetype << 32 | position`.
    Owners are compared as handles, so stale handles find nothing."""

    __slots__ = ("_entities", "_location_cells", "_locations", "_owner_cells", "_owners", "_slot")

    def __init__(self, entities: EntityPool) -> None:
        self._entities = entities
        self._slot = entities.slot_finder()
        self._hold(*np.zeros((2, 64), np.uint64))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._owners.nbytes + self._locations.nbytes

    def get(self, entity: int) -> int:
        """Return an entity's location, or NO_LOCATION; O(1)."""
        index = self._slot(entity)
        if index < len(self._owners) and self._owner_cells[index] == entity:
            location: int = self._location_cells[index]
            return location
        return NO_LOCATION

    def get_many(self, entities: EntityArray) -> NDArray[np.uint64]:
        """Return each entity's location; O(k)."""
        index = self._entities.slots(entities)
        locations: NDArray[np.uint64] = self._locations.take(index, mode="clip")
        others = self._owners.take(index, mode="clip") != entities
        np.putmask(locations, others, NO_LOCATION)
        return locations

    def set(self, entity: int, location: int) -> None:
        """Set an entity's location; its index was covered before."""
        index = self._slot(entity)
        self._owner_cells[index] = entity
        self._location_cells[index] = location

    def set_many(self, entities: EntityArray, locations: NDArray[np.uint64] | int) -> None:
        """Set each entity's location, or one for all, as NO_LOCATION; O(k)."""
        index = self._entities.slots(entities)
        self._owners[index] = entities
        self._locations[index] = locations

    def cover(self, entity: int) -> int:
        """Reserve an entity's index and return the owner of the row at it, or 0; O(1) amortised."""
        index = self._slot(entity)
        if index >= len(self._owners):
            self._grow(index)
        owner: int = self._owner_cells[index] if self._location_cells[index] else 0
        return owner

    def cover_many(self, entities: EntityArray) -> EntityArray:
        """Reserve entities' indices and return the other owners of rows at them; O(k)."""
        if len(entities) == 0:
            return entities
        index = self._entities.slots(entities)
        last = int(index.max())
        if last >= len(self._owners):
            self._grow(last)
        owners = self._owners[index]
        others: EntityArray = owners[(self._locations[index] != 0) & (owners != entities)]
        return others

    def _grow(self, index: int) -> None:
        size = max(2 * len(self._owners), index + 1)
        owners, locations = np.zeros((2, size), np.uint64)
        owners[: len(self._owners)] = self._owners
        locations[: len(self._locations)] = self._locations
        self._hold(owners, locations)

    def _hold(self, owners: EntityArray, locations: NDArray[np.uint64]) -> None:
        views: tuple[memoryview[Any], memoryview[Any]] = owners.data, locations.data
        # at once: no interrupt comes between
        self._owners, self._locations = owners, locations
        self._owner_cells, self._location_cells = views


def group_by_archetype(
    locations: NDArray[np.uint64],
) -> Iterator[tuple[int, RowArray | None, RowArray]]:
    """Yield (archetype, which, positions) for each archetype of locations.

    `which` are the indices of its locations, in order of position, or None for all in order;
    positions ascend. O(k log k), O(k) if locations ascend. NO_LOCATION is in the root archetype.
    """
    if len(locations) == 0:
        return
    order = None
    if not bool((locations[1:] >= locations[:-1]).all()):
        order = locations.argsort()
        locations = locations[order]
        tied = locations.searchsorted(np.uint64(NO_LOCATION), "right")
        order[:tied].sort()
    first, last = int(locations[0]), int(locations[-1])
    positions = (locations & np.uint64(POSITION_MASK)).view(np.intp)
    if first >> POSITION_BITS == last >> POSITION_BITS:
        yield first >> POSITION_BITS, order, positions
        return
    numbers = locations >> np.uint64(POSITION_BITS)
    bounds = (numbers[1:] != numbers[:-1]).nonzero()[0] + 1
    edges = [0, *bounds.tolist(), len(locations)]
    for start, stop in pairwise(edges):
        which = np.arange(start, stop) if order is None else order[start:stop]
        yield int(numbers[start]), which, positions[start:stop]


NewColumns = Mapping[int, Sequence[NDArray[Any]]]
"""Array for each column of a component, by component number."""

ROOT_ARCHETYPE = 0
"""Archetype of entities without components, which has no rows."""


class ArchetypeTable:
    """Rows in chunks, found by entity. Unchecked; a change allocates before its first write."""

    __slots__ = (
        "_by_bits",
        "_found",
        "archetypes",
        "holds_objects",
        "locations",
        "parts",
        "pool",
        "size",
        "store",
    )

    def __init__(
        self,
        kind: type[ChunkBase],
        parts: Sequence[type[ChunkColumns]],
        size: int,
        locations: EntityLocations,
    ) -> None:
        self.store: ReferenceType[object] | None = None
        """Owner of the table, marked broken with it."""
        self.parts = parts
        self.holds_objects = any(column.dtype.hasobject for part in parts for column in part.LAYOUT)
        self.size = size
        self.pool = ChunkPool(kind, size)
        self.locations = locations
        self.archetypes: list[Archetype] = []
        self._by_bits: dict[int, int] = {}
        self._found: dict[tuple[int, int, int], list[Archetype]] = {}
        self.number(0)

    def number(self, bits: int) -> int:
        """Return the number of the archetype with these components, a new one if need be."""
        number = self._by_bits.get(bits)
        if number is None:
            number = len(self.archetypes)
            layout = ChunkLayout(bits, self.parts, self.size)
            self.archetypes.append(Archetype(layout, self.pool))
            self._by_bits[bits] = number
            self._found.clear()
        return number

    def edge(self, archetype: Archetype, component: int) -> ArchetypeEdge:
        """Return the edge to the archetype with a component more, or less if it has the
        component."""
        edge = archetype.edges.get(component)
        if edge is None:
            number = self.number(archetype.layout.bits ^ 1 << component)
            here, there = archetype.layout, self.archetypes[number].layout
            shared = [
                (here.starts[other] + k, there.starts[other] + k)
                for other, part in here.components.items()
                if other in there.starts
                for k in range(len(part.LAYOUT))
            ]
            edge = archetype.edges[component] = number, tuple(shared)
        return edge

    def matching(self, all: int, any: int, none: int) -> list[Archetype]:
        """Return the archetypes with all components, any of them and none of them."""
        matches = self._found.get((all, any, none))
        if matches is None:
            matches = self._found[all, any, none] = [
                archetype
                for archetype in self.archetypes
                if archetype.layout.bits & all == all
                and (not any or archetype.layout.bits & any)
                and not archetype.layout.bits & none
            ]
        return matches

    def of(self, entity: int) -> tuple[Archetype, int]:
        """Return the archetype and position of an entity; the root if it has no row."""
        location = self.locations.get(entity)
        return self.archetypes[location >> POSITION_BITS], location & POSITION_MASK

    def having(self, locations: NDArray[np.uint64], component: int) -> NDArray[np.bool_]:
        """Return a mask of the locations with a component, shape (k,); O(k)."""
        flags = np.fromiter((archetype.has(component) for archetype in self.archetypes), np.bool_)
        numbers = (locations >> np.uint64(POSITION_BITS)).view(np.intp)
        having: NDArray[np.bool_] = flags[numbers]
        return having

    def toggle(self, entity: int, component: int, values: Any = None) -> None:
        """Move a row to the archetype with a component more, with checked values, or less.
        O(columns)."""
        source, position = self.of(entity)
        number, shared = self.edge(source, component)
        target = self.archetypes[number]
        if number == ROOT_ARCHETYPE:
            self.drop(entity)
            return
        other = self.locations.cover(entity)
        if other and other != entity:  # evict a dead entity of the same index
            self.drop(other)
            source, position = self.of(entity)  # the removal may have moved the row
        target.reserve(target.n + 1)
        location = number << POSITION_BITS | target.n
        part = None
        if target.layout.bits > source.layout.bits:
            part = target.at(target.n)[0]._parts[component]
        try:
            chunk, row = target.push(entity)
            if source.layout.bits:
                old, at = source.at(position)
                for here, there in shared:
                    chunk._cells[there][row] = old._cells[here][at]
                self._pull(source, position)
            if part is not None:
                part._put(row, values)
            self.locations.set(entity, location)
        except BaseException:
            self.fail()
            raise

    def drop(self, entity: int) -> bool:
        """Remove an entity's row, if it has one; O(columns)."""
        location = self.locations.get(entity)
        if location == NO_LOCATION:
            return False
        archetype = self.archetypes[location >> POSITION_BITS]
        try:
            self._pull(archetype, location & POSITION_MASK)
            self.locations.set(entity, NO_LOCATION)
        except BaseException:
            self.fail()
            raise
        return True

    def _pull(self, archetype: Archetype, position: int) -> None:
        moved_from = archetype.n - 1
        moved = archetype.pull(position)
        if moved:
            location = self.locations.get(moved)
            self.locations.set(moved, location - moved_from + position)

    def append(self, bits: int, entities: EntityArray, columns: NewColumns) -> None:
        """Append a row with these components for each entity without row; O(k)."""
        self.make_room(bits, entities)
        number = self.number(bits)
        archetype = self.archetypes[number]
        start = archetype.n
        positions = np.arange(start, start + len(entities))
        try:
            archetype.extend(entities)
            self.settle(number, entities, positions)
            self._write(archetype, start, columns)
        except BaseException:
            self.fail()
            raise

    def make_room(self, bits: int, entities: EntityArray) -> None:
        """Reserve chunks and locations for new rows of entities: all of `append` that can fail."""
        archetype = self.archetypes[self.number(bits)]
        self._evict_for(entities)
        archetype.reserve(archetype.n + len(entities))

    def _write(self, archetype: Archetype, start: int, columns: NewColumns) -> None:
        for component, arrays in columns.items():
            first = archetype.layout.starts[component]
            for column, values in enumerate(arrays, first):
                archetype.write(column, start, values)

    def toggle_many(
        self,
        entities: EntityArray,
        locations: NDArray[np.uint64],
        component: int,
        columns: Sequence[NDArray[Any]],
    ) -> None:
        """Move k rows to the archetypes with a component more, or less; O(k). Rows of one archetype
        keep their order. `columns` are the new component's."""
        if self._evict_for(entities):  # the removal may have moved rows
            locations = self.locations.get_many(entities)
        moves = [
            (self.archetypes[number], which, positions)
            for number, which, positions in group_by_archetype(locations)
        ]
        # new archetypes are numbered in this order: that of the root row comes last
        moves.sort(key=lambda move: not move[0].layout.bits)
        for source, _, positions in moves:
            target = self.archetypes[self.edge(source, component)[0]]
            if target.layout.bits:
                target.reserve(target.n + len(positions))
        planned = [
            self._plan_move(source, positions, entities, which, component, columns)
            for source, which, positions in moves
        ]
        try:
            for move in planned:
                move()
        except BaseException:
            self.fail()
            raise

    def _plan_move(
        self,
        source: Archetype,
        positions: RowArray,
        entities: EntityArray,
        which: RowArray | None,
        component: int,
        columns: Sequence[NDArray[Any]],
    ) -> Callable[[], None]:
        """Plan to move rows at ascending positions from `source`; return a function that commits
        the plan. `columns` are the new component's values in all rows."""
        number, both = self.edge(source, component)
        target = self.archetypes[number]
        moving = entities if which is None else entities[which]
        start = target.n
        shared: list[tuple[int, NDArray[Any]]] = []
        removal = None
        if source.layout.bits:
            runs = source.runs(positions)
            if target.layout.bits:
                shared = [(there, source.take(here, len(positions), runs)) for here, there in both]
            removal = source.plan_removal(positions)
        new_positions = np.arange(start, start + len(moving))
        new = columns
        if which is not None:
            new = [
                # else one value for all
                values[which] if values.ndim > len(column.shape) and len(values) > 1 else values
                for values, column in zip(columns, self.parts[component].LAYOUT, strict=False)
            ]

        def move() -> None:
            if target.layout.bits:
                target.extend(moving)
                for column, items in shared:
                    target.paste(column, start, items)
                if target.layout.bits > source.layout.bits:
                    self._write(target, start, {component: new})
            if removal is not None:
                self._cut_out(source, removal)
            if target.layout.bits:
                self.settle(number, moving, new_positions)
            else:
                self.locations.set_many(moving, NO_LOCATION)

        return move

    def drop_many(self, entities: EntityArray) -> int:
        """Remove the rows of distinct entities and return their number; O(k)."""
        locations = self.locations.get_many(entities)
        present = locations != NO_LOCATION
        if not present.all():
            entities, locations = entities[present], locations[present]
        removals = [
            (self.archetypes[number], positions)
            for number, _, positions in group_by_archetype(locations)
        ]
        self._drop([(a, a.plan_removal(removed)) for a, removed in removals], entities)
        return len(entities)

    def clear(self) -> int:
        """Remove all rows and return their number; O(n)."""
        entities = np.concatenate([archetype.whole(0) for archetype in self.archetypes])
        removals = [(a, a.plan_removal(np.arange(a.n))) for a in self.archetypes if a.n]
        self._drop(removals, entities)
        return len(entities)

    def objects_of(self, entities: EntityArray) -> list[NDArray[np.object_]]:
        """Return the objects in the rows of distinct entities; O(k)."""
        locations = self.locations.get_many(entities)
        objects: list[NDArray[np.object_]] = []
        for number, _, positions in group_by_archetype(locations):
            archetype = self.archetypes[number]
            runs = archetype.runs(positions) if archetype.layout.objects else []
            for column in archetype.layout.objects:
                objects.append(archetype.take(column, len(positions), runs))
        return objects

    def fail(self) -> None:
        """Mark the table and its owner broken: a change failed halfway."""
        store = None if self.store is None else self.store()
        if store is not None:
            mark_broken(store)
        mark_broken(self)

    def _drop(self, removals: list[tuple[Archetype, RemovalPlan]], entities: EntityArray) -> None:
        """Commit planned removals of the rows of entities."""
        try:
            for archetype, removal in removals:
                self._cut_out(archetype, removal)
            self.locations.set_many(entities, NO_LOCATION)
        except BaseException:
            self.fail()
            raise

    def _cut_out(self, archetype: Archetype, removal: RemovalPlan) -> None:
        archetype.commit_removal(removal)
        number = self._by_bits[archetype.layout.bits]
        self.settle(number, removal.moved, removal.positions)

    def settle(self, number: int, entities: EntityArray, positions: RowArray) -> None:
        """Set the positions of entities in an archetype."""
        start = np.uint64(number << POSITION_BITS)
        self.locations.set_many(entities, positions.view(np.uint64) + start)

    def _evict_for(self, entities: EntityArray) -> int:
        """Evict rows of dead entities with the same indices; return the number of removed rows."""
        others = self.locations.cover_many(entities)
        return self.drop_many(others) if len(others) else 0


SavedArchetype = tuple[tuple[str, ...], list[NDArray[Any]]]
"""Names of an archetype's components, then its owners and the columns of each component."""


def saved_archetypes(table: ArchetypeTable) -> list[SavedArchetype]:
    """Return copies of all rows, in order; O(n)."""
    return [
        (
            tuple(part.ROW.__name__ for part in a.layout.components.values()),
            [a.whole(column) for column in range(len(a.layout.places))],
        )
        for a in table.archetypes
    ]


def load_archetypes(table: ArchetypeTable, saved: Iterable[SavedArchetype]) -> None:
    """Fill an empty table with saved rows; O(n)."""
    bits_of = {part.ROW.__name__: 1 << k for k, part in enumerate(table.parts)}
    for names, (entities, *columns) in saved:
        number = table.number(sum(bits_of[name] for name in names))
        archetype = table.archetypes[number]
        archetype.reserve(len(entities))
        table.locations.cover_many(entities)
        table.settle(number, entities, np.arange(len(entities)))
        archetype.extend(entities)
        for column, values in enumerate(columns, 1):
            archetype.write(column, 0, values)
