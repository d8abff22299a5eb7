"""Where rows in chunks are: found by entity, sorted by archetype."""

from __future__ import annotations

import numpy as np
from ecsgen_runtime.archetypes.table import NOWHERE, EntityPlaces, by_archetype


def test_places_by_archetype() -> None:
    places = np.array([5, NOWHERE, 3, 1 << 32 | 2, NOWHERE, 4, 1 << 32], np.uint64)
    found = [
        (number, which.tolist() if which is not None else None, positions.tolist())
        for number, which, positions in by_archetype(places)
    ]
    last = 2**32 - 1
    assert found == [(0, [2, 5, 0], [3, 4, 5]), (1, [6, 3], [0, 2]), (last, [1, 4], [last] * 2)]
    ((number, which, positions),) = by_archetype(np.array([1, 2, 9], np.uint64))
    assert (number, which, positions.tolist()) == (0, None, [1, 2, 9])
    assert list(by_archetype(np.empty(0, np.uint64))) == []


def test_places_tell_generations_apart() -> None:
    places = EntityPlaces(2**32 - 1)
    first, second = 1 << 32 | 900, 2 << 32 | 900
    assert places.get(first) == NOWHERE
    assert places.cover(first) == 0
    places.set(first, 17)
    assert (places.get(first), places.get(second)) == (17, NOWHERE)
    assert places.cover(second) == first
    both = np.array([first, second, 5 << 32], np.uint64)
    assert places.get_many(both).tolist() == [17, NOWHERE, NOWHERE]
    assert places.cover_many(both[1:]).tolist() == [first]
    places.forget(first)
    assert places.get(first) == NOWHERE
    assert places.get(0) == NOWHERE
