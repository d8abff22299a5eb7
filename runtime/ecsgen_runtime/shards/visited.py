"""Managers whose rows may belong to visitors."""

from __future__ import annotations

from typing import ClassVar

from ..handles import EntityArray, RowArray
from ..owners.owned import Owned
from ..placement.moves import NO_ROWS
from ..state import NO_SLOTS
from .entities import ShardedEntities


class Visited(Owned):
    """A manager of entities some of which may have been made elsewhere."""

    __slots__ = NO_SLOTS
    _MAY_BE_IN_C: ClassVar[bool] = False
    _entities: ShardedEntities

    def _dead_rows(self, owners: EntityArray) -> RowArray:
        alive = self._entities._are_here(owners)
        return NO_ROWS if alive.all() else (~alive).nonzero()[0]
