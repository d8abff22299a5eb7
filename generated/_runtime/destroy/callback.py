"""destroy: callback: the entity manager says at once which entities died."""

from __future__ import annotations

from ..entities.handles import EntityArray
from ..owners.owned import Owned
from ..state import NO_SLOTS


class Callback(Owned):
    """A manager whose rows go with their entities."""

    __slots__ = NO_SLOTS

    def _attach(self) -> None:
        super()._attach()
        self._entities._attach(self._before_destroy, self._entities_destroyed)

    def _before_destroy(self) -> None:
        """Refuse the destruction of entities while the manager is locked."""
        if self._locks:
            raise self._locked()

    def _entities_destroyed(self, entities: EntityArray) -> None:
        """Remove the rows of entities that have just died."""
        self.remove_many(entities)
