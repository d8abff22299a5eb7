"""destroy: callback: the entity manager says at once which entities died."""

from __future__ import annotations

from ..broken import is_broken
from ..handles import EntityArray
from ..owners.owned import Owned
from ..state import NO_SLOTS


class Callback(Owned):
    """A manager whose rows go with their entities."""

    __slots__ = NO_SLOTS

    def _attach(self) -> None:
        super()._attach()
        self._entities._attach(self, type(self).remove)

    def _before_destroy(self) -> None:
        """Refuse the destruction of entities while the manager is locked."""
        if self._locks:
            self._refuse_locked()

    def _entities_destroyed(self, entities: EntityArray) -> None:
        """Remove the rows of entities that have just died, if need be one after the other."""
        try:
            self.remove_many(entities)
        except BaseException as error:
            if is_broken(self):
                raise
            self._remove_each(entities)
            if not isinstance(error, MemoryError):
                raise
