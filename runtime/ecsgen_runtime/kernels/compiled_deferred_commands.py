"""Births and deaths of compiled kernels: in one loop where entities and rows are plain."""

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
from ..managers.policies.lookup_maps import grow_map
from .deferred_commands import CommandBuffer as PlainFates
from .deferred_commands import defaults

_KEPT: Final = 16_384
"""Of up to so many rows and indices the arrays are kept from call to call."""

_PLAIN: Final = {"packed", "sparse", "one", "occupant"}
"""Policies whose columns and map are all that there is of a row."""


class _Plan(NamedTuple):
    """How a kernel ends whose entities and rows are plain."""

    numbers: NDArray[np.uint64]
    """The bits of an index, the first generation and the last one."""
    columns: tuple[NDArray[np.intp], ...]
    """Of each manager, the bytes of a row in front of each column, and in it: (2, columns)."""
    births: tuple[Any, ...]
    """Of each statement: its managers by name and number, with where the bytes of each field are;
    and the defaults of others. None if there is more to it."""


class CommandBuffer(PlainFates):
    """Who dies and who is born in one call of a kernel."""

    @classmethod
    def of(cls, world: Any, count: int, *kinds: Any) -> Self:
        """Return one whose arrays may have been another call's."""
        kept: Self | None = vars(world.entities).get("_fates", {}).pop(kinds, None)
        indices = len(world.entities._handles)
        if kept is None or count > kept._room or indices != len(kept.is_despawned):
            more = 0 if kept is None else count // 2  # for they will grow again
            return cls(world, count + more, *kinds)
        kept._begin(world)
        kept.counts.fill(0)
        return kept

    def __init__(self, world: Any, count: int, rows: Any = (), births: Any = ()) -> None:
        super().__init__(world, count, rows, births)
        self._kinds = rows, births
        kinds = tuple(map(type, world._collecting_managers))
        given = tuple(
            tuple((type(getattr(world, name)), name, fields) for name, fields in one)
            for one in births
        )
        entities: Any = type(world.entities)
        self._plan = _plan(entities, kinds, given) if kinds and not rows else None

    def apply(self) -> None:
        """Let the dead go, and then the others come."""
        plan, tally = self._plan, self.counts.tolist()
        if any(tally) and (plan is None or not self._apply_fast(plan, tally)):
            super().apply()
            return
        if plan is not None and max(self._room, len(self.is_despawned)) <= _KEPT:
            vars(self._world.entities).setdefault("_fates", {})[self._kinds] = self
        self._world = None  # which may be kept by what this is kept by

    def _apply_fast(self, plan: _Plan, tally: list[int]) -> bool:
        """Do all at once, or return False, and nothing has changed, if there is more to it."""
        entities, managers = self._world.entities, self._world._collecting_managers
        dead, some = tally[0], [k for k, count in enumerate(tally[1:]) if count]
        is_plain = len(some) < 2 and (not some or plan.births[some[0]] is not None)
        if not is_plain or entities._callbacks.entries or entities.dispatch.depth:
            return False
        free, most = entities._free, entities._LAYOUT.INDEX_COUNT
        free.reserve(free.count + dead)
        born = tally[1 + some[0]] if some else 0
        if born:
            indices = min(entities._n_used + born, most)
            entities.reserve(indices)
            for _, home, _ in plan.births[some[0]][0]:
                _ensure_capacity(managers[home], born, indices)
        try:
            if dead:
                self._despawn_fast(plan, dead)
            are_born = not born or self._spawn_fast(plan, some[0], born)
        except BaseException:
            mark_broken(entities)
            for manager in managers:
                manager._mark_broken()
            raise
        if not are_born:
            self.counts[0] = 0
            self._apply_spawns()
        return True

    def _despawn_fast(self, plan: _Plan, count: int) -> None:
        entities, dead = self._world.entities, self.despawned[:count]
        free, was_clean = entities._free, entities._has_no_dead_rows
        handles, end = entities._handles, free._head + free.count
        freed = _free_indices(dead, self.is_despawned, plan.numbers, handles, free._ring, end)
        free.count += freed
        entities._n_retired += count - freed
        entities._despawns_at_collect += count if was_clean else 0
        for manager, columns in zip(self._world._collecting_managers, plan.columns, strict=True):
            if manager.data._n:
                home = _shard_bits(manager)
                _set_count(manager.data, _take_out(dead, plan.numbers, columns, *home))

    def _spawn_fast(self, plan: _Plan, number: int, count: int) -> bool:
        """Let them come, or return False, and nobody has, if there are no indices for all, or rows
        of the dead in the way."""
        entities, managers = self._world.entities, self._world._collecting_managers
        free, used, layout = entities._free, entities._n_used, entities._LAYOUT
        early = min(count, max(0, free.count - layout.MIN_FREE))
        fresh = min(count - early, layout.INDEX_COUNT - used)
        if count - fresh > free.count:
            return False
        born, handles = np.empty(count, np.uint64), entities._handles
        whose = free._ring, free._head, early, used, fresh
        _take_indices(born, plan.numbers, handles, *whose)
        homes, others = plan.births[number]
        for _, home, _ in homes:
            if not _are_without(born, plan.numbers, managers[home]._sparse):
                return False
        free.drop(count - fresh)
        entities._n_used += fresh
        for name, home, places in homes:
            births = self.spawn_batches[number]
            given = places, births.room, births.cells[name]
            _append(born, plan.numbers, handles, *given, *_shard_bits(managers[home]))
        for home, name, default in others:
            data = managers[home].data
            getattr(data, f"_{name}_column")[data._n : data._n + count] = default
        for _, home, _ in homes:
            _set_count(managers[home].data, managers[home].data._n + count)
        return True


@cache
def _plan(entities: Any, kinds: tuple[Any, ...], given: Any) -> _Plan | None:
    """Return how a kernel ends in a world of such managers; None if there is more to it."""
    is_known = (entities._free_handles, entities._slots) == (
        EntityManagerBase._free_handles,
        EntityManagerBase._slots,
    )
    if not is_known or not all(map(_is_plain, kinds)):
        return None
    layout = entities._LAYOUT
    ends = layout.INDEX_MASK, layout.ONE_GENERATION, layout.LAST_GENERATION
    columns = [[(c.bytes_before, c.nbytes) for c in kind.LAYOUT] for kind in kinds]
    return _Plan(
        np.array(ends, np.uint64),
        tuple(np.array(one, np.intp).T.copy() for one in columns),
        tuple(_births_of(kinds, one) for one in given),
    )


def _is_plain(kind: Any) -> bool:
    """Whether rows of a manager are nothing but their columns and an entry of the map."""
    steps = {step for steps in kind._STEPS.values() for step in steps.split()}
    _, leaving, is_more = kind._REMOVE_HOOKS
    is_by_index = "sparse" in steps and kind._CAN_ACCELERATE  # and not by visitors' slots
    return steps <= _PLAIN and is_by_index and not (leaving or is_more)


def _births_of(kinds: tuple[Any, ...], newborn: Any) -> Any:
    homes, others = [], []
    for kind, name, fields in newborn:
        columns = {column.name: column for column in kind.LAYOUT}
        is_split = not kind._CONVERTERS.keys() <= columns.keys()
        is_narrow = getattr(kind._ROWS, "_CELL_CAPACITY", False)
        if kind not in kinds or is_split or is_narrow:
            return None
        home, sizes = kinds.index(kind), [columns[field].nbytes for field in fields]
        befores = [columns[field].bytes_before for field in fields]
        places = np.array([befores, sizes, np.cumsum(sizes) - sizes], np.intp)
        homes.append((name, home, places))
        others += [(home, n, d) for n, d in defaults(kind).items() if n not in fields]
    return tuple(homes), tuple(others)


def _ensure_capacity(manager: Any, count: int, most: int) -> None:
    """Make room for so many rows of entities whose indices are below a number."""
    data = manager.data
    if data._n + count > data._allocated:
        data._grow(data._n + count)
    if len(manager._sparse) < most:
        manager._set_map(grow_map(manager._sparse, most - 1))


def _shard_bits(manager: Any) -> Any:
    """Return the rows by index, the owners by row, all columns as bytes, and how many rows there
    are."""
    data = manager.data
    return manager._sparse, data._entity_column, data._buffer, data._n


def _set_count(data: Any, n: int) -> None:
    if n != data._n:
        data._n = n
        data._version += 1
        data._drop_row_caches()


# --- loops -------------------------------------------------------------------------------

_NO_ROW: Final = np.uint32(NIL)


@jit()
def _free_indices(
    dead: EntityArray,
    gone: NDArray[np.bool_],
    numbers: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    waiting: NDArray[np.uint32],
    end: int,
) -> int:
    """Let the indices of the dead wait behind the others; return how many have a further
    generation."""
    freed = 0
    for entity in dead:
        index = entity & numbers[0]
        gone[index] = False
        if entity >= numbers[2]:
            handles[index] = index ^ np.uint64(1)
        else:
            waiting[(end + freed) & (len(waiting) - 1)] = index
            handles[index] = (entity + numbers[1]) ^ np.uint64(1)
            freed += 1
    return freed


@jit()
def _take_indices(
    born: EntityArray,
    numbers: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    waiting: NDArray[np.uint32],
    head: int,
    early: int,
    used: int,
    fresh: int,
) -> None:
    """Write who is born: so many with freed indices, then with fresh ones, then freed ones."""
    for k in range(len(born)):
        if early <= k < early + fresh:
            born[k] = numbers[1] | np.uint64(used + k - early)
        else:
            index = np.uint64(waiting[head & (len(waiting) - 1)])
            born[k] = handles[index] ^ np.uint64(1)
            head += 1


@jit()
def _are_without(
    born: EntityArray, numbers: NDArray[np.uint64], rows_of: NDArray[np.uint32]
) -> bool:
    """Return whether no index has a row, of one who is dead."""
    met = 0
    for entity in born:
        met += rows_of[entity & numbers[0]] != _NO_ROW
    return met == 0


@jit()
def _take_out(
    dead: EntityArray,
    numbers: NDArray[np.uint64],
    columns: NDArray[np.intp],
    rows_of: NDArray[np.uint32],
    owners: NDArray[np.uint64],
    cells: NDArray[np.uint8],
    n: int,
) -> int:
    """Let the dead have no row, and the last of the n rows fill the holes; return how many stay."""
    mask, size, kept = numbers[0], np.uint64(len(rows_of)), n
    gone, words = np.zeros((n >> 6) + 1, np.uint64), cells.view(np.uint64)
    for entity in dead:
        row = np.int64(rows_of[entity & mask]) if entity & mask < size else n
        if row < n and owners[row] == entity:
            gone[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
            rows_of[entity & mask] = _NO_ROW
            kept -= 1
    if kept == n:
        return int(n)
    # without branches: which rows those are nobody can guess
    holes, stays = np.empty(n - kept + 1, np.uint32), np.empty(n - kept + 1, np.uint32)
    found, met = np.int64(0), np.int64(0)
    for number in range((kept + 63) >> 6):
        word = gone[number]
        for bit in range(64 if word else 0):
            holes[found] = (number << 6) + bit
            found += np.int64(word >> np.uint64(bit) & np.uint64(1))
    while found > 0 and holes[found - 1] >= kept:
        found -= 1
    for row in range(kept, n):
        stays[met] = row
        met += np.int64(~(gone[row >> 6] >> np.uint64(row & 63)) & np.uint64(1))
    for k in range(found):
        rows_of[owners[stays[k]] & mask] = holes[k]
    for column in range(columns.shape[1]):
        start, width = columns[0, column] * len(owners), columns[1, column]
        for k in range(found):
            come, go = start + stays[k] * width, start + holes[k] * width
            if width == 8:  # others by bytes: a call would count its arrays
                words[go >> 3] = words[come >> 3]
            else:
                for byte in range(width):
                    cells[go + byte] = cells[come + byte]
    return int(kept)


@jit()
def _append(
    born: EntityArray,
    numbers: NDArray[np.uint64],
    handles: NDArray[np.uint64],
    places: NDArray[np.intp],
    room: int,
    given: NDArray[np.uint8],
    rows_of: NDArray[np.uint32],
    owners: NDArray[np.uint64],
    cells: NDArray[np.uint8],
    n: int,
) -> None:
    """Let them live, and write their rows behind the n first ones: from cells for `room` rows."""
    given_words, words = given.view(np.uint64), cells.view(np.uint64)
    for k in range(len(born)):
        handles[born[k] & numbers[0]] = owners[n + k] = born[k]
        rows_of[born[k] & numbers[0]] = n + k
    for column in range(places.shape[1]):
        size = places[1, column] * len(born)
        come = places[2, column] * room
        go = places[0, column] * len(owners) + n * places[1, column]
        if (come | go | size) & 7 == 0:
            for k in range(size >> 3):
                words[(go >> 3) + k] = given_words[(come >> 3) + k]
        else:
            for k in range(size):
                cells[go + k] = given[come + k]
