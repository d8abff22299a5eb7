"""Entities of a shard: those made here, and foreign entities, which were made elsewhere.

A handle is `generation | shard | index`, unchanged wherever its entity goes. Lookups by index are
lookups by *slot* here: the index of an entity made here; for a foreign entity a cell that a map
assigns. A slot that was a foreign entity's once is never an index again. An entity that was made
here, left and came back is foreign, for its index has been reused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from operator import index
from typing import Any, ClassVar, Final, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import CapacityError
from ..base.handles import (
    INDEX_COUNT,
    INDEX_MASK,
    MIN_FREE,
    ONE_GENERATION,
    Entity,
    EntityArray,
    HandleLayout,
    RowArray,
)
from ..base.locks import is_broken, mark_broken
from ..base.specialisation import specialised
from ..entities.entity_manager import EntityManagerBase
from ..entities.entity_pool import IndexQueue
from ..values.array_coercion import as_entities, parse_non_negative
from .handle_map import HandleMap, ShardedBulk

# Ids have 20, 12 and 32 bits, whatever handles have.

ID_SHARD_BITS: Final = 12
ID_FOREIGN_FLAG: Final = (1 << ID_SHARD_BITS) - 1
"""Takes the place of the shard in the generation of a slot with a foreign id: no shard has this
number."""
ID_LAST: Final = (1 << 20) - 1
"""The last generation of an id."""


class ShardLayout(HandleLayout):
    """The bits of a handle, among them those of the shard where its entity was made."""

    def __init__(
        self, index_bits: int, generation_bits: int, min_free: int, shard_bits: int
    ) -> None:
        super().__init__(index_bits, generation_bits, min_free, shard_bits)
        self.SHARD_BITS: Final = shard_bits
        self.SHARD_COUNT: Final = 1 << shard_bits

    def checked_shard(self, shard: SupportsIndex) -> int:
        """Return the number of a shard, or raise TypeError or ValueError."""
        number = parse_non_negative("shard", shard)
        if number >= self.SHARD_COUNT:
            raise ValueError(f"shard {number}, wanted 0 to {self.SHARD_COUNT - 1}")
        return number

    def shard(self, entity: SupportsIndex) -> int:
        """Return the shard where an entity was made."""
        return index(entity) >> self.INDEX_BITS & self.SHARD_COUNT - 1

    def format_short(self, entity: SupportsIndex) -> str:
        """Return an entity as `5v1`, and as `5v1@3` if it was not made in shard 0."""
        name, shard = super().format_short(entity), self.shard(entity)
        return f"{name}@{shard}" if shard else name


_SAMPLE: Final = 8
"""Number of rows by which most other managers are told apart without a look at all rows."""
_NONE = np.zeros(0, np.uint64), np.zeros(0, np.intp)


class SlotCache:
    """The slots of entities during a `with` block in which slots do not change. Managers look up
    one after the other, often the same entities: the last result is kept, and only borrowed."""

    __slots__ = (
        "_entities",
        "_last_found",
        "_last_sorted",
        "are_new",
        "es",
        "is_going",
        "rows",
        "slots",
    )

    def __init__(self, entities: ShardedEntities, es: EntityArray, slots: RowArray) -> None:
        self._entities = entities
        self._last_found = _NONE
        self._last_sorted = 0, _NONE[1], _NONE[1]
        self.es = es
        self.slots = slots
        self.rows: RowArray | None = None
        """The rows of `es` in the last manager where each entity has one."""
        self.are_new = False
        """True if no rows are left of entities that had these slots before."""
        self.is_going = False
        """True if `es` are the owners of all rows that a manager removes, one row each."""

    def __enter__(self) -> SlotCache:
        self._entities.slot_cache = self
        return self

    def __exit__(self, *_: object) -> None:
        self._entities.slot_cache = None

    def of(self, es: EntityArray) -> RowArray:
        """Return the slots of entities, alive or dead, that have or had rows here; O(k)."""
        if es is self.es:
            return self.slots
        last_es, slots = self._last_found
        if len(es) == len(last_es) and (es == last_es).all():
            return slots
        slots = self._entities._find_slots(es)
        if es.base is None:  # no view of cells, which change
            self._last_found = es, slots
        return slots

    def rows_among(self, owners: EntityArray) -> RowArray | None:
        """Return the rows of `es` in the last manager, if these owners have `es` in the same rows;
        else None. Rows that were created together often stay aligned."""
        rows, es = self.rows, self.es
        if rows is None or len(rows) == 0 or int(rows.max()) >= len(owners):
            return None
        if (owners.take(rows[:_SAMPLE]) != es[:_SAMPLE]).any():
            return None
        return rows if (owners.take(rows) == es).all() else None

    def ascending(self, rows: RowArray, n: int) -> RowArray:
        """Return distinct rows below n in ascending order."""
        count, last_rows, ordered = self._last_sorted
        if count != n or rows is not last_rows:
            ordered = self._entities.BULK.ascending(rows, n)
            self._last_sorted = n, rows, ordered
        return ordered


class ShardedEntities(EntityManagerBase):
    """Creates entities of one shard and knows those that are alive here, foreign ones too.

    An entity is `generation << (INDEX_BITS + SHARD_BITS) | shard << INDEX_BITS | index`. No two
    shards of a run may have the same number. An index is freed when its entity dies or leaves;
    all else is as in managers without shards.
    """

    # The cell of an index is that of other entity managers. The cell of a foreign slot holds the
    # foreign handle; without a live entity it is that of a retired index.

    __slots__ = (
        "_idle",
        "_shard_bits",
        "dead_foreign_count",
        "foreign_slots",
        "revived",
        "slot_cache",
    )

    HANDLE_LAYOUT: ClassVar[ShardLayout]
    BULK: ClassVar[type[ShardedBulk]] = ShardedBulk
    """Bulk operations; compiled packages have another class."""
    _shard_bits: int
    """The number of the shard, shifted to its place in handles."""
    slot_cache: SlotCache | None
    """Slots that need not be looked up, or None."""
    foreign_slots: HandleMap
    """Slots of foreign entities that are alive here, and of dead ones that may have rows."""
    _idle: IndexQueue
    """Slots of foreign entities that have left or whose rows are removed."""
    revived: int
    """Number of slots that were idle and are used again."""
    dead_foreign_count: int
    """Number of foreign entities that died here and still have their slots."""

    # Names of their own, so that each package's class has specialised copies, which methods that
    # `super()` finds have not:
    _create_again = EntityManagerBase.create
    _free_own_index = EntityManagerBase._free_index

    def __init__(self, shard: SupportsIndex = 0) -> None:
        super().__init__()
        self.begin(self.HANDLE_LAYOUT.checked_shard(shard))

    def begin(self, shard: int) -> None:
        """Set the shard's number, without foreign entities."""
        self._shard_bits = shard << self.HANDLE_LAYOUT.INDEX_BITS
        self.slot_cache = None
        self.foreign_slots = HandleMap(self.BULK)
        self._idle = IndexQueue()
        self.revived = 0
        self.dead_foreign_count = 0

    @specialised
    def alive(self, e: SupportsIndex) -> bool:
        """True if the entity is alive here; False for numbers that can't be an entity. O(1)."""
        if type(e) is not int:
            e = operator.index(e)
        try:
            if self._cells[e & INDEX_MASK] == e:
                return True
        except IndexError:
            pass
        slot = self.foreign_slots.get(e) if self.foreign_slots.count else -1
        return slot >= 0 and bool(self._cells[slot] == e)

    def are_alive(self, handles: EntityArray) -> NDArray[np.bool_]:
        table, mask = self.foreign_slots.table, self.HANDLE_LAYOUT.INDEX_MASK
        return self.BULK.are_local(self.handles, table, handles, mask)

    @specialised
    def require(self, e: SupportsIndex) -> Entity:
        """Convert to an Entity; StaleEntityError if it is not alive here. O(1)."""
        if type(e) is not int:
            e = operator.index(e)
        return Entity(self._cells[self.slot_of(e)])

    @specialised
    def slot_of(self, e: int) -> int:
        """Return the slot of a live entity; StaleEntityError if it is not alive here. O(1)."""
        index = e & INDEX_MASK
        if index < self.n_cells and self._cells[index] == e:
            return index
        slot = self.foreign_slots.get(e) if self.foreign_slots.count else -1
        if slot < 0 or self._cells[slot] != e:
            raise self._dead(e)
        return slot

    @specialised
    def slot(self, e: int) -> int:
        """Return the slot of an entity, alive or dead, that has or had rows here; O(1)."""
        slot = self.foreign_slots.get(e) if self.foreign_slots.count else -1
        return e & INDEX_MASK if slot < 0 else slot

    def slots(self, es: EntityArray) -> RowArray:
        """Return the slots of entities, alive or dead, that have or had rows here; O(k)."""
        return self._find_slots(es) if self.slot_cache is None else self.slot_cache.of(es)

    def slot_finder(self) -> Callable[[int], int]:
        return self.slot

    def _find_slots(self, es: EntityArray) -> RowArray:
        table, mask = self.foreign_slots.table, self.HANDLE_LAYOUT.INDEX_MASK
        return self.BULK.slots_of(self.handles, table, es, mask)[0]

    def _slots_of(self, owners: EntityArray, removed_rows: RowArray) -> RowArray:
        """Return the slots of the owners of removed rows, in any order; O(k)."""
        slot_cache = self.slot_cache
        if (
            slot_cache is not None
            and slot_cache.is_going
            and len(slot_cache.slots) == len(removed_rows)
        ):
            return slot_cache.slots
        return self.slots(owners[removed_rows])

    def require_slots(self, es: ArrayLike) -> tuple[EntityArray, RowArray]:
        """Return live entities and their slots; StaleEntityError for the first dead one. O(k)."""
        handles, table = as_entities(es), self.foreign_slots.table
        mask = self.HANDLE_LAYOUT.INDEX_MASK
        slots, are_alive = self.BULK.slots_of(self.handles, table, handles, mask)
        if not are_alive:
            self.require_handles(handles, es)
        return handles, slots

    def all_alive(self, es: list[int]) -> bool:
        return all(map(self.alive, es))

    def _alive_slots(self) -> NDArray[np.bool_]:
        handles, alive = self.handles[: self.n_used], super()._alive_slots()
        es, slots = self.foreign_slots.items()
        alive[slots] = handles[slots] == es
        alive &= handles >= np.uint64(self.HANDLE_LAYOUT.ONE_GENERATION)
        return alive

    def __len__(self) -> int:
        return super().__len__() + self.revived

    @property
    def nbytes(self) -> int:
        """Bytes held in arrays."""
        return super().nbytes + self.foreign_slots.nbytes + self._idle.nbytes

    @property
    def shard(self) -> int:
        """The number of this shard: that of the entities that are made here."""
        return self._shard_bits >> self.HANDLE_LAYOUT.INDEX_BITS

    def shard_of(self, e: SupportsIndex) -> int:
        """Return the shard where an entity was made, alive or not; 0 if it is no handle."""
        return self.HANDLE_LAYOUT.shard(e) if 0 <= index(e) < 1 << 64 else 0

    def shards_of(self, es: ArrayLike) -> NDArray[np.int64]:
        """Return the shard where each of k entities was made, shape (k,); O(k)."""
        shards = as_entities(es) >> np.uint64(self.HANDLE_LAYOUT.INDEX_BITS)
        return (shards & np.uint64(self.HANDLE_LAYOUT.SHARD_COUNT - 1)).view(np.int64)

    @specialised
    def create(self) -> Entity:
        """Create an entity; CapacityError if all indices are in use or retired. O(1) amortised."""
        handle: Entity
        free, index = self.free_indices, self.n_used
        if free.count > MIN_FREE or index == INDEX_COUNT:
            return self._create_again()
        if index == self.n_cells:
            self._grow(index + 1)
        # not `Entity(…)`, which takes time:
        handle = ONE_GENERATION | self._shard_bits | index  # type: ignore[assignment]  # calling Entity takes time
        self._cells[index] = handle
        self.n_used = index + 1
        return handle

    def first_handle(self, index: int) -> int:
        return super().first_handle(index) | self._shard_bits

    def destroy(self, e: SupportsIndex) -> None:
        """Destroy one entity. O(1) amortised, plus the callbacks.

        Raises StaleEntityError when it is dead or elsewhere, StructureLockedError when a
        manager that destroys with its entities is locked, an exception group when callbacks
        failed. Inside of a callback, the entity's turn comes later.
        """
        if type(e) is not int:
            e = operator.index(e)
        slot = self.slot_of(e)
        if self.dispatch.depth or self.callbacks.entries:
            self._destroy_one(Entity(e), slot)
        else:
            self._free_index(e, slot)

    def free_handles(self, es: EntityArray) -> None:
        despawns_before = self.despawn_count
        try:
            self.dead_foreign_count += len(self._leave(es)[0])
        except BaseException:
            if not is_broken(self) and self.despawn_count != despawns_before:
                mark_broken(self)
            raise

    def _free_index(self, e: int, index: int) -> None:
        slot = self.foreign_slots.get(e) if self.foreign_slots.count else -1
        if slot < 0:
            self._free_own_index(e, index)
            return
        self._empty(np.array([slot]))
        self.dead_foreign_count += 1

    def _empty(self, slots: RowArray) -> None:
        """Mark foreign slots as having no live entity."""
        cells, n_retired = (slots ^ 1).view(np.uint64), self.n_retired + len(slots)
        self.handles[slots] = cells
        self.n_retired = n_retired

    def _own(self, es: EntityArray) -> tuple[EntityArray, RowArray]:
        """Return the handles with this shard's number, and their indices; O(k)."""
        natives = es[self.shards_of(es) == self.shard]
        return natives, (natives & np.uint64(self.HANDLE_LAYOUT.INDEX_MASK)).view(np.intp)

    def not_made_here(self, es: EntityArray) -> tuple[EntityArray, RowArray]:
        """Return those handles with this shard's number that it never made, but may one day, and
        their indices; O(k)."""
        natives, indices = self._own(es)
        is_new, shift = indices >= self.n_used, np.uint64(self.HANDLE_LAYOUT.GENERATION_SHIFT)
        cells = self.handles.take(indices, mode="clip")
        cells[is_new] = 0
        # an index whose cell has no generation, or a foreign entity, is not used again
        may_come = (cells >> shift > 0) & (natives >> shift >= cells >> shift)
        may_come[may_come] = self.foreign_slots.find(cells[may_come]) < 0
        may_come |= is_new
        return natives[may_come], indices[may_come]

    def retire_indices(self, es: EntityArray) -> None:
        """Retire the indices of handles with this shard's number that it did not give out yet;
        those before them are free. O(k + their number)."""
        _, indices = self._own(es)
        start, end = self.n_used, int(indices.max(initial=-1)) + 1
        if end <= start:
            return
        skipped = np.arange(start, end)
        free = np.setdiff1d(skipped, indices)
        self.free_indices.push_many(free)
        self.handles[start:end] = skipped ^ 1
        self.handles[free] |= np.uint64(self.first_handle(0))
        self.n_retired += len(skipped) - len(free)
        self.n_used = end

    def _plan_arrival(self, es: EntityArray) -> RowArray:
        """Return the slots for arriving entities, and reserve room for them; CapacityError if there
        are not enough."""
        n_reused, count = min(len(es), self._idle.count), self.HANDLE_LAYOUT.INDEX_COUNT
        n_new = len(es) - n_reused
        if self.n_used + n_new > count:
            n_left = self._idle.count + count - self.n_used
            raise CapacityError(f"{len(es)} entities arrive, {n_left} indices left")
        n_skipped = max(0, int(self._own(es)[1].max(initial=-1)) + 1 - self.n_used - n_new)
        self.reserve(self.n_used + n_new + n_skipped)
        self.free_indices.reserve(self.free_indices.count + n_skipped)
        self.foreign_slots.reserve(len(es))
        new = np.arange(self.n_used, self.n_used + n_new)
        return np.concatenate((self._idle.first(n_reused), new))

    def commit_arrival(self, es: EntityArray, slots: RowArray) -> bool:
        """Insert foreign entities into the slots of `_plan_arrival`, unless one is here already or
        repeated; return True if inserted."""
        n_reused = min(len(es), self._idle.count)
        try:
            if not self.foreign_slots.add(es, slots):
                return False
            self._idle.drop(n_reused)
            self.revived += n_reused
            self.n_used += len(es) - n_reused
            self.handles[slots] = es
        except BaseException:
            mark_broken(self)
            raise
        return True

    def rollback_arrival(self, es: EntityArray, slots: RowArray, n_before: int) -> None:
        """Undo an arrival; `n_before`: the number of indices used before."""
        self.slot_cache = None  # an interrupt may have come at the end of a block
        try:
            reused = slots[slots < n_before]
            self.foreign_slots.remove(es)
            self.handles[reused] = (reused ^ 1).view(np.uint64)
            self.handles[n_before : self.n_used] = 0
            if not n_before:
                self.handles[0] = self.HANDLE_LAYOUT.ONE_GENERATION | 1
            self._idle.push_front_many(reused)
            self.n_used = n_before
            self.revived -= len(reused)
        except BaseException:
            mark_broken(self)
            raise

    def _leave(self, es: EntityArray) -> tuple[EntityArray, RowArray]:
        """Remove live entities; return the foreign ones and their slots, to be passed to
        `release_foreign` once no manager has rows of them."""
        if not self.foreign_slots.count:
            super().free_handles(es)
            return _NONE
        slots = self.foreign_slots.find(es)
        is_foreign = slots >= 0
        if not is_foreign.all():
            super().free_handles(es[~is_foreign])
            es, slots = es[is_foreign], slots[is_foreign]
        self._empty(slots)
        return es, slots

    def leftovers(self) -> EntityArray:
        """Return the foreign entities that died here and still have their slots."""
        es, slots = self.foreign_slots.items()
        dead: EntityArray = es[self.handles[slots] != es]
        return dead

    def release_foreign(self, es: EntityArray, slots: RowArray) -> None:
        """Release the slots of foreign entities that are not here and have no rows."""
        self._idle.reserve(self._idle.count + len(slots))
        self.foreign_slots.remove(es)
        self._idle.push_many(slots)

    def __getstate__(self) -> dict[str, Any]:
        foreign, slots = self.foreign_slots.items()
        return {
            **super().__getstate__(),
            "n_retired": self.n_retired + self.n_reserved - self.revived,
            "shard": self.shard,
            "visitors": foreign,
            "slots": slots,
            "idle": self._idle.first(self._idle.count),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.begin(state["shard"])
        super().__setstate__(state)
        self.restore_foreign(state["visitors"], state["slots"], state["idle"])

    def restore_foreign(self, foreign: EntityArray, slots: RowArray, idle: RowArray) -> None:
        """Restore the foreign entities of a saved shard; all else is restored before."""
        self.foreign_slots.add(foreign, slots)
        self._idle.push_many(idle)
        self.dead_foreign_count = len(self.leftovers())

    def _set_shard(self, shard: SupportsIndex) -> None:
        """Set another number of the shard; no entity was ever made here."""
        self._shard_bits = self.HANDLE_LAYOUT.checked_shard(shard) << self.HANDLE_LAYOUT.INDEX_BITS
