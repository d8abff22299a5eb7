"""Which entities are alive in a shard, and in which slots."""

from __future__ import annotations

import operator
from typing import ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..entities.arrays import as_entities
from ..entities.layout import INDEX_MASK
from ..entities.living import LivingEntities
from ..entities.queue import IndexQueue
from ..errors import StaleEntityError
from ..handles import Entity, EntityArray, RowArray
from ..per_class import per_class
from .bulk import ShardedBulk
from .handle_map import HandleMap
from .knowing import KnownSlots


class VisitedEntities(LivingEntities):
    """Knows which entities are alive here: those made here by their index, others by their slot."""

    # The cell of an index is as everywhere. That of a visitor's slot holds the visitor's handle;
    # one in which nobody lives is like that of an index that is retired.

    __slots__ = ()
    _BULK: ClassVar[type[ShardedBulk]] = ShardedBulk
    """What is done for many at once; compiled packages have another."""
    _home: int
    """The number of the shard, where handles have it."""
    _known: KnownSlots | None
    """Slots that need not be found."""
    _visitors: HandleMap
    """The slots of visitors that live here, and of the dead of whom there may be rows."""
    _idle: IndexQueue
    """Slots of visitors that are gone."""
    _revived: int
    """How many slots were idle and are not any more."""
    _lingering: int
    """How many visitors died here and still have their slots."""

    @per_class
    def alive(self, e: SupportsIndex) -> bool:
        """Whether the entity is alive here; no number that can't be an entity is. O(1)."""
        if type(e) is not int:
            e = operator.index(e)
        try:
            if self._cells[e & INDEX_MASK] == e:
                return True
        except IndexError:
            pass
        slot = self._visitors.get(e) if self._visitors.count else -1
        return slot >= 0 and bool(self._cells[slot] == e)

    def alive_many(self, es: ArrayLike) -> NDArray[np.bool_]:
        """Which of them are alive here, a bool for each. O(k)."""
        return self._are_here(as_entities(es))

    def _are_here(self, handles: EntityArray) -> NDArray[np.bool_]:
        table, mask = self._visitors.table, self._LAYOUT.INDEX_MASK
        return self._BULK.are_here(self._handles, table, handles, mask)

    @per_class
    def require(self, e: SupportsIndex) -> Entity:
        """Convert to an Entity; StaleEntityError if it is not alive here. O(1)."""
        if type(e) is not int:
            e = operator.index(e)
        return Entity(self._cells[self._slot_of(e)])

    @per_class
    def _slot_of(self, e: int) -> int:
        """Return the slot of a live entity; StaleEntityError if it is not alive here. O(1)."""
        index = e & INDEX_MASK
        if index < self._n_cells and self._cells[index] == e:
            return index
        slot = self._visitors.get(e) if self._visitors.count else -1
        if slot < 0 or self._cells[slot] != e:
            raise self._dead(e)
        return slot

    @per_class
    def _slot(self, e: int) -> int:
        """Return the slot of an entity, alive or dead, that has or had rows here; O(1)."""
        slot = self._visitors.get(e) if self._visitors.count else -1
        return e & INDEX_MASK if slot < 0 else slot

    def _slots(self, es: EntityArray) -> RowArray:
        """Return the slots of entities, alive or dead, that have or had rows here; O(k)."""
        return self._find_slots(es) if self._known is None else self._known.of(es)

    def _find_slots(self, es: EntityArray) -> RowArray:
        table, mask = self._visitors.table, self._LAYOUT.INDEX_MASK
        return self._BULK.slots_of(self._handles, table, es, mask)[0]

    def _slots_of(self, owners: EntityArray, gone: RowArray) -> RowArray:
        """Return the slots of the owners of rows that go, in any order; O(k)."""
        known = self._known
        if known is not None and known.is_going and len(known.slots) == len(gone):
            return known.slots
        return self._slots(owners[gone])

    def _require_slots(self, es: ArrayLike) -> tuple[EntityArray, RowArray]:
        """Return live entities and their slots; StaleEntityError for the first dead one. O(k)."""
        given, table = as_entities(es), self._visitors.table
        mask = self._LAYOUT.INDEX_MASK
        slots, are_alive = self._BULK.slots_of(self._handles, table, given, mask)
        if not are_alive:
            self._require_handles(given, es)
        return given, slots

    def _span(self, es: EntityArray) -> int:
        """Return one more than the highest slot of entities, 0 without any; O(k)."""
        return int(self._slots(es).max()) + 1 if len(es) else 0

    def _are_few_alive(self, es: list[int]) -> bool:
        return all(map(self.alive, es))

    def _require_handles(self, handles: EntityArray, es: ArrayLike) -> EntityArray:
        alive = self._are_here(handles)
        if not alive.all():
            position = int(alive.argmin())
            e = np.asarray(es, object)[position]
            shown = self._LAYOUT.shown(e)
            raise StaleEntityError(
                f"entity {shown} at position {position} is not alive"
            )
        return handles

    def live(self) -> EntityArray:
        """All entities that are alive here, by ascending slot. O(slots ever used)."""
        handles = self._handles[: self._n_used]
        # Live handles are odd where their index is, the flipped ones where it is not.
        alive = (handles & 1).astype(np.bool_)
        alive[::2] ^= True
        es, slots = self._visitors.items()
        alive[slots] = handles[slots] == es
        alive &= handles >= np.uint64(self._LAYOUT.ONE_GENERATION)
        return handles[alive]

    def __len__(self) -> int:
        return super().__len__() + self._revived

    @property
    def nbytes(self) -> int:
        """Bytes held in arrays."""
        return super().nbytes + self._visitors.nbytes + self._idle.nbytes
