"""Managers whose rows may belong to foreign entities, and foreign ids: from another shard."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from operator import index
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.handles import INDEX_MASK, NIL, Entity, EntityArray, Id, IdArray, Instance, RowArray
from ..base.specialisation import NO_SLOTS, specialised
from ..managers.manager import Manager
from ..managers.policies.direct import Direct, DirectIdRows, DirectIds
from ..managers.policies.ids import SLOT_BITS, SLOT_MASK, IdRows, Ids
from ..managers.policies.instances import Many
from ..managers.policies.lookup_maps import Hash, Sparse
from ..managers.policies.owners import Owned
from ..managers.query_members import QueryMember, QuerySparseMember
from ..tables.columns import Rows, owner_column, used_rows
from ..values.array_coercion import as_entities, as_small_int_list
from .handle_map import HandleMap, ShardedBulk
from .sharded_entities import ID_FOREIGN_FLAG, ID_LAST, ID_SHARD_BITS, ShardedEntities


class WithForeignEntities(Owned):
    """A manager of entities some of which may be foreign."""

    __slots__ = NO_SLOTS
    CAN_ACCELERATE: ClassVar[bool] = False
    _entities: ShardedEntities


class SlotLookup(WithForeignEntities):
    """A manager that finds rows of foreign entities by their slots."""

    __slots__ = NO_SLOTS

    @specialised
    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return the number removed; O(1)."""
        if self._locks:
            self._raise_if_locked()
        row = self.lookup(entity)
        return 0 if row == NIL else self._destroy_row(row)


class ShardedSparseMember(QuerySparseMember):
    """A component whose manager finds rows through a sparse array."""

    __slots__ = ()

    def _look_up(self, entities: EntityArray, all_live: bool) -> NDArray[Any]:
        n_foreign: int = self.manager._entities.foreign_slots.count  # type: ignore[attr-defined]  # sharded ones have them
        return super()._look_up(entities, all_live and not n_foreign)


class ShardedSparse(SlotLookup, Sparse):
    """A manager that finds rows in an array by slot, trying the index first, which is the slot of
    all entities made here."""

    __slots__ = NO_SLOTS
    MEMBER: ClassVar[type[QueryMember]] = ShardedSparseMember

    @specialised
    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; with several instances the first one's. O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        try:
            row = self._sparse_cells[entity & INDEX_MASK]
            if row != NIL and self.data._entity_cells[row] == entity:
                return row
        except IndexError:
            pass
        return self._foreign_row(entity) if self._entities.foreign_slots.count else NIL

    def _foreign_row(self, entity: int) -> Instance:
        """Return the row of a foreign entity, or NIL; O(1)."""
        slot = self._entities.foreign_slots.get(entity)
        if not 0 <= slot < len(self._sparse_cells):
            return NIL
        row = self._sparse_cells[slot]
        if row == NIL or self.data._entity_cells[row] != entity:
            return NIL
        return row

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        slot_cache = self._entities.slot_cache
        if slot_cache is not None and slot_cache.es is entities:
            owners = owner_column(self.data)[: self.data.n]
            rows = None if self.ALLOWS_MANY else slot_cache.rows_among(owners)
            if rows is None:
                bulk = self._entities.BULK
                rows = bulk.rows_in(self._sparse, owners, slot_cache.es, slot_cache.slots)
            return rows
        foreign_slots = self._entities.foreign_slots
        if not foreign_slots.count or as_small_int_list(entities) is not None:
            return super().lookup_many(entities)
        handles = as_entities(entities)
        owners = owner_column(self.data)[: self.data.n]
        mask = self._entities.HANDLE_LAYOUT.INDEX_MASK
        return self._entities.BULK.lookup_with_foreign(
            self._sparse, owners, foreign_slots.table, handles, mask
        )

    def _surely_have_no_rows(self, entities: EntityArray) -> bool:
        slot_cache = self._entities.slot_cache
        if slot_cache is not None and slot_cache.are_new and slot_cache.es is entities:
            return True
        return super()._surely_have_no_rows(entities)

    def _map_row(self, entity: Entity, row: Instance) -> None:
        self._sparse_cells[self._entities.slot(entity)] = row

    def _first_of(self, entity: Entity) -> Instance:
        return self._sparse_cells[self._entities.slot(entity)]

    def _unmap(self, entity: Entity) -> None:
        self._sparse_cells[self._entities.slot(entity)] = NIL

    def _unmap_rows(self, removed_rows: RowArray) -> None:
        owners = owner_column(self.data)
        self._sparse[self._entities._slots_of(owners, removed_rows)] = NIL


class ShardedHash(WithForeignEntities, Hash):
    """A manager that finds rows in a dict by handle; rows of dead entities need no slot."""

    __slots__ = NO_SLOTS


class ShardedDirect(SlotLookup, Direct):
    """A manager whose rows are entities' slots."""

    __slots__ = NO_SLOTS

    @specialised
    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        data = self.data
        row: Instance = entity & INDEX_MASK  # type: ignore[assignment]  # a call takes time
        if row < data._n and data._entity_cells[row] == entity and entity:
            return row
        return self._foreign_row(entity) if self._entities.foreign_slots.count else NIL

    def _foreign_row(self, entity: int) -> Instance:
        """Return the row of a foreign entity, or NIL; O(1)."""
        slot, data = self._entities.foreign_slots.get(entity), self.data
        is_there = 0 <= slot < data._n and data._entity_cells[slot] == entity
        return Instance(slot) if is_there else NIL

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        rows = super().lookup_many(entities)
        foreign_slots, data = self._entities.foreign_slots, self.data
        if not foreign_slots.count or data.n == 0:
            return rows
        # also clipped lookups of the last row, whose owner may be a foreign entity behind it
        missed = (rows >= data.n).nonzero()[0]
        if len(missed):
            handles = as_entities(entities)[missed]
            slots = foreign_slots.find(handles)
            is_there = (slots >= 0) & (slots < data.n)
            is_there &= owner_column(data).take(slots, mode="clip") == handles
            rows[missed[is_there]] = slots[is_there]
        return rows


# The index of a foreign entity leads nowhere, so the rows of all are listed once for each
# kernel call; O(n).


def living_keys(manager: Owned) -> tuple[EntityArray, RowArray]:
    """Return the live entities that have rows, and the first row of each."""
    rows = manager.first_rows() if isinstance(manager, Many) else used_rows(manager.data)
    owners = owner_column(manager.data)[rows]
    alive = manager._entities.are_alive(owners)
    return owners[alive], rows[alive]


def id_keys(manager: WithForeignIds) -> tuple[IdArray, RowArray]:
    """Return the ids of rows, only of live entities if rows have owners, and the rows."""
    rows = used_rows(manager.data)
    if isinstance(manager, Owned):
        rows = rows[manager._entities.are_alive(owner_column(manager.data)[rows])]
    return manager.ids_in(rows), rows


def alive_keys(entities: ShardedEntities) -> tuple[EntityArray, RowArray]:
    """Return all live entities, and their slots."""
    alive = entities.live()
    return alive, entities.slots(alive)


def as_dict(keys_and_rows: tuple[EntityArray, RowArray]) -> dict[int, int]:
    """Return a dict from keys to rows, for kernels that Python runs."""
    keys, rows = keys_and_rows
    return dict(zip(keys.tolist(), rows.tolist(), strict=True))


class ForeignIdMap:
    """Foreign ids by slot, and back. An entry whose slot has another id now stays until the slot
    has a foreign id again; it counts only while the slot's generation has ID_FOREIGN_FLAG."""

    __slots__ = ("_map", "ids")

    def __init__(self, bulk: type[ShardedBulk]) -> None:
        self._map = HandleMap(bulk)
        self.ids: IdArray = np.zeros(0, np.uint64)
        """Ids by slot."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._map.nbytes + self.ids.nbytes

    def slot(self, id: int, generations: NDArray[np.uint32]) -> int:
        """Return the slot that has an id, or -1; O(1)."""
        slot = self._map.get(id)
        if not 0 <= slot < len(generations) or self.ids.item(slot) != id:
            return -1
        return slot if generations.item(slot) & ID_FOREIGN_FLAG == ID_FOREIGN_FLAG else -1

    def slots(self, ids: IdArray, generations: NDArray[np.uint32]) -> RowArray:
        """Return the slot that has each id, or -1; O(k)."""
        if not self._map.count or len(generations) == 0:
            return np.full(len(ids), -1)
        slots = self._map.find(ids)
        is_current = (slots >= 0) & (slots < len(generations))
        is_current &= self.ids.take(slots, mode="clip") == ids
        is_current &= generations.take(slots, mode="clip") & ID_FOREIGN_FLAG == ID_FOREIGN_FLAG
        return np.where(is_current, slots, -1)

    def reserve(self, count: int, slots: int) -> None:
        """Make room for `count` more ids in slots below `slots`."""
        self._map.reserve(2 * count)
        if slots > len(self.ids):
            ids = np.zeros(1 << (slots - 1).bit_length(), np.uint64)
            ids[: len(self.ids)] = self.ids
            self.ids = ids

    def insert(self, ids: IdArray, slots: RowArray) -> None:
        """Insert distinct ids into distinct slots; O(k)."""
        if len(ids) == 0:
            return
        self.reserve(len(ids), int(slots.max()) + 1)
        # an id that was in one of the slots before may come back in another slot
        old_ids = self.ids[slots]
        replaced = old_ids[self._map.find(old_ids) == slots]
        moved = ids[self._map.find(ids) >= 0]
        self._map.remove(np.unique(np.concatenate((replaced, moved))))
        self._map.add(ids, slots)
        self.ids[slots] = ids

    def holding(self, generations: NDArray[np.uint32]) -> tuple[IdArray, RowArray]:
        """Return the ids that are in slots, and these slots, ascending; O(entries)."""
        ids, slots = self._map.items()
        is_current = self.slots(ids, generations) >= 0 if len(ids) else np.zeros(0, np.bool_)
        return ids[is_current], slots[is_current]


# The lower 12 bits of a slot's generation are the shard. A row that arrives keeps its id
# and takes a slot like every row; ID_FOREIGN_FLAG in the generation keeps it from being
# found by an id of this shard.

_ONE: Final = 1 << ID_SHARD_BITS
IDS: Final = "_visiting"
SLOTS: Final = "_visited"
"""Names of saved arrays: foreign ids, and their slots."""


class ForeignIdRows(Rows):
    """Rows with stable ids, some of them foreign."""

    __slots__ = NO_SLOTS
    BULK: ClassVar[type[ShardedBulk]] = ShardedBulk
    _id_generation_column: NDArray[np.uint32]
    _foreign_ids: ForeignIdMap

    @property
    @abstractmethod
    def _shard_number(self) -> int:
        """The shard of new ids."""

    @abstractmethod
    def _rows_in(self, slots: RowArray) -> RowArray:
        """Return the rows of slots that were given out, NIL for none; O(k)."""

    @abstractmethod
    def _skip_ids(self, slots: RowArray, generations: NDArray[np.uint32]) -> None:
        """Make no ids of these generations, or earlier ones, in these slots; O(k)."""

    def not_made_here(self, ids: IdArray) -> tuple[IdArray, RowArray, NDArray[np.uint32]]:
        """Return those ids with this shard's number that it never made, but may one day, their
        slots and generations; O(k)."""
        natives = ids[
            ids >> np.uint64(SLOT_BITS) & np.uint64(ID_FOREIGN_FLAG) == self._shard_number
        ]
        slots = (natives & np.uint64(SLOT_MASK)).view(np.intp)
        generations = (natives >> np.uint64(SLOT_BITS + ID_SHARD_BITS)).astype(np.uint32)
        cells = np.zeros(len(natives), np.uint32)
        given_out = slots < self.held_rows()
        cells[given_out] = self._id_generation_column[slots[given_out]] >> ID_SHARD_BITS
        may_come = generations >= cells
        return natives[may_come], slots[may_come], generations[may_come]

    def first_unskippable(self, ids: IdArray, end: int) -> int:
        """Return an id with this shard's number that it may still make, and cannot skip: of a slot
        in use or behind `end`, or of the last generation; else 0. O(k)."""
        natives, slots, generations = self.not_made_here(ids)
        cannot_skip = (slots >= end) | (generations >= ID_LAST)
        known = (slots < self.held_rows()).nonzero()[0]
        cells = self._id_generation_column[slots[known]]
        is_native = cells & ID_FOREIGN_FLAG != ID_FOREIGN_FLAG
        cannot_skip[known] |= is_native & (self._rows_in(slots[known]) != NIL)
        return natives.item(cannot_skip.argmax()) if cannot_skip.any() else 0

    def _init_empty(self) -> None:
        super()._init_empty()
        self._foreign_ids = ForeignIdMap(self.BULK)

    def _nbytes(self) -> int:
        return super()._nbytes() + self._foreign_ids.nbytes


class ShardedIdRows(ForeignIdRows, IdRows):
    """Rows with ids that name slots, and the table of these."""

    __slots__ = NO_SLOTS

    def _init_empty(self) -> None:
        super()._init_empty()
        self._first_generation = _ONE

    @property
    def _shard_number(self) -> int:
        return self._first_generation & ID_FOREIGN_FLAG

    def _set_shard(self, shard: int) -> None:
        """Set the shard of new ids; there is no id yet."""
        self._first_generation = _ONE | shard

    def _skip_generation(self) -> None:
        self._first_generation += _ONE

    def _skip_ids(self, slots: RowArray, generations: NDArray[np.uint32]) -> None:
        later = generations + 1 << ID_SHARD_BITS
        known = slots < self._peak
        column, shard = self._id_generation_column, self._shard_number
        np.maximum.at(column, slots[known], later[known] | column[slots[known]] & ID_FOREIGN_FLAG)
        self._first_generation = max(
            self._first_generation, int(later[~known].max(initial=0)) | shard
        )

    @specialised
    def _free_slot(self, slot: int) -> None:
        generations = self._id_generation_cells
        shard = self._first_generation & ID_FOREIGN_FLAG
        generation = generations[slot] >> ID_SHARD_BITS
        if generation == ID_LAST:
            self._slots -= 1
            self._id_slot_cells[self._n] = self._id_slot_cells[self._slots]
            return
        generations[slot] = generation + 1 << ID_SHARD_BITS | shard
        self._id_slot_cells[self._n] = slot

    def _renewed(self, slots: NDArray[np.uint32]) -> NDArray[np.uint32]:
        column, shard = self._id_generation_column, self._shard_number
        generations = column[slots] >> ID_SHARD_BITS
        has_next = generations != ID_LAST
        usable: NDArray[np.uint32] = slots[has_next]
        column[usable] = generations[has_next] + 1 << ID_SHARD_BITS | shard
        return usable

    def _slots_of(self, rows: RowArray) -> RowArray:
        return self._id_slot_column[rows].astype(np.intp)

    def _rows_in(self, slots: RowArray) -> RowArray:
        return self._id_row_column[slots].astype(np.intp)


class WithForeignIds(Manager):
    """A manager with ids some of which are foreign."""

    __slots__ = NO_SLOTS
    CAN_ACCELERATE: ClassVar[bool] = False
    data: Any

    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the stable ids of k rows, or of a mask's; O(k)."""
        return self.ids_in(self._require_rows(rows))

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k ids, NIL for ids that are stale or elsewhere; O(k)."""
        checked, data = as_entities(ids, "ids"), self.data
        rows: RowArray = super().resolve_many(checked)  # type: ignore[misc]  # of the ids' policy
        missed = (rows == NIL).nonzero()[0]
        slots = data._foreign_ids.slots(checked[missed], data._id_generation_column)
        is_found = slots >= 0
        rows[missed[is_found]] = data._rows_in(slots[is_found])
        return rows

    def ids_in(self, rows: RowArray) -> IdArray:
        """Return the ids of rows in use; O(k)."""
        data = self.data
        slots = data._slots_of(rows)
        generations = data._id_generation_column[slots]
        ids: IdArray = generations.astype(np.uint64) << np.uint64(SLOT_BITS)
        ids |= slots.view(np.uint64)
        foreign = (generations & ID_FOREIGN_FLAG == ID_FOREIGN_FLAG).nonzero()[0]
        if len(foreign):
            ids[foreign] = data._foreign_ids.ids[slots[foreign]]
        return ids

    def set_ids(self, rows: RowArray, ids: IdArray) -> None:
        """Give rows in use ids that were made elsewhere; O(k)."""
        data = self.data
        slots = data._slots_of(rows)
        data._foreign_ids.insert(ids, slots)
        data._id_generation_column[slots] |= np.uint32(ID_FOREIGN_FLAG)
        _, own_slots, generations = data.not_made_here(ids)
        data._skip_ids(own_slots, generations)

    def _set_shard(self, shard: int) -> None:
        if shard >= ID_FOREIGN_FLAG:
            wanted = f"wanted 0 to {ID_FOREIGN_FLAG - 1} where there are ids"
            raise ValueError(f"{type(self).__name__}: shard {shard}, {wanted}")
        self.data._set_shard(shard)

    def extra_arrays(self) -> dict[str, NDArray[Any]]:
        data = self.data
        ids, slots = data._foreign_ids.holding(data._id_generation_column)
        if len(ids) == 0:
            return super().extra_arrays()
        return {**super().extra_arrays(), IDS: ids, SLOTS: slots.astype(np.uint32)}

    def _restore(self, extras: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(extras)
        if IDS in extras:
            self.data._foreign_ids.insert(extras[IDS], extras[SLOTS].astype(np.intp))


class ShardedIds(WithForeignIds, Ids):
    """A manager whose instances have stable ids."""

    __slots__ = NO_SLOTS
    data: ShardedIdRows

    @specialised
    def id_of(self, row: int, /) -> Id:
        """Return the stable id of a row: `generation << 44 | shard << 32 | slot`; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        slot = data._id_slot_cells[row]
        generation = data._id_generation_cells[slot]
        if generation & ID_FOREIGN_FLAG == ID_FOREIGN_FLAG:
            return Id(data._foreign_ids.ids.item(slot))
        return Id(generation << SLOT_BITS | slot)

    @specialised
    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if it is stale or its instance elsewhere; O(1)."""
        row = super().resolve(id)
        if row != NIL:
            return row
        data = self.data
        slot = data._foreign_ids.slot(index(id), data._id_generation_column)
        return NIL if slot < 0 else data._id_row_cells[slot]  # type: ignore[return-value]  # calling Instance takes time


class ShardedDirectIdRows(ForeignIdRows, DirectIdRows):
    """Rows with a generation each, which is never reset, and perhaps a foreign id."""

    __slots__ = NO_SLOTS
    _shard: int

    def _init_empty(self) -> None:
        super()._init_empty()
        self._shard = 0

    def _set_shard(self, shard: int) -> None:
        """Set the shard of new ids; there is no id yet."""
        self._shard = shard

    @property
    def _shard_number(self) -> int:
        return self._shard

    def _skip_ids(self, slots: RowArray, generations: NDArray[np.uint32]) -> None:
        column = self._id_generation_column
        np.maximum.at(column, slots, generations << ID_SHARD_BITS | column[slots] & ID_FOREIGN_FLAG)
        self._peak = max(self._peak, int(slots.max(initial=-1)) + 1)

    def _slots_of(self, rows: RowArray) -> RowArray:
        return rows

    def _rows_in(self, slots: RowArray) -> RowArray:
        used = (slots < self._n) & (self._entity_column[slots] != 0)
        return np.where(used, slots, NIL)

    def _is_exhausted(self, row: int) -> bool:
        return self._id_generation_cells[row] >> ID_SHARD_BITS == ID_LAST

    def _are_exhausted(self, rows: RowArray) -> NDArray[np.bool_]:
        return np.asarray(self._id_generation_column[rows] >> ID_SHARD_BITS == ID_LAST)

    def _next_generation(self, row: int) -> None:
        """Advance the generation of a new row, so that its id is new."""
        generation = self._id_generation_cells[row] >> ID_SHARD_BITS
        self._id_generation_cells[row] = generation + 1 << ID_SHARD_BITS | self._shard

    def _next_generations(self, rows: RowArray) -> None:
        generations = self._id_generation_column[rows] >> ID_SHARD_BITS
        self._id_generation_column[rows] = generations + 1 << ID_SHARD_BITS | self._shard


class ShardedDirectIds(WithForeignIds, DirectIds, ShardedDirect):
    """A manager whose instances have stable ids that name their rows."""

    __slots__ = NO_SLOTS
    data: ShardedDirectIdRows
    _entities: ShardedEntities

    @specialised
    def id_of(self, row: int, /) -> Id:
        """Return the stable id of a row: `generation << 44 | shard << 32 | slot`; O(1)."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        generation = data._id_generation_cells[row]
        if generation & ID_FOREIGN_FLAG == ID_FOREIGN_FLAG:
            return Id(data._foreign_ids.ids.item(row))
        return Id(generation << SLOT_BITS | row)

    @specialised
    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if it is stale or its instance elsewhere; O(1)."""
        row = super().resolve(id)
        if row != NIL:
            return row
        data = self.data
        slot = data._foreign_ids.slot(index(id), data._id_generation_column)
        is_there = 0 <= slot < data._n and data._entity_cells[slot]
        return Instance(slot) if is_there else NIL

    def _restore(self, extras: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(extras)
        self.data._set_shard(self._entities.shard)
