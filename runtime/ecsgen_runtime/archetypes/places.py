"""Where the rows of entities are: entity index → archetype and position, checked by the handle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..handles import EntityArray, RowArray
from ..policies.maps import indices

NOWHERE: Final = 0xFFFF_FFFF_FFFF_FFFF
"""The place of an entity without a row."""

POSITION_BITS: Final = 32
POSITION_MASK: Final = (1 << POSITION_BITS) - 1


class EntityPlaces:
    """Sparse arrays by entity index: whose row it is, and `archetype << 32 | position`.

    The whole handle decides, so stale handles find nothing.
    """

    __slots__ = ("_mask", "_owner_cells", "_owners", "_place_cells", "_places")

    def __init__(self, index_mask: int) -> None:
        self._mask = index_mask
        self._hold(np.zeros(64, np.uint64), np.full(64, NOWHERE, np.uint64))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._owners.nbytes + self._places.nbytes

    def get(self, entity: int) -> int:
        """Return an entity's place, or NOWHERE; O(1)."""
        index = entity & self._mask
        if index < len(self._owners) and self._owner_cells[index] == entity:
            place: int = self._place_cells[index]
            return place
        return NOWHERE

    def get_many(self, entities: EntityArray) -> NDArray[np.uint64]:
        """Return each entity's place; O(k)."""
        index = indices(entities, self._mask)
        places: NDArray[np.uint64] = self._places.take(index, mode="clip")
        others = self._owners.take(index, mode="clip") != entities
        np.putmask(places, others, np.uint64(NOWHERE))
        return places

    def set(self, entity: int, place: int) -> None:
        """Remember an entity's place; its index was covered before."""
        index = entity & self._mask
        self._owner_cells[index] = entity
        self._place_cells[index] = place

    def set_many(self, entities: EntityArray, places: NDArray[np.uint64]) -> None:
        """Remember each entity's place; O(k)."""
        index = indices(entities, self._mask)
        self._owners[index] = entities
        self._places[index] = places

    def forget(self, entity: int) -> None:
        """An entity has no row any more."""
        index = entity & self._mask
        self._owner_cells[index] = 0
        self._place_cells[index] = NOWHERE

    def forget_many(self, entities: EntityArray) -> None:
        """These entities have no rows any more; O(k)."""
        index = indices(entities, self._mask)
        self._owners[index] = 0
        self._places[index] = NOWHERE

    def cover(self, entity: int) -> int:
        """Make room for an entity and return whose row its index leads to, or 0; O(1) amortised."""
        index = entity & self._mask
        if index >= len(self._owners):
            self._grow(index)
        owner: int = self._owner_cells[index]
        return owner

    def cover_many(self, entities: EntityArray) -> EntityArray:
        """Make room for entities and return the others that their indices lead to; O(k)."""
        if len(entities) == 0:
            return entities
        index = indices(entities, self._mask)
        last = int(index.max())
        if last >= len(self._owners):
            self._grow(last)
        owners = self._owners[index]
        others: EntityArray = owners[(owners != 0) & (owners != entities)]
        return others

    def _grow(self, index: int) -> None:
        size = max(2 * len(self._owners), index + 1)
        owners, places = np.zeros(size, np.uint64), np.full(size, NOWHERE, np.uint64)
        owners[: len(self._owners)] = self._owners
        places[: len(self._places)] = self._places
        self._hold(owners, places)

    def _hold(self, owners: EntityArray, places: NDArray[np.uint64]) -> None:
        views: tuple[memoryview[Any], memoryview[Any]] = owners.data, places.data
        # at once: no interrupt comes between
        self._owners, self._places = owners, places
        self._owner_cells, self._place_cells = views


def by_archetype(
    places: NDArray[np.uint64],
) -> Iterator[tuple[int, RowArray | None, RowArray]]:
    """Yield (archetype, which, positions) for each archetype that places lead to.

    `which` are the places concerned, in order of position, or None for all of them as they stand;
    the positions ascend. O(k log k), O(k) if the places ascend. NOWHERE is an archetype, too.
    """
    if len(places) == 0:
        return
    order = None
    if not bool((places[1:] >= places[:-1]).all()):
        order = places.argsort()
        places = places[order]
        order[places.searchsorted(np.uint64(NOWHERE)) :].sort()  # only these tie
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
