"""Handles of entities, the queue of free indices, and listeners for despawns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, Protocol, SupportsIndex, TypeAlias, cast
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.callbacks import Callbacks, Pending, Subscription, flatten_exceptions
from ..base.errors import CapacityError, StaleEntityError
from ..base.handles import (
    GENERATION_SHIFT,
    INDEX_MASK,
    LAST_GENERATION,
    ONE_GENERATION,
    Entity,
    EntityArray,
    HandleLayout,
    RowArray,
    whole_mask,
)
from ..base.locks import is_broken, mark_broken
from ..base.specialisation import accelerated, specialised
from ..base.text import format_bytes, format_count
from ..values.array_coercion import are_stored_handles, as_entities


class IndexQueue:
    """Circular queue of indices below 2**32, one at a time or in bulk by slices."""

    __slots__ = ("_cells", "_mask", "array", "count", "head")

    # `head` counts the indices taken; `head & _mask` is the next one's cell.

    def __init__(self) -> None:
        self.count = 0
        self.head = 0
        self.use_array(np.empty(64, np.uint32))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.array.nbytes

    def push(self, index: int) -> None:
        """Append one. O(1) amortised."""
        count = self.count
        if count > self._mask:
            self._grow(count + 1)
        self._cells[(self.head + count) & self._mask] = index
        self.count = count + 1

    def pop(self) -> int:
        """Take the first one, which must exist. O(1)."""
        head, count = self.head, self.count
        self.head, self.count = head + 1, count - 1
        return self._cells[head & self._mask]

    def reserve(self, count: int) -> None:
        """Make room for `count` indices in all, so that pushing them can't fail."""
        if count > self._mask + 1:
            self._grow(count)

    def push_many(self, indices: NDArray[np.int64]) -> None:
        """Append all, in order. O(k) amortised."""
        self.reserve(self.count + len(indices))
        _fill(self.array, (self.head + self.count) & self._mask, indices)
        self.count += len(indices)

    def first(self, n: int) -> NDArray[np.int64]:
        """The first n, which must exist, without taking them. O(n)."""
        indices = np.empty(n, np.int64)
        start = self.head & self._mask
        front = self.array[start : start + n]
        indices[: len(front)] = front
        indices[len(front) :] = self.array[: n - len(front)]
        return indices

    def drop(self, n: int) -> None:
        """Take the first n, which must exist. O(1)."""
        head, count = self.head, self.count
        self.head, self.count = head + n, count - n

    def push_front_many(self, indices: NDArray[np.int64]) -> None:
        """Insert all at the front, in order: they are the next to be popped. O(k) amortised."""
        self.reserve(self.count + len(indices))
        head, count = self.head - len(indices), self.count + len(indices)
        _fill(self.array, head & self._mask, indices)
        self.head, self.count = head, count  # at once: no interrupt comes between

    def push_front(self, index: int) -> None:
        """Insert one at the front: it is the next to be popped. O(1), without memory if there is
        room."""
        head, count = self.head - 1, self.count + 1
        if count > self._mask + 1:
            self._grow(count)
        self._cells[head & self._mask] = index
        self.head, self.count = head, count

    def _grow(self, count: int) -> None:
        cells = np.empty(1 << (count - 1).bit_length(), np.uint32)
        indices = self.first(self.count)
        _fill(cells, self.head & (len(cells) - 1), indices)
        self.use_array(cells)

    def use_array(self, cells: NDArray[np.uint32]) -> None:
        memory: memoryview[int] = cells.data
        # at once: no interrupt comes between
        self.array, self._cells, self._mask = cells, memory, len(memory) - 1


def _fill(cells: NDArray[np.uint32], start: int, indices: NDArray[np.int64]) -> None:
    """Write indices from `start` on, and those behind the end from the beginning."""
    room = len(cells) - start
    cells[start : start + len(indices)] = indices[:room]
    cells[: max(0, len(indices) - room)] = indices[room:]


class EntityPool:
    """Handles of all entities: which are alive, which indices are free."""

    # One cell of `handles` per index: the live handle, or the next one with its lowest
    # bit flipped, which makes it a handle of the neighbouring index; 0 where nothing
    # was created yet, except in cell 0. So `handles[e & INDEX_MASK] == e` holds for
    # live entities alone. The last cell holds no handle of a higher index, so this
    # stays true when `take` clips an index that is out of range. `_cells` is the same
    # memory, for one index at a time.

    __slots__ = (
        "_cells",
        "free_indices",
        "handles",
        "n_cells",
        "n_reserved",
        "n_retired",
        "n_used",
    )

    HANDLE_LAYOUT: ClassVar[HandleLayout]
    """Index and generation bits of the package's handles."""

    def __init__(self) -> None:
        self.free_indices = IndexQueue()
        self.n_retired = 0
        self.n_reserved = 0  # indices of entities to be created with known handles
        self.n_used = 0  # indices given out at least once: [0, n_used)
        self.use_array(self._empty_cells(min(64, self.HANDLE_LAYOUT.INDEX_COUNT)))

    def reserve(self, n: SupportsIndex) -> None:
        """Make room for n indices in all, so that `create` up to there won't allocate;
        CapacityError for more than there are."""
        n = operator.index(n)
        if n > self.n_cells:
            self._grow(n)

    @accelerated("alive")
    def alive(self, e: SupportsIndex) -> bool:
        """Return True if the entity is alive; False for numbers that can't be entities. O(1)."""
        if type(e) is not int:
            e = operator.index(e)
        try:
            alive: bool = self._cells[e & INDEX_MASK] == e
        except IndexError:
            return False
        return alive

    def alive_many(self, es: ArrayLike) -> NDArray[np.bool_]:
        """Return which of them are alive, shape (k,). O(k)."""
        return self.are_alive(as_entities(es))

    def are_alive(self, handles: EntityArray) -> NDArray[np.bool_]:
        return are_stored_handles(self.handles, handles, self.HANDLE_LAYOUT.INDEX_MASK)

    def slots(self, es: EntityArray) -> RowArray:
        """Return the slots of entities, alive or dead, in tables that have one for each index."""
        return (es & whole_mask(self.HANDLE_LAYOUT.INDEX_MASK)).view(np.intp)

    def span(self, es: EntityArray) -> int:
        """Return one more than the highest slot of entities, 0 without any; O(k)."""
        return int(np.maximum.reduce(self.slots(es))) + 1 if len(es) else 0

    def slot_finder(self) -> Callable[[int], int]:
        """Return a function that returns the slot of one entity."""
        # three times as fast as the mask's `__and__`
        return partial(operator.and_, self.HANDLE_LAYOUT.INDEX_MASK)

    @accelerated("require")
    def require(self, e: SupportsIndex) -> Entity:
        """Convert to an Entity; StaleEntityError if it is dead. O(1)."""
        if type(e) is not int:
            e = operator.index(e)
        try:
            handle: Entity = self._cells[e & INDEX_MASK]
            if handle == e:
                return handle
        except IndexError:
            pass
        raise self._dead(e)

    def require_many(self, es: ArrayLike) -> EntityArray:
        """Convert to an EntityArray; StaleEntityError for the first dead one. O(k)."""
        return self.require_handles(as_entities(es), es)

    @specialised
    def all_alive(self, es: list[int]) -> bool:
        cells, count = self._cells, self.n_cells
        for e in es:
            index = e & INDEX_MASK
            if index >= count or cells[index] != e:
                return False
        return True

    def require_handles(self, handles: EntityArray, es: ArrayLike) -> EntityArray:
        """Return the handles of `es`; StaleEntityError for the first dead one."""
        alive = self.are_alive(handles)
        if not alive.all():
            position = int(alive.argmin())
            e = np.asarray(es, object)[position]
            shown = self.HANDLE_LAYOUT.format_handle(e)
            raise StaleEntityError(f"entity {shown} at position {position} is not alive")
        return handles

    @specialised
    def index(self, e: SupportsIndex) -> int:
        """The index in an entity, alive or not."""
        return operator.index(e) & INDEX_MASK

    @specialised
    def generation(self, e: SupportsIndex) -> int:
        """The generation in an entity, alive or not."""
        return operator.index(e) >> GENERATION_SHIFT

    def live(self) -> EntityArray:
        """All live entities, by ascending index. O(indices ever used)."""
        return self.handles[: self.n_used][self._alive_slots()]

    def alive_cells(self) -> EntityArray:
        """Return the live entity at each slot, 0 where there is none: a copy; O(slots)."""
        return self.handles[: self.n_used] * self._alive_slots()

    @property
    def alive_version(self) -> tuple[int, int]:
        """Two numbers, of which one changes whenever an entity comes or dies."""
        return self.despawn_count, len(self)

    @property
    def despawn_count(self) -> int:
        """Number of despawns since this object was made or loaded: a version."""
        free = self.free_indices
        return free.head + free.count + self.n_retired

    def _alive_slots(self) -> NDArray[np.bool_]:
        """Return which slots have a live entity, shape (slots ever used,)."""
        # Live handles are odd where their index is, the flipped ones where it is not.
        alive = (self.handles[: self.n_used] & 1).astype(np.bool_)
        alive[::2] ^= True
        return alive

    def __repr__(self) -> str:
        name, living = type(self).__name__, format_count(len(self), "entity", "entities")
        room = f"room for {self.n_cells}, {format_bytes(self.nbytes)}"
        return f"<{name}: {living}, {room}>"

    def __len__(self) -> int:
        return self.n_used - self.free_indices.count - self.n_retired - self.n_reserved

    @accelerated("alive")
    def __contains__(self, e: SupportsIndex) -> bool:
        return self.alive(e)

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over those alive now, by ascending index."""
        return iter(cast("list[Entity]", self.live().tolist()))

    @property
    def nbytes(self) -> int:
        """Bytes held in arrays."""
        return self.handles.nbytes + self.free_indices.nbytes

    @specialised
    def _free_index(self, e: int, index: int) -> None:
        if e >= LAST_GENERATION:
            self.n_retired += 1
            self._cells[index] = index ^ 1
            return
        try:
            self.free_indices.push(index)
            self._cells[index] = (e + ONE_GENERATION) ^ 1
        except MemoryError:
            raise  # there is no room for the index, and nothing has changed
        except BaseException:
            mark_broken(self)
            raise

    @property
    def n_left(self) -> int:
        return self.free_indices.count + self.HANDLE_LAYOUT.INDEX_COUNT - self.n_used

    def _grow(self, n: int) -> None:
        count = self.HANDLE_LAYOUT.INDEX_COUNT
        if n > count:
            raise CapacityError(f"{n} indices wanted, there are {count}")
        handles = self._empty_cells(1 << (n - 1).bit_length())
        handles[: self.n_cells] = self.handles
        self.use_array(handles)

    def use_array(self, handles: EntityArray) -> None:
        memory: memoryview[Any] = handles.data
        # at once: no interrupt comes between
        self.handles, self._cells, self.n_cells = handles, memory, len(memory)

    def _empty_cells(self, n: int) -> EntityArray:
        handles = np.zeros(n, np.uint64)
        handles[0] = self.HANDLE_LAYOUT.ONE_GENERATION | 1
        return handles

    def _dead(self, e: int) -> StaleEntityError:
        return StaleEntityError(f"entity {self.HANDLE_LAYOUT.format_handle(e)} is not alive")


class DespawnListener(Protocol):
    """A manager that removes rows when their entities are destroyed."""

    _locks: int

    def _check_can_despawn(self) -> None:
        """Raise StructureLockedError if no entity may be destroyed now."""

    def _on_despawn(self, entities: EntityArray, /) -> None:
        """Remove the rows of entities that have just died."""


def remove_rows_with_fallback(
    listener: Any, remove: Callable[[EntityArray], object], entities: EntityArray
) -> None:
    """Remove a listener's rows of entities; one by one if that fails for all at once."""
    try:
        remove(entities)
    except BaseException as error:
        if is_broken(listener):
            raise
        listener.remove_rows_one_by_one(entities)
        if not isinstance(error, MemoryError):
            raise


RemoveRows: TypeAlias = Callable[[Any, Entity], object]
"""Unbound method of a listener that removes the rows of one entity."""


class _ListenerEntry(Subscription):
    """Entry of a listener, which it does not keep alive."""

    __slots__ = ("listener", "remove")

    def __init__(
        self, callbacks: DespawnListeners, listener: DespawnListener, remove: RemoveRows
    ) -> None:
        super().__init__(callbacks, self._notify)
        self.listener = ref(listener, lambda _: self.cancel())
        self.remove = remove

    def _notify(self, entities: EntityArray) -> None:
        listener = self.listener()
        if listener is not None:
            listener._on_despawn(entities)

    def retry(self, argument: EntityArray, errors: list[BaseException]) -> None:
        """Remove the entities' rows again: rows left out now would never be removed."""
        if is_broken(self.listener()):
            return
        try:
            self._notify(argument)
        except BaseException as error:
            errors.extend(flatten_exceptions(error))


class DespawnListeners(Callbacks[EntityArray]):
    """Managers and callbacks that are notified of despawns, in order of registration."""

    __slots__ = ()

    def add_listener(self, listener: DespawnListener, remove: RemoveRows) -> None:
        """Notify a manager of despawns for as long as something else keeps it alive; O(k)."""
        self.entries = (*self.entries, _ListenerEntry(self, listener, remove))

    def check(self) -> None:
        """Raise what the first locked manager raises that can't follow a despawn now."""
        for entry in self.entries:
            if type(entry) is _ListenerEntry:
                listener = entry.listener()
                if listener is not None and listener._locks:
                    listener._check_can_despawn()

    def run_one(
        self, entity: Entity, errors: list[BaseException], pending: Pending | None = None
    ) -> None:
        """Run the callbacks for one entity; an array is made only if a callback takes one."""
        pending = iter(self.entries) if pending is None else pending
        argument: EntityArray | None = None
        entry: Subscription | None = None
        while True:
            try:
                for entry in pending:
                    if type(entry) is _ListenerEntry:
                        listener = entry.listener()
                        if listener is not None:
                            entry.remove(listener, entity)
                    else:
                        if argument is None:
                            argument = single_entity_array(entity)
                        entry.function(argument)
                return
            except BaseException as error:
                # of a manager only if the retry below can't remove the rows
                if (
                    type(entry) is not _ListenerEntry
                    or not isinstance(error, Exception)
                    or is_broken(entry.listener())
                ):
                    errors.extend(flatten_exceptions(error))
            if entry is not None:
                entry.retry(single_entity_array(entity), errors)  # the retry is in bulk


def single_entity_array(entity: Entity) -> EntityArray:
    """Return an entity as a read-only array, shape (1,), for callbacks."""
    entities = np.array([entity], np.uint64)
    entities.flags.writeable = False
    return entities
