"""All archetypes of a world, where entities are in them, and the moves between them."""

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

# --- Where rows are: entity index → archetype and position, checked by the handle -----

NO_LOCATION: Final = 0
"""The place of an entity without a row: in the root archetype, which has no rows."""

POSITION_BITS: Final = 32
POSITION_MASK: Final = (1 << POSITION_BITS) - 1


class EntityLocations:
    """Sparse arrays by entity index, or slot: whose row it is, and `archetype << 32 | position`.

    The whole handle decides, so stale handles find nothing.
    """

    __slots__ = ("_entities", "_owner_cells", "_owners", "_place_cells", "_places", "_slot")

    def __init__(self, entities: EntityPool) -> None:
        self._entities = entities
        self._slot = entities._slot_finder()
        self._hold(*np.zeros((2, 64), np.uint64))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._owners.nbytes + self._places.nbytes

    def get(self, entity: int) -> int:
        """Return an entity's place, or NO_LOCATION; O(1)."""
        index = self._slot(entity)
        if index < len(self._owners) and self._owner_cells[index] == entity:
            place: int = self._place_cells[index]
            return place
        return NO_LOCATION

    def get_many(self, entities: EntityArray) -> NDArray[np.uint64]:
        """Return each entity's place; O(k)."""
        index = self._entities._slots(entities)
        places: NDArray[np.uint64] = self._places.take(index, mode="clip")
        others = self._owners.take(index, mode="clip") != entities
        np.putmask(places, others, NO_LOCATION)
        return places

    def set(self, entity: int, place: int) -> None:
        """Remember an entity's place; its index was covered before."""
        index = self._slot(entity)
        self._owner_cells[index] = entity
        self._place_cells[index] = place

    def set_many(self, entities: EntityArray, places: NDArray[np.uint64]) -> None:
        """Remember each entity's place; O(k)."""
        index = self._entities._slots(entities)
        self._owners[index] = entities
        self._places[index] = places

    def forget(self, entity: int) -> None:
        """An entity has no row any more."""
        index = self._slot(entity)
        self._owner_cells[index] = 0
        self._place_cells[index] = NO_LOCATION

    def forget_many(self, entities: EntityArray) -> None:
        """These entities have no rows any more; O(k)."""
        index = self._entities._slots(entities)
        self._owners[index] = 0
        self._places[index] = NO_LOCATION

    def cover(self, entity: int) -> int:
        """Make room for an entity and return whose row its index leads to, or 0; O(1) amortised."""
        index = self._slot(entity)
        if index >= len(self._owners):
            self._grow(index)
        owner: int = self._owner_cells[index]
        return owner

    def cover_many(self, entities: EntityArray) -> EntityArray:
        """Make room for entities and return the others that their indices lead to; O(k)."""
        if len(entities) == 0:
            return entities
        index = self._entities._slots(entities)
        last = int(index.max())
        if last >= len(self._owners):
            self._grow(last)
        owners = self._owners[index]
        others: EntityArray = owners[(owners != 0) & (owners != entities)]
        return others

    def _grow(self, index: int) -> None:
        size = max(2 * len(self._owners), index + 1)
        owners, places = np.zeros((2, size), np.uint64)
        owners[: len(self._owners)] = self._owners
        places[: len(self._places)] = self._places
        self._hold(owners, places)

    def _hold(self, owners: EntityArray, places: NDArray[np.uint64]) -> None:
        views: tuple[memoryview[Any], memoryview[Any]] = owners.data, places.data
        # at once: no interrupt comes between
        self._owners, self._places = owners, places
        self._owner_cells, self._place_cells = views


def group_by_archetype(
    places: NDArray[np.uint64],
) -> Iterator[tuple[int, RowArray | None, RowArray]]:
    """Yield (archetype, which, positions) for each archetype that places lead to.

    `which` are the places concerned, in order of position, or None for all of them as they stand;
    the positions ascend. O(k log k), O(k) if the places ascend. NO_LOCATION is in the root
    archetype.
    """
    if len(places) == 0:
        return
    order = None
    if not bool((places[1:] >= places[:-1]).all()):
        order = places.argsort()
        places = places[order]
        tied = places.searchsorted(np.uint64(NO_LOCATION), "right")
        order[:tied].sort()
    first, last = int(places[0]), int(places[-1])
    positions = (places & np.uint64(POSITION_MASK)).view(np.intp)
    if first >> POSITION_BITS == last >> POSITION_BITS:
        yield first >> POSITION_BITS, order, positions
        return
    numbers = places >> np.uint64(POSITION_BITS)
    bounds = (numbers[1:] != numbers[:-1]).nonzero()[0] + 1
    edges = [0, *bounds.tolist(), len(places)]
    for start, stop in pairwise(edges):
        which = np.arange(start, stop) if order is None else order[start:stop]
        yield int(numbers[start]), which, positions[start:stop]


# --- All archetypes of a world and the moves between them; checks nothing -------------

NewColumns = Mapping[int, Sequence[NDArray[Any]]]
"""By component: an array for each of its columns."""

ROOT_ARCHETYPE = 0
"""The archetype of entities without components, which has no rows."""


class ArchetypeTable:
    """Rows in chunks, found by entity. What can fail in a change comes before its first write."""

    __slots__ = (
        "_by_bits",
        "_found",
        "archetypes",
        "holds_objects",
        "parts",
        "places",
        "pool",
        "size",
        "store",
    )

    def __init__(
        self,
        kind: type[ChunkBase],
        parts: Sequence[type[ChunkColumns]],
        size: int,
        places: EntityLocations,
    ) -> None:
        self.store: ReferenceType[object] | None = None
        """What breaks with it."""
        self.parts = parts
        self.holds_objects = any(column.dtype.hasobject for part in parts for column in part.LAYOUT)
        self.size = size
        self.pool = ChunkPool(kind, size)
        self.places = places
        self.archetypes: list[Archetype] = []
        self._by_bits: dict[int, int] = {}
        self._found: dict[tuple[int, int, int], list[Archetype]] = {}
        self.number(0)

    # --- archetypes --------------------------------------------------------------------

    def number(self, bits: int) -> int:
        """Return the number of the archetype of some components, a new one if need be."""
        found = self._by_bits.get(bits)
        if found is None:
            found = len(self.archetypes)
            layout = ChunkLayout(bits, self.parts, self.size)
            self.archetypes.append(Archetype(layout, self.pool))
            self._by_bits[bits] = found
            self._found.clear()
        return found

    def edge(self, archetype: Archetype, component: int) -> ArchetypeEdge:
        """Return the way to the archetype with a component more, or less if it is there."""
        found = archetype.edges.get(component)
        if found is None:
            number = self.number(archetype.layout.bits ^ 1 << component)
            here, there = archetype.layout, self.archetypes[number].layout
            shared = [
                (here.starts[other] + k, there.starts[other] + k)
                for other, part in here.components.items()
                if other in there.starts
                for k in range(len(part.LAYOUT))
            ]
            found = archetype.edges[component] = number, tuple(shared)
        return found

    def matching(self, all: int, any: int, none: int) -> list[Archetype]:
        """Return the archetypes with all components, any of them and none of them."""
        found = self._found.get((all, any, none))
        if found is None:
            found = self._found[all, any, none] = [
                archetype
                for archetype in self.archetypes
                if archetype.layout.bits & all == all
                and (not any or archetype.layout.bits & any)
                and not archetype.layout.bits & none
            ]
        return found

    def of(self, entity: int) -> tuple[Archetype, int]:
        """Return the archetype and position of an entity; the root if it has no row."""
        place = self.places.get(entity)
        return self.archetypes[place >> POSITION_BITS], place & POSITION_MASK

    def having(self, places: NDArray[np.uint64], component: int) -> NDArray[np.bool_]:
        """Return at which of k places rows have a component; O(k)."""
        flags = np.fromiter((archetype.has(component) for archetype in self.archetypes), np.bool_)
        numbers = (places >> np.uint64(POSITION_BITS)).view(np.intp)
        having: NDArray[np.bool_] = flags[numbers]
        return having

    # --- one entity --------------------------------------------------------------------

    def toggle(self, entity: int, component: int, values: Any = None) -> None:
        """Move a row to the archetype with a component more, of these checked values, or less;
        O(columns)."""
        source, position = self.of(entity)
        number, shared = self.edge(source, component)
        target = self.archetypes[number]
        if number == ROOT_ARCHETYPE:
            self.drop(entity)
            return
        other = self.places.cover(entity)
        if other and other != entity:  # a dead one of the same index loses its own row
            self.drop(other)
            source, position = self.of(entity)  # it has left a hole
        target.reserve(target.n + 1)
        place = number << POSITION_BITS | target.n
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
            self.places.set(entity, place)
        except BaseException:
            self.fail()
            raise

    def drop(self, entity: int) -> bool:
        """Remove an entity's row, if it has one; O(columns)."""
        place = self.places.get(entity)
        if place == NO_LOCATION:
            return False
        archetype = self.archetypes[place >> POSITION_BITS]
        try:
            self._pull(archetype, place & POSITION_MASK)
            self.places.forget(entity)
        except BaseException:
            self.fail()
            raise
        return True

    def _pull(self, archetype: Archetype, position: int) -> None:
        moved_from = archetype.n - 1
        moved = archetype.pull(position)
        if moved:
            place = self.places.get(moved)
            self.places.set(moved, place - moved_from + position)

    # --- many entities -----------------------------------------------------------------

    def append(self, bits: int, entities: EntityArray, columns: NewColumns) -> None:
        """Give entities without rows one each, of some components; O(k)."""
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
        """Have chunks and places for new rows of entities: what can fail in `append`."""
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
        places: NDArray[np.uint64],
        component: int,
        columns: Sequence[NDArray[Any]],
    ) -> None:
        """Move k rows to the archetypes with a component more, or less; O(k).

        Rows of one archetype keep their order. `columns` are the new component's.
        """
        if self._evict_for(entities):  # others have filled the holes
            places = self.places.get_many(entities)
        moves = [
            (self.archetypes[number], which, positions)
            for number, which, positions in group_by_archetype(places)
        ]
        # in this order new archetypes are numbered: the root's is the last one
        moves.sort(key=lambda move: not move[0].layout.bits)
        for source, _, positions in moves:
            target = self.archetypes[self.edge(source, component)[0]]
            if target.layout.bits:
                target.reserve(target.n + len(positions))
        planned = [
            self._plan_move(source, positions, entities, which, component)
            for source, which, positions in moves
        ]
        news = [self._new(columns, component, which) for _, which, _ in moves]
        try:
            for move, new in zip(planned, news, strict=True):
                move({component: new})
        except BaseException:
            self.fail()
            raise

    def _new(
        self, columns: Sequence[NDArray[Any]], component: int, which: RowArray | None
    ) -> Sequence[NDArray[Any]]:
        """Return a new component's values for some of its rows."""
        if which is None:
            return columns
        found = []
        for values, column in zip(columns, self.parts[component].LAYOUT, strict=False):
            each = values.ndim > len(column.shape) and len(values) > 1
            found.append(values[which] if each else values)  # else one for all
        return found

    def _plan_move(
        self,
        source: Archetype,
        positions: RowArray,
        entities: EntityArray,
        which: RowArray | None,
        component: int,
    ) -> Callable[[NewColumns], None]:
        """Find out what moves with rows at ascending positions, which leave `source`; return what
        lets them, given the new component's values."""
        number, both = self.edge(source, component)
        target = self.archetypes[number]
        some = entities if which is None else entities[which]
        start = target.n
        shared: list[tuple[int, NDArray[Any]]] = []
        cut = None
        if source.layout.bits:
            runs = source.runs(positions)
            if target.layout.bits:
                shared = [(there, source.take(here, len(positions), runs)) for here, there in both]
            cut = source.plan_removal(positions)
        places = np.arange(start, start + len(some))

        def move(columns: NewColumns) -> None:
            if target.layout.bits:
                target.extend(some)
                for column, items in shared:
                    target.paste(column, start, items)
                if target.layout.bits > source.layout.bits:
                    self._write(target, start, columns)
            if cut is not None:
                self._cut_out(source, cut)
            if target.layout.bits:
                self.settle(number, some, places)
            else:
                self.places.forget_many(some)

        return move

    def drop_many(self, entities: EntityArray) -> int:
        """Remove the rows of distinct entities and return how many went; O(k)."""
        places = self.places.get_many(entities)
        present = places != NO_LOCATION
        if not present.all():
            entities, places = entities[present], places[present]
        found = [
            (self.archetypes[number], positions)
            for number, _, positions in group_by_archetype(places)
        ]
        self._drop([(a, a.plan_removal(gone)) for a, gone in found], entities)
        return len(entities)

    def clear(self) -> int:
        """Remove all rows and return how many went; O(n)."""
        used = [archetype for archetype in self.archetypes if archetype.n]
        owners = [archetype.whole(0) for archetype in used]
        entities = np.concatenate(owners) if used else np.empty(0, np.uint64)
        cuts = [(a, a.plan_removal(np.arange(a.n))) for a in used]
        self._drop(cuts, entities)
        return len(entities)

    def objects_of(self, entities: EntityArray) -> list[NDArray[np.object_]]:
        """Return the objects in the rows of distinct entities; O(k)."""
        places = self.places.get_many(entities)
        found: list[NDArray[np.object_]] = []
        for number, _, positions in group_by_archetype(places):
            archetype = self.archetypes[number]
            runs = archetype.runs(positions) if archetype.layout.objects else []
            for column in archetype.layout.objects:
                found.append(archetype.take(column, len(positions), runs))
        return found

    def fail(self) -> None:
        """Let all later calls raise: a change failed halfway."""
        store = None if self.store is None else self.store()
        if store is not None:
            mark_broken(store)
        mark_broken(self)

    def _drop(self, cuts: list[tuple[Archetype, RemovalPlan]], entities: EntityArray) -> None:
        """Remove rows as planned, which are those of entities."""
        try:
            for archetype, cut in cuts:
                self._cut_out(archetype, cut)
            self.places.forget_many(entities)
        except BaseException:
            self.fail()
            raise

    def _cut_out(self, archetype: Archetype, cut: RemovalPlan) -> None:
        archetype.commit_removal(cut)
        number = self._by_bits[archetype.layout.bits]
        self.settle(number, cut.moved, cut.positions)

    def settle(self, number: int, entities: EntityArray, positions: RowArray) -> None:
        """Remember the positions of entities in an archetype."""
        start = np.uint64(number << POSITION_BITS)
        self.places.set_many(entities, positions.view(np.uint64) + start)

    def _evict_for(self, entities: EntityArray) -> int:
        """Let entities have rows: dead ones of the same indices lose theirs; how many went."""
        others = self.places.cover_many(entities)
        return self.drop_many(others) if len(others) else 0


# --- Rows in chunks as pickles and copies have them: whole columns by archetype -------

SavedArchetype = tuple[tuple[str, ...], list[NDArray[Any]]]
"""The names of its components, then its owners and the columns of each component."""


def saved_archetypes(table: ArchetypeTable) -> list[SavedArchetype]:
    """Return copies of all rows, in order; O(n)."""
    return [
        (
            tuple(part._ROW.__name__ for part in a.layout.components.values()),
            [a.whole(column) for column in range(len(a.layout.places))],
        )
        for a in table.archetypes
    ]


def load_archetypes(table: ArchetypeTable, saved: Iterable[SavedArchetype]) -> None:
    """Fill an empty table with saved rows; O(n)."""
    bits_of = {part._ROW.__name__: 1 << k for k, part in enumerate(table.parts)}
    for names, (entities, *columns) in saved:
        number = table.number(sum(bits_of[name] for name in names))
        archetype = table.archetypes[number]
        archetype.reserve(len(entities))
        table.places.cover_many(entities)
        table.settle(number, entities, np.arange(len(entities)))
        archetype.extend(entities)
        for column, values in enumerate(columns, 1):
            archetype.write(column, 0, values)
