"""Members of a query, where rows are found by slots."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..handles import EntityArray
from ..queries.members import QuerySparseMember


class ShardedSparseMember(QuerySparseMember):
    """A component whose manager finds rows through a sparse array."""

    __slots__ = ()

    def _look_up(self, entities: EntityArray, all_live: bool) -> NDArray[Any]:
        visitors: int = self.manager._entities._visitors.count  # type: ignore[attr-defined]
        return super()._look_up(entities, all_live and not visitors)
