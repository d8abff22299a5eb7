"""unique, where an entity's rows are in another's way if both have had the same slot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..columns.unique import Unique
from ..handles import EntityArray, RowArray
from ..state import NO_SLOTS
from .entities import ShardedEntities


class ShardedUnique(Unique):
    """A manager that finds rows by the values of some fields, of which no two are the same."""

    __slots__ = NO_SLOTS

    def _displaced(self, rows: RowArray, entities: EntityArray) -> NDArray[np.bool_]:
        gone = self._dead(rows)
        if gone.any():
            known: ShardedEntities = self._entities  # type: ignore[attr-defined]  # as in Unique
            slots = known._slots(self.data._entity_column[rows])
            gone &= np.isin(slots, known._slots(entities))
        return gone
