"""Entities of a world that is one of several: its own, and visitors made elsewhere.

A handle is `generation | shard | index`, whole and unchanged wherever its entity goes. What is
found by index is found by *slot* here: the index of an entity made here, a cell of its own for a
visitor, whose slot a map knows. A slot that was a visitor's once is never an index again. Whoever
was made here, left and came back is a visitor, for the index has gone to others.
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
from ..base.locks import mark_broken
from ..base.specialisation import specialised
from ..entities.entity_manager import EntityManagerBase
from ..entities.entity_pool import IndexQueue
from ..values.array_coercion import as_entities, parse_non_negative
from .handle_map import HandleMap, ShardedBulk

# --- The bits of a handle with shards, from the top: generation, shard and index ------
#
# Ids have 20, 12 and 32 bits, whatever handles have.

ID_SHARD_BITS: Final = 12
ID_FOREIGN_FLAG: Final = (1 << ID_SHARD_BITS) - 1
"""Stands in a slot's generation for the shard, where the id in it is another's: no shard has this
number."""
ID_LAST: Final = (1 << 20) - 1
"""The last generation of an id."""


class ShardLayout(HandleLayout):
    """How many bits of a handle are what, with those of the shard where its entity was made."""

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


# --- Slots found once and known to all managers: a third of a move is to find them ----

_SAMPLE: Final = 8
"""So many rows tell most managers whose rows are others."""
_NONE = np.zeros(0, np.uint64), np.zeros(0, np.intp)


class SlotCache:
    """The slots of some entities, while a `with` block runs in which nobody gets another one.

    Managers ask one after the other, often for the rows of the same entities: the last answer is
    kept. Nobody may write to what is known.
    """

    __slots__ = ("_entities", "_found", "_gone", "are_new", "es", "is_going", "rows", "slots")

    def __init__(self, entities: ShardedEntities, es: EntityArray, slots: RowArray) -> None:
        self._entities = entities
        self._found = _NONE
        self._gone = 0, _NONE[1], _NONE[1]
        self.es = es
        self.slots = slots
        self.rows: RowArray | None = None
        """Their rows in the last manager where each has one."""
        self.are_new = False
        """Whether nobody has rows of those who had these slots before."""
        self.is_going = False
        """Whether they are the owners of all rows that a manager loses, one each."""

    def __enter__(self) -> SlotCache:
        self._entities._slot_cache = self
        return self

    def __exit__(self, *_: object) -> None:
        self._entities._slot_cache = None

    def of(self, es: EntityArray) -> RowArray:
        """Return the slots of entities, alive or dead, that have or had rows here; O(k)."""
        if es is self.es:
            return self.slots
        before, slots = self._found
        if len(es) == len(before) and (es == before).all():
            return slots
        slots = self._entities._find_slots(es)
        if es.base is None:  # no view of cells that are going to change
            self._found = es, slots
        return slots

    def rows_among(self, owners: EntityArray) -> RowArray | None:
        """Return the rows that they have in the last manager, if they have the same ones among
        those of these owners: rows that were created together often stay so."""
        rows, es = self.rows, self.es
        if rows is None or len(rows) == 0 or int(rows.max()) >= len(owners):
            return None
        if (owners.take(rows[:_SAMPLE]) != es[:_SAMPLE]).any():
            return None
        return rows if (owners.take(rows) == es).all() else None

    def ascending(self, rows: RowArray, n: int) -> RowArray:
        """Return distinct rows below n in ascending order."""
        count, before, gone = self._gone
        if count != n or rows is not before:
            gone = self._entities._BULK.ascending(rows, n)
            self._gone = n, rows, gone
        return gone


class ShardedEntities(EntityManagerBase):
    """Gives out entities of one shard and knows which are alive here, visitors among them.

    An entity is `generation << (INDEX_BITS + SHARD_BITS) | shard << INDEX_BITS | index`. No two
    shards of a run may have the same number. Destroying an entity frees the index, with the
    next generation, and so does its leaving; freed indices are reused first in, first out, once
    more than MIN_FREE of them wait. An index without further generations is retired.

    `on_destroy` callbacks are told which entities died. What they destroy themselves
    stays alive until its turn, which comes before the outermost call returns; what they
    raise is raised then, as one exception group. Not thread-safe. Pickles and copies
    without its callbacks.
    """

    # The cell of an index is as everywhere. That of a visitor's slot holds the visitor's handle;
    # one in which nobody lives is like that of an index that is retired.

    __slots__ = (
        "_dead_foreign_count",
        "_foreign_slots",
        "_idle",
        "_revived",
        "_shard_bits",
        "_slot_cache",
    )

    _LAYOUT: ClassVar[ShardLayout]
    _BULK: ClassVar[type[ShardedBulk]] = ShardedBulk
    """What is done for many at once; compiled packages have another."""
    _shard_bits: int
    """The number of the shard, where handles have it."""
    _slot_cache: SlotCache | None
    """Slots that need not be found."""
    _foreign_slots: HandleMap
    """The slots of visitors that live here, and of the dead of whom there may be rows."""
    _idle: IndexQueue
    """Slots of visitors that are gone."""
    _revived: int
    """How many slots were idle and are not any more."""
    _dead_foreign_count: int
    """How many visitors died here and still have their slots."""

    # Under names of their own, so that each package's class has copies with its numbers, which it
    # has not of what `super()` finds:
    _create_again = EntityManagerBase.create
    _free_own_index = EntityManagerBase._free_index

    def __init__(self, shard: SupportsIndex = 0) -> None:
        super().__init__()
        self._begin(self._LAYOUT.checked_shard(shard))

    def _begin(self, shard: int) -> None:
        """Have a number, and no visitors yet."""
        self._shard_bits = shard << self._LAYOUT.INDEX_BITS
        self._slot_cache = None
        self._foreign_slots = HandleMap(self._BULK)
        self._idle = IndexQueue()
        self._revived = 0
        self._dead_foreign_count = 0

    @specialised
    def alive(self, e: SupportsIndex) -> bool:
        """Whether the entity is alive here; no number that can't be an entity is. O(1)."""
        if type(e) is not int:
            e = operator.index(e)
        try:
            if self._cells[e & INDEX_MASK] == e:
                return True
        except IndexError:
            pass
        slot = self._foreign_slots.get(e) if self._foreign_slots.count else -1
        return slot >= 0 and bool(self._cells[slot] == e)

    def _are_alive(self, handles: EntityArray) -> NDArray[np.bool_]:
        table, mask = self._foreign_slots.table, self._LAYOUT.INDEX_MASK
        return self._BULK.are_local(self._handles, table, handles, mask)

    @specialised
    def require(self, e: SupportsIndex) -> Entity:
        """Convert to an Entity; StaleEntityError if it is not alive here. O(1)."""
        if type(e) is not int:
            e = operator.index(e)
        return Entity(self._cells[self._slot_of(e)])

    @specialised
    def _slot_of(self, e: int) -> int:
        """Return the slot of a live entity; StaleEntityError if it is not alive here. O(1)."""
        index = e & INDEX_MASK
        if index < self._n_cells and self._cells[index] == e:
            return index
        slot = self._foreign_slots.get(e) if self._foreign_slots.count else -1
        if slot < 0 or self._cells[slot] != e:
            raise self._dead(e)
        return slot

    @specialised
    def _slot(self, e: int) -> int:
        """Return the slot of an entity, alive or dead, that has or had rows here; O(1)."""
        slot = self._foreign_slots.get(e) if self._foreign_slots.count else -1
        return e & INDEX_MASK if slot < 0 else slot

    def _slots(self, es: EntityArray) -> RowArray:
        """Return the slots of entities, alive or dead, that have or had rows here; O(k)."""
        return self._find_slots(es) if self._slot_cache is None else self._slot_cache.of(es)

    def _slot_finder(self) -> Callable[[int], int]:
        return self._slot

    def _few_slots(self, es: list[int]) -> list[int]:
        return [*map(self._slot, es)]

    def _find_slots(self, es: EntityArray) -> RowArray:
        table, mask = self._foreign_slots.table, self._LAYOUT.INDEX_MASK
        return self._BULK.slots_of(self._handles, table, es, mask)[0]

    def _slots_of(self, owners: EntityArray, gone: RowArray) -> RowArray:
        """Return the slots of the owners of rows that go, in any order; O(k)."""
        known = self._slot_cache
        if known is not None and known.is_going and len(known.slots) == len(gone):
            return known.slots
        return self._slots(owners[gone])

    def _require_slots(self, es: ArrayLike) -> tuple[EntityArray, RowArray]:
        """Return live entities and their slots; StaleEntityError for the first dead one. O(k)."""
        given, table = as_entities(es), self._foreign_slots.table
        mask = self._LAYOUT.INDEX_MASK
        slots, are_alive = self._BULK.slots_of(self._handles, table, given, mask)
        if not are_alive:
            self._require_handles(given, es)
        return given, slots

    def _all_alive(self, es: list[int]) -> bool:
        return all(map(self.alive, es))

    def live(self) -> EntityArray:
        """All entities that are alive here, by ascending slot. O(slots ever used)."""
        handles = self._handles[: self._n_used]
        # Live handles are odd where their index is, the flipped ones where it is not.
        alive = (handles & 1).astype(np.bool_)
        alive[::2] ^= True
        es, slots = self._foreign_slots.items()
        alive[slots] = handles[slots] == es
        alive &= handles >= np.uint64(self._LAYOUT.ONE_GENERATION)
        return handles[alive]

    def __len__(self) -> int:
        return super().__len__() + self._revived

    @property
    def nbytes(self) -> int:
        """Bytes held in arrays."""
        return super().nbytes + self._foreign_slots.nbytes + self._idle.nbytes

    @property
    def shard(self) -> int:
        """The number of this shard: that of the entities that are made here."""
        return self._shard_bits >> self._LAYOUT.INDEX_BITS

    def shard_of(self, e: SupportsIndex) -> int:
        """The shard where an entity was made, alive or not; 0 of what is no handle."""
        return self._LAYOUT.shard(e) if 0 <= index(e) < 1 << 64 else 0

    def shards_of(self, es: ArrayLike) -> NDArray[np.int64]:
        """The shard where each of k entities was made, shape (k,); O(k)."""
        shards = as_entities(es) >> np.uint64(self._LAYOUT.INDEX_BITS)
        return (shards & np.uint64(self._LAYOUT.SHARD_COUNT - 1)).view(np.int64)

    @specialised
    def create(self) -> Entity:
        """Create an entity. O(1) amortised.

        Raises CapacityError when all indices are in use or retired.
        """
        handle: Entity
        free, index = self._free, self._n_used
        if free.count > MIN_FREE or index == INDEX_COUNT:
            return self._create_again()
        if index == self._n_cells:
            self._grow(index + 1)
        # An Entity, without the time that a call takes:
        handle = ONE_GENERATION | self._shard_bits | index  # type: ignore[assignment]  # calling Entity takes time
        self._cells[index] = handle
        self._n_used = index + 1
        return handle

    def _first_handle(self, index: int) -> int:
        return super()._first_handle(index) | self._shard_bits

    def destroy(self, e: SupportsIndex) -> None:
        """Destroy one entity. O(1) amortised, plus the callbacks.

        Raises StaleEntityError when it is dead or elsewhere, StructureLockedError when a
        manager that destroys with its entities is locked, an exception group when callbacks
        failed. Inside of a callback, the entity's turn comes later.
        """
        if type(e) is not int:
            e = operator.index(e)
        slot = self._slot_of(e)
        if self.dispatch.depth or self._callbacks.entries:
            self._destroy_one(Entity(e), slot)
        else:
            self._free_index(e, slot)

    def _free_handles(self, es: EntityArray) -> None:
        slots = self._foreign_slots.find(es) if self._foreign_slots.count else None
        if slots is None or not (slots >= 0).any():
            super()._free_handles(es)
            return
        visits = slots >= 0
        own, slots = es[~visits], slots[visits]
        before = self._despawn_count
        try:
            super()._free_handles(own)
            self._empty(slots)
            self._dead_foreign_count += len(slots)
        except BaseException:
            if self._despawn_count != before:
                mark_broken(self)
            raise

    def _free_index(self, e: int, index: int) -> None:
        slot = self._foreign_slots.get(e) if self._foreign_slots.count else -1
        if slot < 0:
            self._free_own_index(e, index)
            return
        self._empty(np.array([slot]))
        self._dead_foreign_count += 1

    def _empty(self, slots: RowArray) -> None:
        """Let nobody live in slots of visitors."""
        cells, n_retired = (slots ^ 1).view(np.uint64), self._n_retired + len(slots)
        self._handles[slots] = cells
        self._n_retired = n_retired

    # --- coming and going --------------------------------------------------------------

    def _plan_arrival(self, es: EntityArray) -> RowArray:
        """Return the slots that entities are going to have; CapacityError if there are not
        so many. Makes room for them."""
        reused, count = min(len(es), self._idle.count), self._LAYOUT.INDEX_COUNT
        fresh = len(es) - reused
        if self._n_used + fresh > count:
            left = self._idle.count + count - self._n_used
            raise CapacityError(f"{len(es)} entities arrive, {left} indices left")
        self.reserve(self._n_used + fresh)
        self._foreign_slots.reserve(len(es))
        new = np.arange(self._n_used, self._n_used + fresh)
        return np.concatenate((self._idle.first(reused), new))

    def _commit_arrival(self, es: EntityArray, slots: RowArray) -> bool:
        """Let entities that were not made here live here, in the slots that were found for them,
        if none of them is here or given twice; return whether."""
        reused = min(len(es), self._idle.count)
        try:
            if not self._foreign_slots.add(es, slots):
                return False
            self._idle.drop(reused)
            self._revived += reused
            self._n_used += len(es) - reused
            self._handles[slots] = es
        except BaseException:
            mark_broken(self)
            raise
        return True

    def _rollback_arrival(self, es: EntityArray, slots: RowArray, n_before: int) -> None:
        """Take back an arrival, as if nobody had come, where so many indices were used."""
        self._slot_cache = None  # an interrupt may have come upon the end of a block
        try:
            old = slots[slots < n_before]
            self._foreign_slots.remove(es)
            self._handles[old] = (old ^ 1).view(np.uint64)
            self._handles[n_before : self._n_used] = 0
            if not n_before:
                self._handles[0] = self._LAYOUT.ONE_GENERATION | 1
            self._idle.push_front_many(old)
            self._n_used = n_before
            self._revived -= len(old)
        except BaseException:
            mark_broken(self)
            raise

    def _leave(self, es: EntityArray, slots: RowArray) -> tuple[EntityArray, RowArray]:
        """Let live entities not be here any more; return the visitors among them and their
        slots, which are to be vacated once no manager has rows of theirs."""
        below = np.uint64(self._LAYOUT.ONE_GENERATION - 1)
        visits = (es & below) != slots.view(np.uint64) | np.uint64(self._shard_bits)
        if not visits.all():
            super()._free_handles(es[~visits])
            es, slots = es[visits], slots[visits]
        self._empty(slots)
        return es, slots

    def _leftovers(self) -> EntityArray:
        """Return the visitors that died here and still have their slots."""
        es, slots = self._foreign_slots.items()
        dead: EntityArray = es[self._handles[slots] != es]
        return dead

    def _clear_objects(self, es: EntityArray, slots: RowArray) -> None:
        """Give back the slots of visitors who are gone, of whom no manager has rows."""
        self._idle.reserve(self._idle.count + len(slots))
        self._foreign_slots.remove(es)
        self._idle.push_many(slots)

    # --- saving -----------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        visitors, slots = self._foreign_slots.items()
        return {
            **super().__getstate__(),
            "n_retired": self._n_retired - self._revived,
            "shard": self.shard,
            "visitors": visitors,
            "slots": slots,
            "idle": self._idle.first(self._idle.count),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin(state["shard"])
        super().__setstate__(state)
        self._restore_foreign(state["visitors"], state["slots"], state["idle"])

    def _restore_foreign(self, visitors: EntityArray, slots: RowArray, idle: RowArray) -> None:
        """Go on as the shard that was saved, of which all but the visitors is in place."""
        self._foreign_slots.add(visitors, slots)
        self._idle.push_many(idle)
        self._dead_foreign_count = len(self._leftovers())

    def _set_shard(self, shard: SupportsIndex) -> None:
        """Have another number; nothing was ever made here."""
        self._shard_bits = self._LAYOUT.checked_shard(shard) << self._LAYOUT.INDEX_BITS
