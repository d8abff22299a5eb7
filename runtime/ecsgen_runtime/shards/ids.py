"""ids where worlds are several: `generation << 44 | shard << 32 | slot`, and aliases."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..given_arrays import as_entities
from ..handles import NIL, Columns, EntityArray, Id, IdArray, Instance, RowArray
from ..manager import Manager
from ..per_class import NO_SLOTS, per_class
from ..policies.direct import DirectIdRows, DirectIds
from ..policies.ids import SLOT_BITS, IdRows, Ids, worn_out
from .handle_map import HandleMap, ShardedBulk
from .managers import ShardedDirect
from .sharded_entities import ID_LAST, ID_SHARD_BITS, ID_VISITOR, ShardedEntities

# --- Ids that were given elsewhere: their rows have slots here, whose own ids nobody
# sees.


class Aliases:
    """Which id is in which slot.

    Entries of slots that have another id by now, or one of this shard, stay until the slot is
    wanted again; whether one still holds, the slot's generation tells, which has ID_VISITOR. Where
    there is none any more, slots were given back.
    """

    __slots__ = ("_map", "ids")

    def __init__(self, bulk: type[ShardedBulk]) -> None:
        self._map = HandleMap(bulk)
        self.ids: IdArray = np.zeros(0, np.uint64)
        """By slot."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._map.nbytes + self.ids.nbytes

    def slot(self, id: int, generations: NDArray[np.uint32]) -> int:
        """Return the slot that has an id, or -1; O(1)."""
        slot = self._map.get(id)
        if not 0 <= slot < len(generations) or self.ids.item(slot) != id:
            return -1
        return slot if generations.item(slot) & ID_VISITOR == ID_VISITOR else -1

    def slots(self, ids: IdArray, generations: NDArray[np.uint32]) -> RowArray:
        """Return the slot that has each id, or -1; O(k)."""
        if not self._map.count or len(generations) == 0:
            return np.full(len(ids), -1)
        slots = self._map.find(ids)
        holds = (slots >= 0) & (slots < len(generations))
        holds &= self.ids.take(slots, mode="clip") == ids
        holds &= generations.take(slots, mode="clip") & ID_VISITOR == ID_VISITOR
        return np.where(holds, slots, -1)

    def reserve(self, count: int, slots: int) -> None:
        """Make room for `count` more ids in slots below `slots`."""
        self._map.reserve(2 * count)
        if slots > len(self.ids):
            ids = np.zeros(1 << (slots - 1).bit_length(), np.uint64)
            ids[: len(self.ids)] = self.ids
            self.ids = ids

    def enter(self, ids: IdArray, slots: RowArray) -> None:
        """Let distinct slots have distinct ids; O(k)."""
        if len(ids) == 0:
            return
        self.reserve(len(ids), int(slots.max()) + 1)
        # an id that was in one of the slots once may have come back into another
        before = self.ids[slots]
        replaced = before[self._map.find(before) == slots]
        again = ids[self._map.find(ids) >= 0]
        self._map.remove(np.unique(np.concatenate((replaced, again))))
        self._map.add(ids, slots)
        self.ids[slots] = ids

    def holding(self, generations: NDArray[np.uint32]) -> tuple[IdArray, RowArray]:
        """Return the ids that are in slots, and these, ascending; O(entries)."""
        ids, slots = self._map.items()
        holds = self.slots(ids, generations) >= 0 if len(ids) else np.zeros(0, np.bool_)
        return ids[holds], slots[holds]


# --- ids where worlds are several: `generation << 44 | shard << 32 | slot` ------------
#
# A slot's generation has the shard in its lower 12 bits. A row that came from
# elsewhere keeps its id, and takes a slot like every row, which then has ID_VISITOR
# there, so that nobody finds it by an id of this shard.


_ONE: Final = 1 << ID_SHARD_BITS
IDS: Final = "_visiting"
SLOTS: Final = "_visited"
"""What is saved of aliases."""


class ShardedIdRows(IdRows):
    """Rows with stable ids, some of which were given elsewhere, and the table of slots."""

    __slots__ = NO_SLOTS
    _BULK: ClassVar[type[ShardedBulk]] = ShardedBulk
    _aliases: Aliases

    def _start(self) -> None:
        super()._start()
        self._aliases = Aliases(self._BULK)
        self._first_generation = _ONE

    def _be_shard(self, shard: int) -> None:
        """Give out ids of another shard; there was none yet."""
        self._first_generation = _ONE | shard

    def _nbytes(self) -> int:
        return super()._nbytes() + self._aliases.nbytes

    @per_class
    def _give_slot(self, slot: int) -> None:
        generations, shard = (
            self._id_generation_cells,
            self._first_generation & ID_VISITOR,
        )
        last = generations[slot] >> ID_SHARD_BITS
        if last == ID_LAST:
            self._slots -= 1
            self._id_slot_cells[self._n] = self._id_slot_cells[self._slots]
            return
        generations[slot] = last + 1 << ID_SHARD_BITS | shard
        self._id_slot_cells[self._n] = slot

    def _give_slots(self, slots: NDArray[np.uint32]) -> None:
        column, shard = self._id_generation_column, self._first_generation & ID_VISITOR
        fresh = slots[column[slots] >> ID_SHARD_BITS != ID_LAST]
        column[fresh] = (column[fresh] & np.uint32(~ID_VISITOR & 0xFFFF_FFFF)) + (
            _ONE | shard
        )
        worn = len(slots) - len(fresh)
        n, end = self._n, self._n + len(fresh)
        if worn:
            behind = self._id_slot_column[n + len(slots) : self._slots].copy()
            self._slots -= worn
            self._id_slot_column[end : self._slots] = behind
        self._id_slot_column[n:end] = fresh

    def _slots_of(self, rows: RowArray) -> RowArray:
        """Return the slots of rows."""
        return self._id_slot_column[rows].astype(np.intp)

    def _rows_in(self, slots: RowArray) -> RowArray:
        """Return the rows of slots, NIL for none."""
        return self._id_row_column[slots].astype(np.intp)


class VisitedIds(Manager):
    """What all managers with ids have where some were given elsewhere."""

    __slots__ = NO_SLOTS
    _MAY_BE_IN_C: ClassVar[bool] = False
    data: Any

    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the stable ids of k rows, or of a mask's; O(k)."""
        return self._ids_in(self._rows_given(rows))

    def _foreign(self, given: IdArray, rows: RowArray) -> RowArray:
        """Return rows, where there are none those of ids that were given elsewhere; O(k)."""
        data = self.data
        missed = (rows == NIL).nonzero()[0]
        slots = data._aliases.slots(given[missed], data._id_generation_column)
        known = slots >= 0
        rows[missed[known]] = data._rows_in(slots[known])
        return rows

    def _ids_in(self, rows: RowArray) -> IdArray:
        """Return the ids of rows in use; O(k)."""
        data = self.data
        slots = data._slots_of(rows)
        generations = data._id_generation_column[slots]
        ids: IdArray = generations.astype(np.uint64) << np.uint64(SLOT_BITS)
        ids |= slots.view(np.uint64)
        away = (generations & ID_VISITOR == ID_VISITOR).nonzero()[0]
        if len(away):
            ids[away] = data._aliases.ids[slots[away]]
        return ids

    def _house(self, rows: RowArray, ids: IdArray) -> None:
        """Let rows in use have ids that were given before; O(k)."""
        data = self.data
        slots = data._slots_of(rows)
        data._aliases.enter(ids, slots)
        data._id_generation_column[slots] |= np.uint32(ID_VISITOR)

    def _be_shard(self, shard: int) -> None:
        if shard >= ID_VISITOR:
            name = type(self).__name__
            raise ValueError(
                f"{name}: shard {shard}, but ids have room for {ID_VISITOR}"
            )
        self.data._be_shard(shard)

    def _extras(self) -> dict[str, NDArray[Any]]:
        data = self.data
        ids, slots = data._aliases.holding(data._id_generation_column)
        if len(ids) == 0:
            return super()._extras()
        return {**super()._extras(), IDS: ids, SLOTS: slots.astype(np.uint32)}

    def _restore(self, extras: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(extras)
        if IDS in extras:
            self.data._aliases.enter(extras[IDS], extras[SLOTS].astype(np.intp))


class ShardedIds(VisitedIds, Ids):
    """A manager whose instances have stable ids."""

    __slots__ = NO_SLOTS
    data: ShardedIdRows

    @per_class
    def id_of(self, row: int, /) -> Id:
        """Return the stable id of a row: `generation << 44 | shard << 32 | slot`; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._row(row)
        slot = data._id_slot_cells[row]
        generation = data._id_generation_cells[slot]
        if generation & ID_VISITOR == ID_VISITOR:
            return Id(data._aliases.ids.item(slot))
        return Id(generation << SLOT_BITS | slot)

    @per_class
    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if its instance is gone, or elsewhere; O(1)."""
        row = super().resolve(id)
        if row != NIL:
            return row
        data = self.data
        slot = data._aliases.slot(index(id), data._id_generation_column)
        return NIL if slot < 0 else data._id_row_cells[slot]  # type: ignore[return-value]

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k ids, NIL for those gone or elsewhere; O(k)."""
        given = as_entities(ids, "ids")
        return self._foreign(given, super().resolve_many(given))


class ShardedDirectIdRows(DirectIdRows):
    """Rows with a generation each, which goes on forever, and perhaps an id given elsewhere."""

    __slots__ = NO_SLOTS
    _BULK: ClassVar[type[ShardedBulk]] = ShardedBulk
    _aliases: Aliases
    _shard: int

    def _start(self) -> None:
        super()._start()
        self._aliases = Aliases(self._BULK)
        self._shard = 0

    def _be_shard(self, shard: int) -> None:
        """Give out ids of another shard; there was none yet."""
        self._shard = shard

    def _nbytes(self) -> int:
        return super()._nbytes() + self._aliases.nbytes

    def _slots_of(self, rows: RowArray) -> RowArray:
        return rows

    def _rows_in(self, slots: RowArray) -> RowArray:
        used = (slots < self._n) & (self._entity_column[slots] != 0)
        return np.where(used, slots, NIL)

    def _is_worn(self, row: int) -> bool:
        """Return whether a row has no generation left."""
        return self._id_generation_cells[row] >> ID_SHARD_BITS == ID_LAST

    def _next_generation(self, row: int) -> None:
        """Let a new row have another id than those before."""
        last = self._id_generation_cells[row] >> ID_SHARD_BITS
        self._id_generation_cells[row] = last + 1 << ID_SHARD_BITS | self._shard

    def _next_generations(self, rows: RowArray) -> None:
        """Let new rows have other ids than those before."""
        last = self._id_generation_column[rows] >> ID_SHARD_BITS
        self._id_generation_column[rows] = last + 1 << ID_SHARD_BITS | self._shard


class ShardedDirectIds(VisitedIds, DirectIds, ShardedDirect):
    """A manager whose instances have stable ids that name their rows."""

    __slots__ = NO_SLOTS
    data: ShardedDirectIdRows
    _entities: ShardedEntities

    @per_class
    def id_of(self, row: int, /) -> Id:
        """Return the stable id of a row: `generation << 44 | shard << 32 | slot`; O(1)."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._row(row)
        generation = data._id_generation_cells[row]
        if generation & ID_VISITOR == ID_VISITOR:
            return Id(data._aliases.ids.item(row))
        return Id(generation << SLOT_BITS | row)

    @per_class
    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if its instance is gone, or elsewhere; O(1)."""
        row = super().resolve(id)
        if row != NIL:
            return row
        data = self.data
        slot = data._aliases.slot(index(id), data._id_generation_column)
        is_there = 0 <= slot < data._n and data._entity_cells[slot]
        return Instance(slot) if is_there else NIL

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k ids, NIL for those gone or elsewhere; O(k)."""
        given = as_entities(ids, "ids")
        return self._foreign(given, super().resolve_many(given))

    def _restore(self, extras: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(extras)
        self.data._be_shard(self._entities.shard)

    def _all_new(self, entities: list[int]) -> bool:
        data = self.data
        for row in map(self._entities._slot, entities):
            # a row without another generation is for many at once, where it is refused in time
            if row < data._allocated and data._is_worn(row):
                return False
        return super(DirectIds, self)._all_new(entities)

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        data = self.data
        rows = self._entities._slots(entities)
        known = rows[rows < data._allocated]
        worn = data._id_generation_column[known] >> ID_SHARD_BITS == ID_LAST
        if worn.any():
            raise worn_out(type(self).__name__, int(known[worn.argmax()]))
        super(DirectIds, self)._make_room(entities, columns, borrowed)
