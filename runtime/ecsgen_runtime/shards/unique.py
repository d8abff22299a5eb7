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
    _entities: ShardedEntities

    def _displaced(self, rows: RowArray, entities: EntityArray) -> NDArray[np.bool_]:
        gone = self._dead(rows)
        if gone.any():
            slots = self._entities._slots(self.data._entity_column[rows])
            gone &= np.isin(slots, self._entities._slots(entities))
        return gone
