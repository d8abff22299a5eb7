"""Queries whose components have managers: who has certain ones, and the rows of each."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..reprs import count_text
from .base import QueryBase, RowsT, RowT
from .join import QueryJoin
from .members import QueriedEntities, QueryMember


class QueriedRows(QueryBase[RowsT, RowT]):
    """Live entities with certain components, and their rows in the managers.

    Worked out when asked, and again if a manager changed or an entity died since: O(rows
    of the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ("_join",)

    def __init__(
        self,
        entities: QueriedEntities,
        required: tuple[QueryMember, ...],
        any_of: tuple[QueryMember, ...] = (),
        none_of: tuple[QueryMember, ...] = (),
        optional: tuple[QueryMember, ...] = (),
    ) -> None:
        self._join = QueryJoin(entities, required, any_of, none_of, optional)

    def __repr__(self) -> str:
        """Show how many entities there are if that is known, or may be; O(components)."""
        count = self._join.known()
        if count is None:
            found = f"up to {count_text(self._join.bound(), 'entity', 'entities')}"
        else:
            found = count_text(count, "entity", "entities")
        return f"<{type(self).__name__}: {found}; {self._join.conditions()}>"

    def __len__(self) -> int:
        """Return how many entities there are."""
        return self._join.count()

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self._join.arrays()
