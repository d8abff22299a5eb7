"""Deferred commands of compiled kernels, applied by compiled loops where rows are plain."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..base.fast_typing import NamedTuple
from ..base.handles import NIL, EntityArray
from ..base.jit import jit
from ..base.locks import mark_broken
from ..entities.entity_manager import EntityManagerBase
from ..managers.policies.lookup_maps import Sparse, grow_map, map_of
from ..tables.columns import owner_column
from ..world.world_base import WorldBase
from .deferred_commands import CommandBuffer as PlainCommandBuffer
from .deferred_commands import bundle_columns, defaults

_MAX_REUSED: Final = 16_384
"""Rows and indices up to which arrays are reused by the next call."""

_PLAIN: Final = {"packed", "sparse", "one", "occupant"}
"""Policies under which a row is nothing but its columns and an entry of the lookup map."""


class _Plan(NamedTuple):
    """Constants by which one loop applies a kernel's commands."""

    numbers: NDArray[np.uint64]
    """Mask of the index, one generation, and the last generation."""
    columns: tuple[NDArray[np.intp], ...]
    """Bytes of a row before each column, and in it, of each manager: (2, columns)."""
    spawns: tuple[Any, ...]
    """Name, number and byte ranges of each manager, and defaults of fields that are not set.

    A pair for each statement; None if its rows are not plain."""


class CommandBuffer(PlainCommandBuffer):
    """Commands of a compiled loop, in arrays that may serve the next call."""

    @classmethod
    def of(cls, world: WorldBase, count: int, *kinds: Any) -> Self:
        """Return a buffer, the last call's if it is large enough."""
        former: Self | None = vars(world.entities).get("_command_buffers", {}).pop(kinds, None)
        indices = len(world.entities.handles)
        if former is None or count > former.capacity or indices != len(former.is_despawned):
            spare = 0 if former is None else count // 2  # counts that grew will grow again
            return cls(world, count + spare, *kinds)
        former.begin_call(world)
        former.counts.fill(0)
        former.handles = former.newborn_handles(former._homes)
        return former

    def __init__(
        self, world: WorldBase, count: int, rows: Any = (), spawns: Any = (), *kinds: Any
    ) -> None:
        super().__init__(world, count, rows, spawns, *kinds)
        self._kinds = rows, spawns, *kinds
        managers = tuple(map(type, world.collecting_managers))
        kinds_of_spawns, self._homes, bundles = (*kinds, (), (), ())[:3]
        specs = tuple(
            (
                tuple((type(getattr(world, name)), name, fields) for name, fields in spec),
                type(world),
                bundle,
            )
            for spec, bundle in zip(spawns, bundles or [""] * len(spawns), strict=True)
        )
        entities: Any = type(world.entities)
        is_plain = bool(managers) and not rows and {*kinds_of_spawns} <= {"spawn"}
        is_plain = is_plain and {*self._homes} <= {""}  # or no handles of unowned rows
        self._plan = _plan(entities, managers, specs) if is_plain else None

    def apply(self) -> None:
        """Apply the commands as the plain class does, in compiled loops if possible."""
        plan, counts = self._plan, self.counts.tolist()
        if any(counts) and (plan is None or not self._apply_fast(plan, counts)):
            super().apply()
            if self._n_despawned:
                return  # arrays have marks
        rows, size = self._kinds[0], max(self.capacity, len(self.is_despawned))
        self.handles = {}  # they have columns, which may grow now
        if not rows and size <= _MAX_REUSED:
            vars(self._world.entities).setdefault("_command_buffers", {})[self._kinds] = self
        del self._world  # the world may hold this buffer by its entity manager

    def _apply_fast(self, plan: _Plan, counts: list[int]) -> bool:
        """Apply all commands, or return False and change nothing if a command is not plain."""
        entities, managers = self._world.entities, self._world.collecting_managers
        n_despawned, numbers = counts[0], [k for k, count in enumerate(counts[1:]) if count]
        is_plain = len(numbers) < 2 and (not numbers or plan.spawns[numbers[0]] is not None)
        if not is_plain or entities.callbacks.entries or entities.dispatch.depth:
            return False
        free, max_indices = entities.free_indices, entities.HANDLE_LAYOUT.INDEX_COUNT
        free.reserve(free.count + n_despawned)
        n_spawned = counts[1 + numbers[0]] if numbers else 0
        if n_spawned:
            indices = min(entities.n_used + n_spawned, max_indices)
            entities.reserve(indices)
            for _, manager, _ in plan.spawns[numbers[0]][0]:
                _ensure_capacity(managers[manager], n_spawned, indices)
        self._reserve_handles()
        try:
            if n_despawned:
                self._despawn_fast(plan, n_despawned)
            is_complete = not n_spawned or self._spawn_fast(plan, numbers[0], n_spawned)
        except BaseException:
            mark_broken(entities)
            for manager in managers:
                manager._mark_broken()
            raise
        if not is_complete:
            self.counts[0] = 0
            try:
                self._apply_spawns()
            finally:
                self._drop_handles()
        return True

    def _despawn_fast(self, plan: _Plan, count: int) -> None:
        entities, despawned = self._world.entities, self.despawned[:count]
        free, was_clean = entities.free_indices, entities.has_no_dead_rows
        handles, end = entities.handles, free.head + free.count
        arguments = plan.numbers, handles, free.array, end
        freed = _free_indices(despawned, self.is_despawned, *arguments)
        free.count += freed
        entities.n_retired += count - freed
        entities.despawns_at_collect += count if was_clean else 0
        managers: tuple[Any, ...] = self._world.collecting_managers  # sparse, by the plan
        for manager, columns in zip(managers, plan.columns, strict=True):
            if manager.data.n:
                arrays = _row_arrays(manager)
                _set_count(manager.data, _remove_rows(despawned, plan.numbers, columns, *arrays))

    def _next_entities(self, plan: _Plan, count: int) -> tuple[EntityArray, int]:
        """Return the next `count` entities, none if too few, and how many have new indices."""
        entities = self._world.entities
        free, used, layout = entities.free_indices, entities.n_used, entities.HANDLE_LAYOUT
        early = min(count, max(0, free.count - layout.MIN_FREE))
        fresh = min(count - early, layout.INDEX_COUNT - used)
        spawned = np.empty(count if count - fresh <= free.count else 0, np.uint64)
        if len(spawned):
            sources = free.array, free.head, early, used, fresh
            _take_indices(spawned, plan.numbers, entities.handles, *sources)
        return spawned, fresh

    def _spawn_fast(self, plan: _Plan, number: int, count: int) -> bool:
        """Spawn entities, or return False and change nothing: too few indices are free, or dead
        entities still have rows."""
        entities, managers = self._world.entities, self._world.collecting_managers
        newborn, handles = self.handles.get(""), entities.handles
        spawned, fresh = (newborn.reserved, 0) if newborn else self._next_entities(plan, count)
        if len(spawned) < count or self._refusal is not None:
            return False
        members, unset = plan.spawns[number]
        for _, manager, _ in members:
            if not _have_no_rows(spawned, plan.numbers, map_of(managers[manager])):
                return False
        if newborn:
            newborn.create_next()
        else:
            entities.free_indices.drop(count - fresh)
            entities.n_used += fresh
        for name, manager, ranges in members:
            batch = self.spawn_batches[number]
            source = ranges, batch.capacity, batch.buffers[name]
            _append(spawned, plan.numbers, handles, *source, *_row_arrays(managers[manager]))
        for manager, name, default in unset:
            data = managers[manager].data
            getattr(data, f"_{name}_column")[data._n : data._n + count] = default
        for _, manager, _ in members:
            _set_count(managers[manager].data, managers[manager].data._n + count)
        return True


@cache
def _plan(entities: Any, kinds: tuple[Any, ...], specs: Any) -> _Plan | None:
    """Return the plan for a world of such managers; None if they are not plain."""
    is_known = (entities.free_handles, entities.slots) == (
        EntityManagerBase.free_handles,
        EntityManagerBase.slots,
    )
    if not is_known or not all(map(_is_plain, kinds)):
        return None
    layout = entities.HANDLE_LAYOUT
    numbers = layout.INDEX_MASK, layout.ONE_GENERATION, layout.LAST_GENERATION
    columns = [[(c.bytes_before, c.nbytes) for c in kind.LAYOUT] for kind in kinds]
    return _Plan(
        np.array(numbers, np.uint64),
        tuple(np.array(ranges, np.intp).T.copy() for ranges in columns),
        tuple(_spawn_plan(kinds, spec) for spec in specs),
    )


def _is_plain(kind: Any) -> bool:
    """Return True if rows are nothing but their columns and an entry of the lookup map."""
    parts = kind.PARTS
    steps = {*parts.accessors, *parts.create, *parts.create_many, *parts.destroy_row}
    _, hooks, is_more = kind.REMOVE_HOOKS
    is_by_index = "sparse" in steps and kind.CAN_ACCELERATE  # and not by slots of foreign entities
    return steps <= _PLAIN and is_by_index and not (hooks or is_more)


def _spawn_plan(kinds: tuple[Any, ...], spec: Any) -> Any:
    members, unset = [], []
    parts, world, bundle = spec
    for kind, name, fields in parts:
        columns = {column.name: column for column in kind.LAYOUT}
        is_split = not kind.CONVERTERS.keys() <= columns.keys()
        has_capacity = getattr(kind.ROWS, "CELL_CAPACITY", False)
        if kind not in kinds or is_split or has_capacity:
            return None
        manager, sizes = kinds.index(kind), [columns[field].nbytes for field in fields]
        offsets = [columns[field].bytes_before for field in fields]
        ranges = np.array([offsets, sizes, np.cumsum(sizes) - sizes], np.intp)
        members.append((name, manager, ranges))
        initial = {**defaults(kind), **bundle_columns(world, bundle).get(name, {})}
        unset += [(manager, n, value) for n, value in initial.items() if n not in fields]
    return tuple(members), tuple(unset)


def _ensure_capacity(manager: Sparse, count: int, max_indices: int) -> None:
    """Reserve `count` rows, and lookup for entities with indices below `max_indices`."""
    data = manager.data
    if data._n + count > data.allocated:
        data._grow(data._n + count)
    if len(map_of(manager)) < max_indices:
        manager._set_map(grow_map(map_of(manager), max_indices - 1))


def _row_arrays(manager: Sparse) -> Any:
    """Return rows by index, owners by row, the buffer of all columns, and the row count."""
    data = manager.data
    return map_of(manager), owner_column(data), data.buffer, data._n


def _set_count(data: Any, n: int) -> None:
    if n != data._n:
        data._n = n
        data._version += 1
        data.drop_row_caches()


_NO_ROW: Final = np.uint32(NIL)


@jit()
def _free_indices(
    despawned: EntityArray,
    is_despawned: NDArray[np.bool_],
    numbers: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    free: NDArray[np.uint32],
    end: int,
) -> int:
    """Append the entities' indices to the free ones unless exhausted; return how many."""
    freed = 0
    for entity in despawned:
        index = entity & numbers[0]
        is_despawned[index] = False
        if entity >= numbers[2]:
            handles[index] = index ^ np.uint64(1)
        else:
            free[(end + freed) & (len(free) - 1)] = index
            handles[index] = (entity + numbers[1]) ^ np.uint64(1)
            freed += 1
    return freed


@jit()
def _take_indices(
    spawned: EntityArray,
    numbers: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    free: NDArray[np.uint32],
    head: int,
    early: int,
    used: int,
    fresh: int,
) -> None:
    """Write entities: `early` with freed indices, then `fresh` new ones, then freed ones."""
    for k in range(len(spawned)):
        if early <= k < early + fresh:
            spawned[k] = numbers[1] | np.uint64(used + k - early)
        else:
            index = np.uint64(free[head & (len(free) - 1)])
            spawned[k] = handles[index] ^ np.uint64(1)
            head += 1


@jit()
def _have_no_rows(
    spawned: EntityArray, numbers: NDArray[np.uint64], row_of: NDArray[np.uint32]
) -> bool:
    """Return True if no index has a row, which would be a dead entity's."""
    count = 0
    for entity in spawned:
        count += row_of[entity & numbers[0]] != _NO_ROW
    return count == 0


@jit()
def _remove_rows(
    despawned: EntityArray,
    numbers: NDArray[np.uint64],
    columns: NDArray[np.intp],
    row_of: NDArray[np.uint32],
    owners: NDArray[np.uint64],
    buffer: NDArray[np.uint8],
    n: int,
) -> int:
    """Remove the entities' rows; the last of the n rows fill the holes. Return the new count."""
    mask, size, count = numbers[0], np.uint64(len(row_of)), n
    is_removed, words = np.zeros((n >> 6) + 1, np.uint64), buffer.view(np.uint64)
    for entity in despawned:
        row = np.int64(row_of[entity & mask]) if entity & mask < size else n
        if row < n and owners[row] == entity:
            is_removed[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
            row_of[entity & mask] = _NO_ROW
            count -= 1
    if count == n:
        return int(n)
    # without branches, which no processor could predict here
    holes, moving = np.empty(n - count + 1, np.uint32), np.empty(n - count + 1, np.uint32)
    n_holes, n_moving = np.int64(0), np.int64(0)
    for number in range((count + 63) >> 6):
        word = is_removed[number]
        for bit in range(64 if word else 0):
            holes[n_holes] = (number << 6) + bit
            n_holes += np.int64(word >> np.uint64(bit) & np.uint64(1))
    while n_holes > 0 and holes[n_holes - 1] >= count:
        n_holes -= 1
    for row in range(count, n):
        moving[n_moving] = row
        n_moving += np.int64(~(is_removed[row >> 6] >> np.uint64(row & 63)) & np.uint64(1))
    for k in range(n_holes):
        row_of[owners[moving[k]] & mask] = holes[k]
    for column in range(columns.shape[1]):
        start, width = columns[0, column] * len(owners), columns[1, column]
        for k in range(n_holes):
            source, target = start + moving[k] * width, start + holes[k] * width
            if width == 8:  # other widths by bytes: a call would count references to arrays
                words[target >> 3] = words[source >> 3]
            else:
                for byte in range(width):
                    buffer[target + byte] = buffer[source + byte]
    return int(count)


@jit()
def _append(
    spawned: EntityArray,
    numbers: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    ranges: NDArray[np.intp],
    capacity: int,
    batch: NDArray[np.uint8],
    row_of: NDArray[np.uint32],
    owners: NDArray[np.uint64],
    buffer: NDArray[np.uint8],
    n: int,
) -> None:
    """Make entities alive, and append their rows after the first n: copies from a batch whose
    columns hold `capacity` rows."""
    batch_words, words = batch.view(np.uint64), buffer.view(np.uint64)
    for k in range(len(spawned)):
        handles[spawned[k] & numbers[0]] = owners[n + k] = spawned[k]
        row_of[spawned[k] & numbers[0]] = n + k
    for column in range(ranges.shape[1]):
        size = ranges[1, column] * len(spawned)
        source = ranges[2, column] * capacity
        target = ranges[0, column] * len(owners) + n * ranges[1, column]
        if (source | target | size) & 7 == 0:
            for k in range(size >> 3):
                words[(target >> 3) + k] = batch_words[(source >> 3) + k]
        else:
            for k in range(size):
                buffer[target + k] = batch[source + k]
