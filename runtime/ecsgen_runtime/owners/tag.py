"""Components without fields: tags, which only say which entities have them."""

from __future__ import annotations

from abc import abstractmethod

from numpy.typing import ArrayLike

from ..arrow.columns import GivenTable
from ..handles import NIL, Entity, Instance, RowArray
from ..per_class import per_class
from ..state import NO_SLOTS
from .owned import Owned


class Tag(Owned):
    """A manager whose rows have an owner and nothing else."""

    __slots__ = NO_SLOTS

    @abstractmethod
    def create(self, entity: Entity, /) -> Instance:
        """Give an entity an instance and return its row; O(1)."""

    def create_many(
        self, entities: ArrayLike, table: GivenTable | None = None, /
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        A table may have a column `entity`, which is ignored, and no other. The errors are
        those of `create`; whatever raises changes nothing.
        """
        return self._create_many(entities, {}, table)

    @per_class
    def ensure(self, entity: Entity, /) -> Instance:
        """Return the entity's instance, or create one; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        return self.create(entity) if row == NIL else row
