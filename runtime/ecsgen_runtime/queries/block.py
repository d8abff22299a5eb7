"""A block of candidates of a query: its conditions narrow it, and find rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..handles import NIL, EntityArray, RowArray
from .members import FoundRows, QueryMember


class QueryBlock:
    """The entities of a block that fulfil the conditions so far, and their rows by member."""

    __slots__ = ("_entities", "_kept", "_live", "count", "rows")

    def __init__(
        self,
        entities: EntityArray,
        rows: dict[int, FoundRows],
        live: frozenset[QueryMember] = frozenset(),
    ) -> None:
        self._entities = entities
        self._kept: RowArray | None = None
        self.count = len(entities)
        self.rows = rows
        self._live = live
        """Members none of whose rows' owners is dead; only if no candidate is dead either."""

    @property
    def entities(self) -> EntityArray:
        """Those that are left, put together when somebody asks."""
        if self._kept is not None:
            self._entities, self._kept = self._entities.take(self._kept), None
        return self._entities

    def find(self, member: QueryMember) -> FoundRows:
        """Return the row of each entity, NIL where it has none."""
        return member.find(self.entities, member in self._live)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop the entities that are not to be kept."""
        if kept.all():
            return
        places = kept.nonzero()[0]  # a mask takes ten times as long where it is random
        self._kept = places if self._kept is None else self._kept.take(places)
        self.count = len(places)
        for place, rows in self.rows.items():
            if isinstance(rows, slice):
                self.rows[place] = places + rows.start
            else:
                self.rows[place] = rows.take(places)

    def require(self, place: int, member: QueryMember) -> None:
        """Keep those that have a component, and their rows."""
        rows = self.rows[place] = self.find(member)
        if not isinstance(rows, slice):
            self.keep(rows != NIL)

    def keep_any(self, members: tuple[QueryMember, ...]) -> None:
        """Keep those that have one component at least."""
        kept = np.zeros(self.count, np.bool_)
        for member in members:
            rows = self.find(member)
            kept |= True if isinstance(rows, slice) else rows != NIL
        self.keep(kept)

    def drop(self, member: QueryMember) -> None:
        """Keep those that have not a component."""
        rows = self.find(member)
        none = np.zeros(self.count, np.bool_)
        self.keep(none if isinstance(rows, slice) else rows == NIL)
