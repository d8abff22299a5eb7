"""Archetypes whose rows may belong to visitors."""

from __future__ import annotations

from ..archetypes.store import ArchetypeStore as OneWorldsStore
from ..archetypes.view import ChunkT
from .places import EntityPlaces


class ArchetypeStore(OneWorldsStore[ChunkT]):
    """All rows in chunks, found by slot; the generated class adds what is typed by component."""

    __slots__ = ()

    def _attach(self) -> None:
        places = self._table.places
        if isinstance(places, EntityPlaces):  # as they are in packages with shards
            places.entities = self._entities  # type: ignore[assignment]  # an EntityManager
        super()._attach()
