"""What a world needs of archetypes: who has a component, and rows for entities about to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..entities.arrays import as_entities
from ..entities.handles import NIL, Columns, Entity, EntityArray
from ..placement.rows import first_present
from .store import ArchetypeStore
from .view import RowClass


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

    __slots__ = ("_bits", "_columns", "_given", "_store")

    def __init__(
        self,
        store: ArchetypeStore[Any],
        count: int,
        given: Mapping[RowClass, Mapping[str, Any] | None],
    ) -> None:
        self._store = store
        self._bits = 0
        self._given = [
            component for component, fields in given.items() if fields is not None
        ]
        self._columns: dict[int, Sequence[NDArray[Any]]] = {}
        for component, fields in given.items():
            if fields is not None:
                number = store._number(component)
                self._bits |= 1 << number
                self._columns[number] = store._converted(number, count, fields)
        if self._bits:
            store._refuse_locked()

    def remove_many(self, entities: ArrayLike, /) -> int:
        """Take the rows back; O(k)."""
        return self._store._drop_many(as_entities(entities))

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...], /
    ) -> None:
        if self._bits:
            self._store._table.make_room(self._bits, entities)

    def _evict_many(self, entities: EntityArray, /) -> int:
        return 0

    def _admit_many(self, entities: EntityArray, /) -> None:
        """Raise if one of the entities has rows already."""
        for component in self._given:
            first_present(
                type(self._store).__name__,
                entities,
                np.where(self._store.has_many(entities, component), 0, NIL),
            )

    def _append_many(self, entities: EntityArray, columns: Columns, /) -> None:
        self._store._append(self._bits, entities, self._columns)
