"""Spaces of rows some of which belong to visitors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..spaces.spaced import OwnedSpaced, Spaced
from ..state import NO_SLOTS
from .entities import ShardedEntities


class ShardedSpaced(OwnedSpaced):
    """Rows that belong to entities, some of which are dead, and some made elsewhere."""

    __slots__ = NO_SLOTS
    _entities: ShardedEntities

    def _are_seen(self, n: int) -> NDArray[np.bool_] | None:
        active = Spaced._are_seen(self, n)
        alive = self._entities._are_here(self.data._entity_column[:n])
        if active is not None:
            return alive & active
        return None if alive.all() else alive
