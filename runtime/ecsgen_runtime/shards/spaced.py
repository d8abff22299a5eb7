"""Spaces of rows some of which belong to visitors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..spaces.spaced import OwnedSpaced as OneWorldsSpaced
from ..spaces.spaced import Spaced
from ..state import NO_SLOTS
from .entities import ShardEntities


class OwnedSpaced(OneWorldsSpaced):
    """Rows that belong to entities, some of which are dead, and some made elsewhere."""

    __slots__ = NO_SLOTS
    _entities: ShardEntities

    def _are_seen(self, n: int) -> NDArray[np.bool_] | None:
        active = Spaced._are_seen(self, n)
        alive = self._entities._are_here(self.data._entity_column[:n])
        if active is not None:
            return alive & active
        return None if alive.all() else alive
