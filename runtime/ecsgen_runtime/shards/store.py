"""Archetypes whose rows may belong to visitors, and travel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..archetypes.places import NOWHERE, EntityPlaces
from ..archetypes.store import ArchetypeStore
from ..archetypes.view import ChunkT
from ..handles import EntityArray
from .chunked import Batch, batches, packed_chunks
from .entities import ShardedEntities
from .places import ShardedPlaces
from .tables import ParcelPlan


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
