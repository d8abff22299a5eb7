"""A world with archetypes: who has a component there, and rows for entities about to be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..columns.field_names import GivenRows
from ..entities.arrays import as_entities
from ..handles import NIL, Columns, Entity, EntityArray, RowClass
from ..placement.rows import first_present
from ..world.base import WorldBase
from ..world.signatures import ComponentHolder
from ..world.spawning import SpawnPart
from .places import NOWHERE
from .store import ArchetypeStore


class ArchetypeHolder:
    """Knows who has one component, as managers do of theirs."""

    __slots__ = ("_component", "_store")

    def __init__(self, store: ArchetypeStore[Any], component: RowClass) -> None:
        self._store = store
        self._component = component

    def has(self, entity: Entity, /) -> bool:
        """Return whether an entity has the component; O(1)."""
        return self._store.has(entity, self._component)

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]:
        """Return which of k entities have the component, shape (k,); O(k)."""
        return self._store.has_many(entities, self._component)


class SpawnedRows:
    """Checked rows of some components for entities that are about to be created."""

    __slots__ = ("_bits", "_columns", "_store")

    def __init__(
        self,
        store: ArchetypeStore[Any],
        count: int,
        given: Mapping[RowClass, GivenRows],
        is_watched: bool,
    ) -> None:
        self._store = store
        self._bits = 0
        self._columns: dict[int, Sequence[NDArray[Any]]] = {}
        for component, fields in given.items():
            number = store._number(component)
            self._bits |= 1 << number
            columns = store._converted(number, count, fields)
            if is_watched:  # callbacks may write to the caller's arrays
                columns = tuple(column.copy() for column in columns)
            self._columns[number] = columns
        store._refuse_locked()

    def remove_many(self, entities: ArrayLike, /) -> int:
        """Take the rows back; O(k)."""
        return self._store._drop_many(as_entities(entities))

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...], /
    ) -> None:
        self._store._table.make_room(self._bits, entities)

    def _evict_many(self, entities: EntityArray, /) -> int:
        return 0

    def _admit_many(self, entities: EntityArray, /) -> None:
        """Raise if one of the entities has a row already, of whatever components."""
        places = self._store._table.places.get_many(entities)
        rows = np.where(places == NOWHERE, NIL, 0)
        first_present(type(self._store).__name__, entities, rows)

    def _append_many(self, entities: EntityArray, columns: Columns, /) -> None:
        self._store._append(self._bits, entities, self._columns)


class ArchetypeWorld(WorldBase):
    """A world some of whose components live in chunks."""

    __slots__ = ("_chunked", "_store")

    _store: ArchetypeStore[Any]
    _chunked: dict[RowClass, ArchetypeHolder]
    """Who has each of these components, by row class."""

    def _hold(self, store: ArchetypeStore[Any]) -> None:
        """Let the world know of its archetypes."""
        self._store = store
        self._chunked = {row: ArchetypeHolder(store, row) for row in store._numbers}

    def _holders(self) -> Iterator[tuple[str, int, object]]:
        yield from super()._holders()
        for component in self._chunked:
            name = component.__module__.rpartition(".")[2]  # as chunks call it
            yield name, self._store._count(component), self._store

    def _members(self) -> Iterable[tuple[RowClass, ComponentHolder]]:
        return chain(super()._members(), self._chunked.items())

    def _checked(self, n: int, given: Mapping[RowClass, GivenRows]) -> list[SpawnPart]:
        chunked = {row: given[row] for row in given if row in self._chunked}
        managed = {row: given[row] for row in given if row not in self._chunked}
        parts = super()._checked(n, managed)
        if chunked:
            rows = SpawnedRows(self._store, n, chunked, self._is_watched(managed))
            parts.append((rows, {}))
        return parts

    def _take_back(self, entities: EntityArray) -> None:
        try:
            self._store._drop_many(entities)
        finally:
            super()._take_back(entities)
