"""Which entities have which components: worked out from copies of who owns the rows.

Joining a million rows can take longer than a frame, so it is not done in one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ecsgen.inspector.copies import Copies
from ecsgen.inspector.orders import sorted_rows
from ecsgen.inspector.subjects import OWNER, Subject


class Conditions(NamedTuple):
    """Components that entities must have, or must not have, by name."""

    all: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


class Matching:
    """Finds entities."""

    def __init__(self, world: Any, copies: Copies, subjects: Mapping[str, Subject]) -> None:
        self._entities = world.entities
        self._copies = copies
        self._subjects = subjects
        self.index_bits = _index_bits(world.entities)
        self._mask = np.uint64((1 << self.index_bits) - 1)

    async def found(self, wanted: Conditions) -> NDArray[np.uint64]:
        """Return the live entities that fulfil conditions, as a query goes through them.

        In order of the rows of the smallest component that they must have, or of indices.
        """
        handles = (await self._handles()).cells
        owners = {}
        for name in {*wanted.all, *wanted.any, *wanted.none}:
            owners[name] = (await self._copies.column(self._subjects[name], OWNER)).cells
        return await asyncio.to_thread(self._match, wanted, handles, owners)

    async def living(self, wanted: Conditions) -> NDArray[np.uint64]:
        """Return the same by ascending index."""
        found = await self.found(wanted)
        if not wanted.all:
            return found
        return await asyncio.to_thread(self._by_index, found)

    def sorted_by(
        self,
        entities: NDArray[np.uint64],
        owners: NDArray[np.uint64],
        cells: NDArray[Any],
        desc: bool,
    ) -> NDArray[np.uint64]:
        """Return entities by a component's cells; those without it come last."""
        size = int(max(self._index(owners).max(initial=0), self._index(entities).max(initial=0)))
        rows = np.full(size + 1, -1, np.intp)
        count = min(len(owners), len(cells))
        rows[self._index(owners[:count])[::-1]] = np.arange(count)[::-1]  # the first one counts
        row = rows[self._index(entities)]
        here = (row >= 0).nonzero()[0]
        here = here[owners[row[here]] == entities[here]]
        others = np.ones(len(entities), np.bool_)
        others[here] = False
        order = here[sorted_rows(cells[row[here]], desc)]
        return entities.take(np.concatenate([order, others.nonzero()[0]]))

    async def _handles(self) -> Any:
        """Return a copy of the cell of each index: its handle if that is alive."""
        entities = self._entities

        def state() -> tuple[Any, int]:
            free = entities._free
            version = (free._head, free.count, entities._n_used, entities._n_retired)
            return version, entities._n_used

        return await self._copies.of(
            (None, "handles"), state, lambda rows: entities._handles[rows].copy(), 8, lasting=True
        )

    def _match(
        self,
        wanted: Conditions,
        handles: NDArray[np.uint64],
        owners: Mapping[str, NDArray[np.uint64]],
    ) -> NDArray[np.uint64]:
        having = {name: self._having(handles, cells) for name, cells in owners.items()}
        chosen = (handles & self._mask) == np.arange(len(handles), dtype=np.uint64)  # alive
        for name in wanted.all:
            chosen &= having[name]
        if wanted.any:
            chosen &= np.logical_or.reduce([having[name] for name in wanted.any])
        for name in wanted.none:
            chosen &= ~having[name]
        if not wanted.all:
            return handles.compress(chosen)
        smallest: NDArray[np.uint64] = min((owners[name] for name in wanted.all), key=len)
        smallest = smallest[smallest != 0]
        places = self._index(smallest)
        fit = places < len(handles)
        smallest, places = smallest.compress(fit), places.compress(fit)
        found = smallest.compress(chosen[places] & (handles[places] == smallest))
        _, first = np.unique(found, return_index=True)  # of several instances
        return found if len(first) == len(found) else found.take(np.sort(first))

    def _having(self, handles: NDArray[np.uint64], owners: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return for each index whether its entity is among the owners."""
        places = self._index(owners)
        fit = places < len(handles)
        owners, places = owners[fit], places[fit]
        found = np.zeros(len(handles), np.bool_)
        found[places[handles[places] == owners]] = True
        return found

    def _by_index(self, entities: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return entities.take(self._index(entities).argsort(kind="stable"))

    def _index(self, entities: NDArray[np.uint64]) -> NDArray[np.intp]:
        return (entities & self._mask).astype(np.intp)


def _index_bits(entities: Any) -> int:
    """Return how many bits of an entity are its index."""
    return next(bits for bits in range(65) if bits == 64 or entities.generation(1 << bits))
