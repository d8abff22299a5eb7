"""Rows in chunks as pickles and copies have them: whole columns by archetype."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .table import ArchetypeTable

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
