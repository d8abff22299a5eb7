"""Manager that creates and destroys entities.

The design is Bitsquid's ("Building a Data-Oriented Entity System"): an entity is a number, an index
with a generation; freed indices wait in a queue, so that one index is not reused at once and its
generations last.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.callbacks import Dispatch, Subscription, flatten_exceptions
from ..base.errors import CapacityError, StaleEntityError
from ..base.handles import INDEX_COUNT, INDEX_MASK, MIN_FREE, ONE_GENERATION, Entity, EntityArray
from ..base.locks import is_broken, mark_broken
from ..base.specialisation import accelerated, install_accelerator, specialise_methods
from ..values.array_coercion import (
    all_distinct_below,
    as_small_int_list,
    drop_duplicates,
    find_first_duplicate,
    parse_count,
)
from .entity_changes import EntityChangeReader
from .entity_pool import (
    DespawnListener,
    DespawnListeners,
    EntityPool,
    RemoveRows,
    single_entity_array,
)


class EntityManagerBase(EntityPool):
    """Creates and destroys entities; base of a package's `EntityManager`.

    An entity is `generation << INDEX_BITS | index`. Destroying it frees the index, with
    the next generation; freed indices are reused first in, first out, once more than
    MIN_FREE of them wait. An index without further generations is retired.

    `on_destroy` callbacks get the entities that died. Entities that callbacks destroy stay
    alive until their turn, which comes before the outermost call returns; exceptions of
    callbacks are raised then, as one exception group. Not thread-safe. Pickles and copies
    without its callbacks.
    """

    __slots__ = ("__dict__", "__weakref__", "callbacks", "dispatch")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "HANDLE_LAYOUT" in vars(cls):
            specialise_methods(cls, cls.HANDLE_LAYOUT)
            install_accelerator(cls)

    def __init__(self) -> None:
        super().__init__()
        self.dispatch = Dispatch(self._destroy_queued)
        self.callbacks = DespawnListeners()
        self.despawns_at_collect = 0
        """The despawn count when no `gc` manager of the world had rows of dead entities."""

    @classmethod
    def check_entity_manager(cls, entities: object, owner: object) -> None:
        """Raise TypeError, in the name of `owner`, unless it is a manager of this package."""
        if isinstance(entities, cls):
            return
        kind = type(entities)
        name = kind.__name__
        if name == cls.__name__:  # of another package
            name = f"{kind.__module__}.{name}"
        raise TypeError(
            f"{type(owner).__name__} takes the EntityManager that its owners come from, "
            f"not {name}"
        )

    @accelerated("create")
    def create(self) -> Entity:
        """Create an entity; CapacityError if all indices are in use or retired. O(1) amortised."""
        handle: Entity
        free, index = self.free_indices, self.n_used
        if free.count > MIN_FREE or index == INDEX_COUNT:
            if not free.count:
                raise CapacityError(f"no index left, {self.n_retired} are retired")
            try:
                index = free.pop()
                handle = self._cells[index] ^ 1
                self._cells[index] = handle
            except BaseException:
                mark_broken(self)
                raise
            return handle
        if index == self.n_cells:
            self._grow(index + 1)
        # An Entity, without the time that a call takes:
        handle = ONE_GENERATION | index  # type: ignore[assignment]  # calling Entity takes time
        self._cells[index] = handle
        self.n_used = index + 1
        return handle

    def create_many(self, n: SupportsIndex) -> EntityArray:
        """Create n entities, as n times `create()` would, or none: CapacityError when fewer indices
        are left. O(n)."""
        n = parse_count(n)
        early = min(n, max(0, self.free_indices.count - self.HANDLE_LAYOUT.MIN_FREE))
        fresh = min(n - early, self.HANDLE_LAYOUT.INDEX_COUNT - self.n_used)
        n_reused = n - fresh
        if n_reused > self.free_indices.count:
            raise CapacityError(f"{n} entities wanted, {self.n_left} indices left")
        self.reserve(self.n_used + fresh)
        start = self.first_handle(self.n_used)
        created = np.arange(start, start + fresh, dtype=np.uint64)
        new_cells = self.handles[self.n_used : self.n_used + fresh]
        if not n_reused:
            new_cells[:] = created
            self.n_used += fresh
            return created
        indices = self.free_indices.first(n_reused)
        reused = self.handles.take(indices)
        reused ^= 1
        parts = (reused[:early], created, reused[early:])
        new_cells[:], created = created, np.concatenate(parts)
        try:
            self.handles[indices] = reused
            self.free_indices.drop(n_reused)
            self.n_used += fresh
        except BaseException:
            mark_broken(self)
            raise
        return created

    def first_handle(self, index: int) -> int:
        """Return the first handle with an index."""
        return self.HANDLE_LAYOUT.ONE_GENERATION | index

    def reserve_handles(self, n: int) -> EntityArray:
        """Return the n handles that `create_many` would, to be passed to `create_reserved` or
        `drop_reserved` later. O(n). Raises what `create_many` does."""
        before = len(self)
        try:
            es = self.create_many(n)
            self.handles[es & np.uint64(self.HANDLE_LAYOUT.INDEX_MASK)] = es ^ np.uint64(1)
            self.n_reserved += n
        except BaseException:
            if len(self) != before:
                mark_broken(self)
            raise
        return es

    def create_reserved(self, es: EntityArray) -> None:
        """Create entities whose handles are reserved. O(k)."""
        try:
            self.handles[es & np.uint64(self.HANDLE_LAYOUT.INDEX_MASK)] = es
            self.n_reserved -= len(es)
        except BaseException:
            mark_broken(self)
            raise

    def drop_reserved(self, es: EntityArray) -> None:
        """Free the indices of reserved handles, or of entities that were just created with these,
        for handles that never live again. O(k)."""
        was_clean, before = self.has_no_dead_rows, self.despawn_count
        n_created = len(es) if len(es) and self.alive(int(es[0])) else 0
        try:
            try:
                self.free_handles(es)
            except MemoryError:
                for e in es.data:  # so that the index is lost
                    index = e & self.HANDLE_LAYOUT.INDEX_MASK
                    self._cells[index] = index ^ 1
                    self.n_retired += 1
            self.n_reserved -= len(es) - n_created
            self.despawns_at_collect += self.despawn_count - before if was_clean else 0
        except BaseException:
            mark_broken(self)
            raise

    @accelerated("destroy")
    def destroy(self, e: SupportsIndex) -> None:
        """Destroy one entity. O(1) amortised, plus the callbacks.

        Raises StaleEntityError when it is dead, StructureLockedError when a manager
        that destroys with its entities is locked, an exception group when callbacks
        failed. Inside of a callback, the entity's turn comes later.
        """
        if type(e) is not int:
            e = operator.index(e)
        index = e & INDEX_MASK
        try:
            is_alive = self._cells[index] == e
        except IndexError:
            is_alive = False
        if not is_alive:
            raise self._dead(e)
        if self.dispatch.depth or self.callbacks.entries:
            self._destroy_one(Entity(e), index)
        else:
            self._free_index(e, index)

    def destroy_many(self, es: ArrayLike, *, repeats: bool = False) -> None:
        """Destroy all, or none if one is dead or given twice. O(k), plus the callbacks.

        With `repeats`, entities may be given more than once and die once: O(k log k).
        Raises what `destroy` does; StaleEntityError for a repeated entity, too.
        """
        few = as_small_int_list(es)
        if few and self.destroy_small_batch(few, repeats):
            return
        es = self.require_many(es)
        ascending = bool((es[1:] > es[:-1]).all())
        if not ascending and not all_distinct_below(self.slots(es), self.n_used):
            if not repeats:
                position = find_first_duplicate(es)
                e = self.HANDLE_LAYOUT.format_handle(es[position])
                raise StaleEntityError(f"entity {e} at position {position} is repeated")
            es = drop_duplicates(es)
        self.destroy_distinct(es)

    def destroy_distinct(self, es: EntityArray) -> None:
        if len(es) and (self.dispatch.depth or self.callbacks.entries):
            self._destroy_announced(es.copy())
        else:
            self.free_handles(es)

    def destroy_small_batch(self, es: list[int], repeats: bool = False) -> bool:
        """Destroy a few entities, together and in this order, and return True; if one is dead or,
        without `repeats`, given twice, do nothing."""
        distinct = es if len(es) == 1 else [*dict.fromkeys(es)]
        if not self.all_alive(es) or (len(distinct) < len(es) and not repeats):
            return False
        if self.dispatch.depth or self.callbacks.entries:
            self._destroy_announced(np.array(distinct, np.uint64))
            return True
        self.free_indices.reserve(self.free_indices.count + len(distinct))
        mask = self.HANDLE_LAYOUT.INDEX_MASK
        try:
            for e in distinct:
                self._free_index(e, e & mask)
        except BaseException:
            mark_broken(self)
            raise
        return True

    def on_destroy(self, callback: Callable[[EntityArray], object]) -> Subscription:
        """Call `callback` with an array of the entities just destroyed, each time."""
        return self.callbacks.add(callback)

    def changes(self) -> EntityChangeReader:
        """Return a reader of which entities come and die from now on; O(indices ever used)."""
        return EntityChangeReader(self)

    @property
    def has_no_dead_rows(self) -> bool:
        """True if no entity died since the world last removed the rows of dead entities."""
        return self.despawn_count == self.despawns_at_collect

    def add_listener(self, listener: DespawnListener, remove: RemoveRows) -> None:
        """Notify a manager of despawns, without keeping it alive; `remove`, its method, removes the
        rows of one entity."""
        self.callbacks.add_listener(listener, remove)

    def undo_create(self, es: EntityArray) -> None:
        """Undo `create_many`, without counting despawns: if nothing else was created since, the
        next creation returns the same handles. The last first: that allocates nothing."""
        free, cells, layout = self.free_indices, self._cells, self.HANDLE_LAYOUT
        try:
            for e in reversed(es.data):
                index = e & layout.INDEX_MASK
                if e < 2 * layout.ONE_GENERATION and index == self.n_used - 1:
                    self.n_used = index
                else:
                    free.push_front(index)
                cells[index] = e ^ 1
        except BaseException:
            mark_broken(self)
            raise

    def _destroy_one(self, e: Entity, index: int) -> None:
        """Destroy a live entity and notify the callbacks; inside of a callback, later."""
        if self.dispatch.is_open():
            self.dispatch.queue.append(single_entity_array(e))
            return
        self.callbacks.check()
        self.dispatch.run(self._despawn_one, e, index)

    def _despawn_one(self, e: Entity, index: int) -> None:
        """Free an entity's index and notify all callbacks, even after an interrupt in between."""
        notify, pending = self.dispatch.notify, iter(self.callbacks.entries)
        try:
            self._free_index(e, index)
            notify(self.callbacks.run_one, e, pending)
        except BaseException as error:
            if is_broken(self) or self._cells[index] == e:
                raise
            self.dispatch.errors.extend(flatten_exceptions(error))
            notify(self.callbacks.run_one, e, pending)

    def _destroy_announced(self, es: EntityArray) -> None:
        """Destroy live entities and notify the callbacks; inside of a callback, later."""
        es.flags.writeable = False  # the callbacks share it
        if self.dispatch.is_open():
            self.dispatch.queue.append(es)
            return
        self.callbacks.check()
        self.dispatch.run(self._despawn_many, es)

    def _despawn_many(self, es: EntityArray) -> None:
        """Free entities' indices and notify all callbacks, even after an interrupt in between."""
        if len(es) == 0:
            return
        notify, pending = self.dispatch.notify, iter(self.callbacks.entries)
        try:
            self.free_handles(es)
            notify(self.callbacks.run, es, pending)
        except BaseException as error:
            if is_broken(self) or self.alive(int(es[0])):
                raise
            self.dispatch.errors.extend(flatten_exceptions(error))
            notify(self.callbacks.run, es, pending)

    def _destroy_queued(self, es: EntityArray) -> None:
        """Destroy a queued batch, except what an earlier one has destroyed."""
        try:
            self._despawn_if_alive(es)
        except MemoryError:
            self._despawn_if_alive(es)  # the memory of the first attempt is free again

    def _despawn_if_alive(self, es: EntityArray) -> None:
        es = es[self.alive_many(es)]
        if len(es):
            es.flags.writeable = False
            self.callbacks.check()
            self._despawn_many(es)

    def free_handles(self, es: EntityArray) -> None:
        indices = freed = self.slots(es)
        cells = es + self.HANDLE_LAYOUT.ONE_GENERATION
        cells ^= 1
        exhausted = es >= self.HANDLE_LAYOUT.LAST_GENERATION
        if exhausted.any():
            cells[exhausted] = indices[exhausted] ^ 1
            freed = indices[~exhausted]
        self.free_indices.reserve(self.free_indices.count + len(freed))
        before = self.despawn_count
        try:
            self.free_indices.push_many(freed)
            self.n_retired += len(indices) - len(freed)
            self.handles[indices] = cells
        except BaseException:
            if self.despawn_count != before:
                mark_broken(self)
            raise

    def __getstate__(self) -> dict[str, Any]:
        return {
            "bits": self._bits,
            "handles": self.handles[: self.n_used],
            "free": self.free_indices.first(self.free_indices.count),
            "n_retired": self.n_retired + self.n_reserved,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["bits"] != self._bits:
            raise ValueError(f"these entities have {state['bits']} bits, not {self._bits}")
        EntityManagerBase.__init__(self)
        handles = state["handles"]
        self.reserve(len(handles))
        self.handles[: len(handles)] = handles
        self._restore(len(handles), state["free"], state["n_retired"])

    def _restore(self, n: int, free: NDArray[np.int64], n_retired: int) -> None:
        """Restore counts and free indices of a saved manager whose n cells are in place. O(k)."""
        self.n_used = n
        self.n_retired = n_retired
        self.free_indices.push_many(free)
        # there may be rows of dead entities, whose indices are in use again
        self.despawns_at_collect = -1

    @property
    def _bits(self) -> tuple[int, int]:
        """Bits of the index and of the generation in a handle."""
        return self.HANDLE_LAYOUT.INDEX_BITS, self.HANDLE_LAYOUT.GENERATION_BITS
