"""A block of candidates of a query: its conditions narrow it, and find rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .handles import NIL, EntityArray
from .query_members import FoundRows, QueryMember


class QueryMatch:
    """The entities of a block that fulfil the conditions so far, and their rows by member."""

    __slots__ = ("_live", "entities", "rows")

    def __init__(
        self,
        entities: EntityArray,
        rows: dict[int, FoundRows],
        live: frozenset[QueryMember] = frozenset(),
    ) -> None:
        self.entities = entities
        self.rows = rows
        self._live = live
        """Members none of whose rows' owners is dead; only if no candidate is dead either."""

    def find(self, member: QueryMember) -> FoundRows:
        """Return the row of each entity, NIL where it has none."""
        return member.find(self.entities, member in self._live)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop the entities that are not to be kept."""
        if kept.all():
            return
        places = np.flatnonzero(
            kept
        )  # a mask takes ten times as long where it is random
        self.entities = self.entities.take(places)
        for place, rows in self.rows.items():
            is_slice = isinstance(rows, slice)
            self.rows[place] = places + rows.start if is_slice else rows.take(places)

    def require(self, place: int, member: QueryMember) -> None:
        """Keep those that have a component, and their rows."""
        rows = self.rows[place] = self.find(member)
        if not isinstance(rows, slice):
            self.keep(rows != NIL)

    def keep_any(self, members: tuple[QueryMember, ...]) -> None:
        """Keep those that have one component at least."""
        kept = np.zeros(len(self.entities), np.bool_)
        for member in members:
            rows = self.find(member)
            kept |= True if isinstance(rows, slice) else rows != NIL
        self.keep(kept)

    def drop(self, member: QueryMember) -> None:
        """Keep those that have not a component."""
        rows = self.find(member)
        none = np.zeros(len(self.entities), np.bool_)
        self.keep(none if isinstance(rows, slice) else rows == NIL)
