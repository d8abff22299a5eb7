"""destroy: callback: the entity manager says at once which entities died."""

from __future__ import annotations

from ..broken import is_broken
from ..handles import NIL, EntityArray
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
            raise self._locked()

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

    def _remove_each(self, entities: EntityArray) -> None:
        """Remove rows without memory to speak of: the dead keep none that would never go."""
        try:
            for entity in entities.tolist():
                while (row := self.lookup(entity)) != NIL:
                    self._destroy_row(row)
        except BaseException:
            self._break()
            raise
