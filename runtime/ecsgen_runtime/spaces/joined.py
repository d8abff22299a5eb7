"""Kernels of the world that ask neighbours: rows of one set of entities, and of another."""

from __future__ import annotations

from typing import SupportsFloat

import numpy as np

from ..handles import RowArray
from ..placement import NO_ROWS
from ..queries.rows import QueryRows
from .cells import Places
from .search import NearSearch, PlaceNames
from .spaced import Spaced, checked_radius

NearGiven = tuple[
    Places,
    Places,
    float,
    tuple[float, ...],
    bool,
    tuple[PlaceNames, PlaceNames] | None,
]
"""Who asks, who is asked, the radius, the wrap, whether they are one set, and their names."""


def joined_rows(rows: slice | QueryRows) -> RowArray:
    """Return rows as numbers."""
    if isinstance(rows, slice):
        return np.arange(rows.start, rows.stop)
    found = rows.rows
    return np.arange(found.start, found.stop) if isinstance(found, slice) else found


def hidden_rows(rows: RowArray, *parts: tuple[slice | QueryRows, int]) -> RowArray:
    """Return which of some rows nobody sees: of entities that are inactive in another component.

    `parts`: the rows of the same entities in each of those with a partition, and how many of its
    rows are active.
    """
    is_hidden = np.zeros(len(rows), np.bool_)
    for found, active in parts:
        is_hidden |= joined_rows(found) >= active
    return rows[is_hidden]


def joined_given(
    kernel: str,
    manager: Spaced,
    radius: SupportsFloat,
    asking: RowArray,
    members: RowArray | None = None,
    hidden: RowArray = NO_ROWS,
) -> NearGiven:
    """Return the places of rows that ask, and of those who are asked, by default the same.

    Nobody finds those that are hidden, and of two sets who is of the same entity. ValueError
    for the radius.
    """
    reach = checked_radius(kernel, radius)
    places, seen = manager._all_places()
    if len(hidden):
        seen = seen.copy()
        seen[:, hidden] = np.nan
    own = places.take(asking, axis=1)
    if members is None:
        others = own if seen is places else seen.take(asking, axis=1)
        return own, others, reach, manager.wrap, True, None
    owners = manager._all_owners()  # type: ignore[attr-defined]  # in a group or query
    names = owners[asking], owners[members]
    return own, seen.take(members, axis=1), reach, manager.wrap, False, names


def joined_search(
    kernel: str,
    manager: Spaced,
    radius: SupportsFloat,
    asking: RowArray,
    members: RowArray | None = None,
    hidden: RowArray = NO_ROWS,
) -> NearSearch:
    """Return who is in reach of whom; as `joined_given`."""
    return NearSearch(*joined_given(kernel, manager, radius, asking, members, hidden))
