"""Entities by their components, found outside ticks from copies of the owners' columns.

Joining a million rows can take longer than a frame.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecsgen.inspector.column_cache import PIECE, ColumnCache, ColumnSource, sorted_rows
from ecsgen.inspector.component_readers import OWNER, ComponentReader, InspectedWorld, positions


class Conditions(NamedTuple):
    """Names of components that entities must have, must not have or may have."""

    all: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


class EntityFinder:
    """Finds entities that fulfil conditions."""

    def __init__(
        self, world: InspectedWorld, cache: ColumnCache, readers: Mapping[str, ComponentReader]
    ) -> None:
        self._entities = world.entities
        self._cache = cache
        self._readers = readers
        layout = world.entities.HANDLE_LAYOUT
        self.index_bits: int = layout.INDEX_BITS
        self.shard_bits: int = layout.GENERATION_SHIFT - self.index_bits
        self._mask = np.uint64((1 << self.index_bits) - 1)

    async def find(self, wanted: Conditions) -> NDArray[np.uint64]:
        """Return the live entities that fulfil conditions, in the order of a query. By rows of the
        smallest component that they must have, without one by index."""
        handles = (await self._handles()).cells
        owners = {}
        for name in {*wanted.all, *wanted.any, *wanted.none}:
            owners[name] = (await self._cache.column(self._readers[name], OWNER)).cells
        return await asyncio.to_thread(self._match, wanted, handles, owners)

    async def living(self, wanted: Conditions) -> NDArray[np.uint64]:
        """Return the live entities that fulfil conditions, by ascending index."""
        entities = await self.find(wanted)
        if not wanted.all:
            return entities
        return await asyncio.to_thread(
            lambda: entities.take(self._index(entities).argsort(kind="stable"))
        )

    def sorted_by(
        self,
        entities: NDArray[np.uint64],
        owners: NDArray[np.uint64],
        cells: NDArray[Any],
        desc: bool,
    ) -> NDArray[np.uint64]:
        """Return entities sorted by a component's cells; entities without it come last."""
        count = min(len(owners), len(cells))
        rows = positions(entities, owners[:count])  # of several instances, the first one counts
        is_there = rows < count
        here = np.flatnonzero(is_there)
        order = here[sorted_rows(cells[rows[here]], desc)]
        return entities.take(np.concatenate([order, np.flatnonzero(~is_there)]))

    async def _handles(self) -> Any:
        """Return a copy of the handles of all slots. The slot of an entity is its index, or of a
        foreign entity the one that it got here."""
        entities = self._entities

        def state() -> tuple[Any, int]:
            free = entities.free_indices
            version: tuple[int, ...]
            version = free.head, free.count, entities.n_used, entities.n_retired
            if self.shard_bits:
                version += (
                    entities.foreign_slots.count,
                    entities.revived,
                    entities.dead_foreign_count,
                )
            return version, entities.n_used

        return await self._cache.of(
            ColumnSource((None, "handles"), state, self._copied, lambda: PIECE // 8)
        )

    def _match(
        self,
        wanted: Conditions,
        handles: NDArray[np.uint64],
        owners: Mapping[str, NDArray[np.uint64]],
    ) -> NDArray[np.uint64]:
        if not self.shard_bits:
            handles = np.where(self._are_own(handles), handles, np.uint64(0))  # those alive
        having = {name: self._having(handles, cells) for name, cells in owners.items()}
        chosen = handles != 0
        for name in wanted.all:
            chosen &= having[name]
        if wanted.any:
            chosen &= np.logical_or.reduce([having[name] for name in wanted.any])
        for name in wanted.none:
            chosen &= ~having[name]
        if not wanted.all:
            return handles.compress(chosen)
        smallest: NDArray[np.uint64] = min((owners[name] for name in wanted.all), key=len)
        slots = self._slots(handles, smallest)
        slots = slots[slots >= 0]
        slots = slots[chosen[slots]]
        _, first = np.unique(slots, return_index=True)  # of several instances
        entities: NDArray[np.uint64] = handles[slots]
        return entities if len(first) == len(entities) else entities.take(np.sort(first))

    def _having(self, handles: NDArray[np.uint64], owners: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return for each slot if its entity is among the owners."""
        slots = self._slots(handles, owners)
        is_owner = np.zeros(len(handles), np.bool_)
        is_owner[slots[slots >= 0]] = True
        return is_owner

    def _copied(self, rows: slice) -> NDArray[np.uint64]:
        """Return the handles of slots; with shards, 0 for entities that are not in this shard."""
        cells: NDArray[np.uint64] = self._entities.handles[rows].copy()
        if self.shard_bits:
            living = self._are_own(cells, rows.start)
            living &= cells >= np.uint64(1 << self.index_bits + self.shard_bits)
            foreign, places = self._entities.foreign_slots.items()
            here = (places >= rows.start) & (places < rows.start + len(cells))
            places = places[here] - rows.start
            living[places] = cells[places] == foreign[here]
            cells[~living] = 0
        return cells

    def _are_own(self, cells: NDArray[np.uint64], start: int = 0) -> NDArray[np.bool_]:
        """Return which handles, from a slot on, have the index of their slot."""
        are_own: NDArray[np.bool_] = cells & self._mask == np.arange(
            start, start + len(cells), dtype=np.uint64
        )
        return are_own

    def _slots(self, handles: NDArray[np.uint64], entities: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return the slots of entities, -1 for dead ones; O(slots log slots) with shards."""
        # with shards the slot of a foreign entity is not its index
        slots = positions(entities, handles) if self.shard_bits else self._index(entities)
        slots[slots >= len(handles)] = -1
        if len(handles):
            slots[(handles[slots] != entities) | (entities == 0)] = -1
        return slots

    def _index(self, entities: NDArray[np.uint64]) -> NDArray[np.intp]:
        return (entities & self._mask).astype(np.intp)
