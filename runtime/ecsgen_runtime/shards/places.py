"""Where the rows of entities are in chunks: slot → archetype and position."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..archetypes.places import NOWHERE, EntityPlaces
from ..handles import EntityArray
from .entities import ShardedEntities


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
