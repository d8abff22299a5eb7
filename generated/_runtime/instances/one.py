"""instances: one: the map holds the entity's only row."""

from __future__ import annotations

import numpy as np

from ..handles import NIL, Entity, EntityArray, Instance, RowArray
from ..owners.owned import Owned
from ..placement.rows import first_present, first_repeated
from ..state import NO_SLOTS


class One(Owned):
    """A manager with at most one instance per entity."""

    __slots__ = NO_SLOTS

    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            raise self._locked()
        row = self.lookup(entity)
        if row == NIL:
            return 0
        return self._destroy_row(row)

    def _rows_with(self, row: Instance) -> RowArray:
        return np.array([row])

    def _rows_of_many(self, entities: EntityArray) -> RowArray:
        rows = self.lookup_many(entities)
        return np.unique(rows[rows != NIL])

    def _admit_many(self, entities: EntityArray) -> None:
        name = type(self).__name__
        first_repeated(name, entities)
        first_present(name, entities, self.lookup_many(entities))
