"""ids: every instance has a stable id, a slot and its generation (Molecule's references)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from operator import index
from typing import Any, ClassVar, Final, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import CapacityError, StaleIdError, StaleInstanceError
from ...base.handles import NIL, Id, IdArray, Instance, RowArray
from ...base.locks import is_broken, mark_broken
from ...base.specialisation import NO_SLOTS, accelerated, specialised
from ...entities.newborn_handles import NewbornHandles
from ...tables.columns import Rows, used_rows
from ...values.array_coercion import as_entities
from ..manager import Manager
from .packed import Packed

SLOT_BITS: Final = 32
SLOT_MASK: Final = 0xFFFF_FFFF
EXHAUSTED_GENERATION: Final = 0xFFFF_FFFF


def ids_of(slots: NDArray[Any], generations: NDArray[np.uint32]) -> IdArray:
    """Return the ids of slots: `generation << 32 | slot`; O(k)."""
    upper = generations[slots].astype(np.uint64) << np.uint64(SLOT_BITS)
    ids: IdArray = upper | slots.astype(np.uint64)
    return ids


def resolve_ids(ids: IdArray, rows: NDArray[Any], generations: NDArray[np.uint32]) -> RowArray:
    """Return the row of each id, NIL where the slot's generation is another; O(k)."""
    if len(rows) == 0:
        return np.full(len(ids), NIL, np.intp)
    slots = (ids & np.uint64(SLOT_MASK)).view(np.intp)
    alive = generations.take(slots, mode="clip") == ids >> np.uint64(SLOT_BITS)
    alive &= slots < len(rows)
    return np.where(alive, rows.take(slots, mode="clip"), NIL).astype(np.intp, copy=False)


def stale_id_error(manager: str, id: SupportsIndex) -> StaleIdError:
    """Return the error of a stale id."""
    return StaleIdError(f"{manager}: id {index(id):#x} has no instance, or no longer")


def slot_exhausted_error(manager: str, row: int) -> CapacityError:
    """Return the error of a row whose generations are exhausted."""
    return CapacityError(f"{manager}: row {row} has no generation left for another id")


class IdRows(Rows):
    """Rows with stable ids, and the table of slots, which lies in the buffer beside the rows.

    The free slots are the `id_slot` cells behind the last row, so that taking or giving back k of
    them is a slice. Slots are numbered when first needed. Free are those in [n, _slots); `_peak`
    slots were ever numbered, and those that ran out of generations are in neither.
    """

    __slots__ = NO_SLOTS
    _SAVED_NUMBERS: ClassVar[tuple[str, ...]] = ("_peak", "_slots", "_first_generation")
    _COLUMN_LENGTHS: ClassVar[Mapping[str, str]] = {
        "id_slot": "_slots",
        "id_row": "_peak",
        "id_generation": "_peak",
    }
    _peak: int
    _slots: int
    _first_generation: int
    _id_slot_column: NDArray[np.uint32]
    _id_slot_cells: memoryview[int]
    _id_row_column: NDArray[np.uint32]
    _id_row_cells: memoryview[int]
    _id_generation_column: NDArray[np.uint32]
    _id_generation_cells: memoryview[int]

    def _init_empty(self) -> None:
        super()._init_empty()
        self._peak = 0
        self._slots = 0
        self._first_generation = 1

    def held_rows(self) -> int:
        return self._peak

    def capacity_for(self, count: int) -> int:
        new_slots = max(0, self._n + count - self._slots)
        return max(super().capacity_for(count), self._peak + new_slots)

    def _shrink(self, is_counted: bool = False) -> None:
        self._drop_slots()
        super()._shrink(is_counted)

    @specialised
    def _take_slot(self) -> int:
        """Return the slot of the next row: a free one, or a new one."""
        if self._n == self._slots:
            slot = self._peak
            self._id_generation_cells[slot] = self._first_generation
            self._peak += 1
            self._slots += 1
            return slot
        return self._id_slot_cells[self._n]

    def _next_slots(self, count: int) -> NDArray[np.uint32]:
        """Return the slots of the next `count` rows: free ones, then new ones."""
        free = self._id_slot_column[self._n : min(self._n + count, self._slots)].copy()
        new = count - len(free)
        if new == 0:
            return free
        peak = self._peak + new
        self._id_generation_column[self._peak : peak] = self._first_generation
        fresh = np.arange(self._peak, peak, dtype=np.uint32)
        return np.concatenate((free, fresh))

    def _take_slots(self, count: int) -> None:
        """Count the next `count` slots as taken, the new ones among them as numbered."""
        new = max(0, self._n + count - self._slots)
        self._peak += new
        self._slots += new

    @specialised
    def _free_slot(self, slot: int) -> None:
        """Free the slot of a removed row, or retire it after its last generation."""
        if self._id_generation_cells[slot] == EXHAUSTED_GENERATION:
            self._slots -= 1
            self._id_slot_cells[self._n] = self._id_slot_cells[self._slots]
            return
        self._id_generation_cells[slot] += 1
        self._id_slot_cells[self._n] = slot

    def _reserve_slots(self, count: int) -> NDArray[np.uint32]:
        """Take the slots of the next `count` rows from the free ones, for rows to come later."""
        slots, column, n = self._next_slots(count), self._id_slot_column, self._n
        n_free = min(count, self._slots - n)
        column[n : self._slots - n_free] = column[n + n_free : self._slots].copy()
        self._id_row_column[slots] = NIL
        self._slots -= n_free
        self._peak += count - n_free
        return slots

    def _return_slots(self, slots: NDArray[np.uint32]) -> None:
        """Make reserved slots those of the next rows."""
        column, n, end = self._id_slot_column, self._n, self._n + len(slots)
        column[end : self._slots + len(slots)] = column[n : self._slots].copy()
        column[n:end] = slots
        self._slots += len(slots)

    def _drop_reserved(self, slots: NDArray[np.uint32]) -> None:
        """Free reserved slots, as if rows had had them."""
        fresh = self._renewed(slots)
        self._id_slot_column[self._slots : self._slots + len(fresh)] = fresh
        self._slots += len(fresh)

    def _skip_generation(self) -> None:
        """Begin with a later generation in slots that are numbered from now on."""
        self._first_generation += 1

    def _renewed(self, slots: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Give slots their next generation, and return those that had one left."""
        has_next = self._id_generation_column[slots] != EXHAUSTED_GENERATION
        fresh: NDArray[np.uint32] = slots[has_next]
        self._id_generation_column[fresh] += 1
        return fresh

    def _free_slots(self, slots: NDArray[np.uint32]) -> None:
        """Free the slots of removed rows, but retire exhausted ones."""
        self._id_row_column[slots] = NIL
        fresh = self._renewed(slots)
        worn = len(slots) - len(fresh)
        n, end = self._n, self._n + len(fresh)
        if worn:
            behind = self._id_slot_column[n + len(slots) : self._slots].copy()
            self._slots -= worn
            self._id_slot_column[end : self._slots] = behind
        self._id_slot_column[n:end] = fresh

    def _drop_slots(self) -> None:
        """Forget the free slots behind the last one in use; new ones begin where they ended."""
        n = self._n
        used = self._id_slot_column[:n]
        peak = int(used.max()) + 1 if n else 0
        if peak == self._peak or self._slots < self._peak:
            return  # none, or some were retired, which must not be used again
        dropped = self._id_generation_column[peak : self._peak]
        first_generation = max(self._first_generation, int(dropped.max()))
        free = np.ones(peak, np.bool_)
        free[used] = False
        self._id_slot_column[n:peak] = free.nonzero()[0]
        self._first_generation = first_generation
        self._peak = self._slots = peak


class IdMethods(Manager):
    """Methods of all managers with ids, whatever an id is made of."""

    __slots__ = NO_SLOTS

    def _unused_row_error(self, row: int) -> StaleInstanceError:
        error = super()._unused_row_error(row)
        if row < 0 or row == NIL or self.resolve(Id(row)) == NIL:
            return error
        return StaleInstanceError(f"{error}; that is an id; resolve(id) gives its row")

    @abstractmethod
    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the stable ids of k rows, or of a mask's; O(k)."""

    def ids_by_row(self) -> IdArray:
        """Return the id of each row, shape (n,), 0 at holes; O(n)."""
        ids = np.zeros(self.data.n, np.uint64)
        rows = used_rows(self.data)
        ids[rows] = self.id_of_many(rows)
        return ids

    @abstractmethod
    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if the id is stale; O(1)."""

    @abstractmethod
    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k ids, NIL for stale ids; O(k)."""

    @accelerated("destroy_id")
    def destroy_id(self, id: Id, /) -> None:
        """Remove the instance with this id; O(1).

        Raises:
            StaleIdError: the id is stale.
            StructureLockedError: the manager is locked.
        """
        row = self.resolve(id)
        if row == NIL:
            raise stale_id_error(type(self).__name__, id)
        if self._locks:
            self._raise_if_locked()
        self._destroy_row(row)

    def destroy_id_many(self, ids: ArrayLike, /) -> None:
        """Remove the instances with these k ids; O(k). Nothing goes if one is stale.

        Raises:
            StaleIdError: an id is stale, or given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            self._raise_if_locked()
        handles = as_entities(ids, "ids")
        rows, name = self.resolve_many(handles), type(self).__name__
        stale = rows == NIL
        if stale.any():
            raise stale_id_error(name, int(handles[stale.argmax()]))
        ascending = np.sort(rows)
        repeated = ascending[1:][ascending[1:] == ascending[:-1]]
        if len(repeated):
            twice = int(handles[(rows == repeated[0]).argmax()])
            raise StaleIdError(f"{name}: id {twice:#x} is given twice")
        self.destroy_rows(ascending)


class Ids(IdMethods, Packed):
    """A manager whose instances have stable ids."""

    __slots__ = NO_SLOTS
    _PLAN_REMOVE: ClassVar[tuple[str, ...]] = ("_plan_free_slots",)
    _AFTER_MOVE: ClassVar[tuple[str, ...]] = ("_move_ids",)
    data: IdRows

    @specialised
    def _has_capacity(self, count: int) -> bool:
        data = self.data
        return data.capacity_for(count) <= data.allocated

    def _plan_free_slots(self, removed: RowArray) -> Callable[[], None]:
        data = self.data
        return partial(data._free_slots, data._id_slot_column[removed])

    def _move_ids(self, dst: RowArray) -> None:
        data = self.data
        data._id_row_column[data._id_slot_column[dst]] = dst

    @accelerated("id_of")
    def id_of(self, row: int, /) -> Id:
        """Return the stable id of a row: `generation << 32 | slot`; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        slot = data._id_slot_cells[row]
        return Id(data._id_generation_cells[slot] << SLOT_BITS | slot)

    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the stable ids of k rows, or of a mask's; O(k)."""
        data = self.data
        slots = data._id_slot_column[self._require_rows(rows)]
        return ids_of(slots, data._id_generation_column)

    @accelerated("resolve")
    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if the id is stale; O(1)."""
        if type(id) is not int:
            id = Id(index(id))
        data = self.data
        slot = id & SLOT_MASK
        if slot < data._peak and data._id_generation_cells[slot] == id >> SLOT_BITS:
            return Instance(data._id_row_cells[slot])
        return NIL

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k ids, NIL for stale ids; O(k)."""
        handles = as_entities(ids, "ids")
        data = self.data
        rows = data._id_row_column[: data._peak]
        return resolve_ids(handles, rows, data._id_generation_column[: data._peak])


class NewbornIds(NewbornHandles):
    """Ids of the unowned rows that a kernel spawns."""

    def __init__(self, manager: Ids) -> None:
        self._data = data = manager.data
        free = data._slots - data.n
        self.numbers = np.array([0, data.n, free, data._peak, data._first_generation], np.int64)
        self.free, self.cells = data._id_slot_column, data._id_generation_column
        self._manager = manager
        self.reserved = np.empty(0, np.uint32)
        self._is_next = False
        """True if the next rows get the reserved slots."""

    def reserve(self) -> None:
        count, data = self.numbers.item(0), self._data
        del self.free, self.cells  # views of columns, which may grow now
        try:
            data.reserve_rows(data.capacity_for(count))
        except BaseException:
            with self._atomic():
                self.reserved = data._reserve_slots(min(count, self.numbers.item(2)))
                data._skip_generation()
            raise
        with self._atomic():
            self.reserved = data._reserve_slots(count)

    @contextmanager
    def _atomic(self) -> Iterator[None]:
        """Mark the manager broken if a change of its slots fails halfway."""
        try:
            yield
        except BaseException:
            mark_broken(self._manager)
            raise

    def keep(self, is_born: NDArray[np.bool_]) -> None:
        with self._atomic():
            dropped, self.reserved = self.reserved[~is_born], self.reserved[is_born]
            self._data._drop_reserved(dropped)

    def create_next(self) -> IdArray:
        with self._atomic():
            self._data._return_slots(self.reserved)
            self._is_next = True
        return ids_of(self.reserved, self._data._id_generation_column)

    def drop(self) -> None:
        if is_broken(self._manager):
            return
        with self._atomic():
            data, slots = self._data, self.reserved
            if self._is_next and len(slots):
                next_slots = data._id_slot_column[data.n : data._slots][: len(slots)]
                is_left = np.array_equal(next_slots, slots)  # else rows have them
                slots = data._reserve_slots(len(slots) if is_left else 0)
            data._drop_reserved(slots)
            self.reserved = self.reserved[:0]
