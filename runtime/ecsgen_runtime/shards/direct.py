"""lookup: direct, where the row is the entity's slot: for visitors one of their own."""

from __future__ import annotations

from operator import index
from typing import ClassVar

from numpy.typing import ArrayLike

from ..entities.arrays import as_entities
from ..entities.layout import INDEX_MASK
from ..handles import NIL, NULL_ENTITY, Columns, Entity, EntityArray, Instance, RowArray
from ..per_class import per_class
from ..placement.direct import Direct
from ..state import NO_SLOTS
from .entities import ShardedEntities


class ShardedDirect(Direct):
    """A manager whose rows are entities' slots."""

    __slots__ = NO_SLOTS
    _MAY_BE_IN_C: ClassVar[bool] = False
    _entities: ShardedEntities

    @per_class
    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        data = self.data
        row: Instance = entity & INDEX_MASK  # type: ignore[assignment]  # a call takes time
        if row < data._n and data._entity_cells[row] == entity and entity:
            return row
        return self._visitor_row(entity) if self._entities._visitors.count else NIL

    def _visitor_row(self, entity: int) -> Instance:
        """Return the row of a visitor, or NIL; O(1)."""
        slot, data = self._entities._visitors.get(entity), self.data
        is_there = 0 <= slot < data._n and data._entity_cells[slot] == entity
        return Instance(slot) if is_there else NIL

    @per_class
    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            self._refuse_locked()
        row = self.lookup(entity)
        return 0 if row == NIL else self._destroy_row(row)

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        rows = super().lookup_many(entities)
        visitors, data = self._entities._visitors, self.data
        if not visitors.count or data._n == 0:
            return rows
        # also what was clipped to the last row, whose owner was made elsewhere behind it
        missed = (rows >= data._n).nonzero()[0]
        if len(missed):
            given = as_entities(entities)[missed]
            slots = visitors.find(given)
            is_there = (slots >= 0) & (slots < data._n)
            is_there &= data._entity_column.take(slots, mode="clip") == given
            rows[missed[is_there]] = slots[is_there]
        return rows

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        data = self.data
        needed = self._entities._span(entities)
        if needed > data._allocated:
            data._grow(needed, borrowed)

    def _are_few_new(self, entities: list[int]) -> bool:
        data = self.data
        for row in map(self._entities._slot, entities):
            if row < data._n and data._entity_cells[row] != NULL_ENTITY:
                return False
        return True

    def _places_of(self, entities: EntityArray) -> RowArray:
        return self._entities._slots(entities)
