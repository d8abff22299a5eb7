"""A world that is one of several."""

from __future__ import annotations

from ..world.base import WorldBase
from .entities import EntityManager
from .ids import VisitedIds


class ShardedWorld(WorldBase):
    """A world with a number, which handles and ids that are made in it have."""

    __slots__ = ()
    entities: EntityManager

    def _be_shard(self, shard: int) -> None:
        """Have another number, of a world in which nothing was made yet."""
        for manager in self._all_managers():
            if isinstance(manager, VisitedIds):
                manager._be_shard(shard)
        self.entities._be_shard(shard)
