"""Births and deaths of compiled kernels: in one loop where entities and rows are plain."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..entity_manager import Entities
from ..handles import EntityArray
from ..locks import break_down
from ..policies.maps import grown_map
from ..typed import NamedTuple
from ..world.fates import Fates as PlainFates
from ..world.fates import Newborn, defaults
from .compiled_bulk import NO_ROW, is_plain, take_out, widths
from .kernel import kernel

_KEPT: Final = 4096
"""Of up to so many rows and indices the arrays are kept from call to call."""

_Tables = tuple[NDArray[np.intp], ...]


class _Births(NamedTuple):
    """What one statement brings: to which managers, and where the bytes of each field are."""

    homes: tuple[int, ...] = (0,)
    places: _Tables = (np.empty((3, 0), np.intp),)
    cells: tuple[str, ...] = ()
    others: tuple[tuple[int, str, Any], ...] = ()
    """Columns that are not given, and their defaults."""


class _Plan(NamedTuple):
    """How a kernel ends whose entities and rows are plain."""

    numbers: NDArray[np.uint64]
    """What loops know of handles."""
    widths: tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]
    births: tuple[_Births | None, ...]


_NOBODY: Final = _Births()
_NO_CELLS: Final[tuple[NDArray[np.uint8], ...]] = (np.empty(0, np.uint8),)


class Fates(PlainFates):
    """Who dies and who is born in one call of a kernel."""

    @classmethod
    def of(
        cls,
        world: Any,
        count: int,
        rows: tuple[str, ...] = (),
        births: tuple[Newborn, ...] = (),
    ) -> Fates:
        """Return one whose arrays may have been another call's."""
        kept: Fates | None
        kept = vars(world.entities).get("_fates", {}).pop((rows, births), None)
        if kept is None or not kept._has_room(world, count):
            return cls(world, count, rows, births)
        kept._begin(world)
        kept.tally.fill(0)
        return kept

    def __init__(
        self,
        world: Any,
        count: int,
        rows: Sequence[str] = (),
        births: Sequence[Newborn] = (),
    ) -> None:
        super().__init__(world, count, rows, births)
        self._key = rows, births
        kinds = tuple(map(type, world._collecting))
        given = tuple(
            tuple((type(getattr(world, name)), name, fields) for name, fields in one)
            for one in births
        )
        entities: Any = type(world.entities)
        self._plan = _plan(entities, kinds, given) if kinds and not rows else None
        self._left = np.zeros(3 + len(kinds), np.int64)
        """What the loop leaves: how many indices were freed, how many new ones taken, how many are
        born, and the rows of each manager."""

    def _has_room(self, world: Any, count: int) -> bool:
        return len(world.entities._handles) == len(self.gone) and count <= self._room

    def end(self) -> None:
        """Let the dead go, and then the others come."""
        tally = self.tally.tolist()
        if any(tally) and (
            self._plan is None or not self._end_plainly(self._plan, tally)
        ):
            super().end()
            return
        if self._plan is not None and max(self._room, len(self.gone)) <= _KEPT:
            vars(self._world.entities).setdefault("_fates", {})[self._key] = self
        self._world = None  # for it may be kept by what it is kept by itself

    def _end_plainly(self, plan: _Plan, tally: list[int]) -> bool:
        """Do all at once, or return False, and nothing has changed, if there is more to it."""
        world, n_dead = self._world, tally[0]
        entities, managers = world.entities, world._collecting
        some = [number for number, count in enumerate(tally[1:]) if count]
        born, n_born, cells = _NOBODY, 0, _NO_CELLS
        if some:
            births, given = self.births[some[0]], plan.births[some[0]]
            if given is None or len(some) > 1:
                return False
            born, n_born = given, tally[1 + some[0]]
            cells = tuple([births.cells[name] for name in born.cells])
        if entities._callbacks.entries or entities.dispatch.depth:
            return False
        free, used, layout = entities._free, entities._n_used, entities._LAYOUT
        free.reserve(free.count + n_dead)
        if n_born:
            most = min(used + n_born, layout.INDEX_COUNT)
            entities.reserve(most)
            for home in born.homes:
                _make_room(managers[home], n_born, most)
        was_clean = entities._is_clean
        try:
            _end_all(
                self.dead[:n_dead],
                self.gone,
                plan.numbers,
                entities._handles,
                free._ring,
                free._head,
                free.count,
                used,
                layout.MIN_FREE,
                layout.INDEX_COUNT,
                tuple([one._sparse for one in managers]),
                tuple([one.data._entity_column for one in managers]),
                tuple([one.data._buffer for one in managers]),
                tuple([one.data._n for one in managers]),
                plan.widths,
                n_born,
                born.homes,
                born.places,
                cells,
                self._room,
                self._left,
            )
            freed, fresh, n_new, *kept = self._left.tolist()
            entities._n_retired += n_dead - freed
            free.count += freed
            free.drop(n_new - fresh)
            entities._n_used += fresh
            if was_clean:
                entities._clean += n_dead
            for manager, n in zip(managers, kept, strict=True):
                _set_count(manager.data, n)
            if n_new:
                for home in born.homes:
                    data = managers[home].data
                    for index, name, default in born.others:
                        if index == home:
                            column = getattr(data, f"_{name}_column")
                            column[data._n : data._n + n_new] = default
                    _set_count(data, data._n + n_new)
        except BaseException:
            break_down(entities)
            for manager in managers:
                manager._break()
            raise
        if n_new < n_born:
            self.tally[0] = 0
            self._bear()
        return True


@cache
def _plan(entities: Any, kinds: tuple[Any, ...], given: Any) -> _Plan | None:
    """Return how a kernel ends in a world of such managers; None if there is more to it."""
    is_known = (entities._kill, entities._slots) == (Entities._kill, Entities._slots)
    if not is_known or not all(map(is_plain, kinds)):
        return None
    layout = entities._LAYOUT
    ends = layout.INDEX_MASK, layout.ONE_GENERATION, layout.LAST_GENERATION
    births = tuple(_births_of(kinds, one) for one in given)
    return _Plan(np.array(ends, np.uint64), tuple(map(widths, kinds)), births)


def _births_of(kinds: tuple[Any, ...], newborn: Any) -> _Births | None:
    homes: list[int] = []
    places: list[NDArray[np.intp]] = []
    others: list[tuple[int, str, Any]] = []
    for kind, _, fields in newborn:
        columns = {column.name: column for column in kind.LAYOUT}
        if (
            kind not in kinds
            or not kind._CONVERTERS.keys() <= columns.keys()
            or getattr(kind._ROWS, "_CELL_CAPACITY", False)
        ):
            return None
        home, sizes = kinds.index(kind), [columns[name].nbytes for name in fields]
        befores = [columns[name].before for name in fields]
        homes.append(home)
        places.append(np.array([befores, sizes, np.cumsum(sizes) - sizes], np.intp))
        others += [(home, n, d) for n, d in defaults(kind).items() if n not in fields]
    names = tuple(name for _, name, _ in newborn)
    return _Births(tuple(homes), tuple(places), names, tuple(others))


def _make_room(manager: Any, count: int, most: int) -> None:
    """Make room for so many rows of entities whose indices are below a number."""
    data = manager.data
    if data._n + count > data._allocated:
        data._grow(data._n + count)
    if len(manager._sparse) < most:
        manager._set_map(grown_map(manager._sparse, most - 1))


def _set_count(data: Any, n: int) -> None:
    if n != data._n:
        data._n = n
        data._version += 1
        data._forget_rows()


@kernel()
def _end_all(
    dead: EntityArray,
    gone: NDArray[np.bool_],
    numbers: NDArray[np.uint64],
    handles: EntityArray,
    ring: NDArray[np.uint32],
    head: int,
    n_free: int,
    used: int,
    min_free: int,
    most: int,
    rows_of: tuple[NDArray[np.uint32], ...],
    owners: tuple[EntityArray, ...],
    buffers: tuple[NDArray[np.uint8], ...],
    counts: tuple[int, ...],
    widths: tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...],
    n_born: int,
    homes: tuple[int, ...],
    places: _Tables,
    cells: tuple[NDArray[np.uint8], ...],
    room: int,
    left: NDArray[np.int64],
) -> None:
    """Let the dead go, then the others come, whose values lie in `cells`, each for `room` rows."""
    mask = numbers[0]
    freed = _free(dead, gone, numbers, handles, ring, head + n_free)
    n_free += freed
    for k in range(len(counts)):
        befores, sizes = widths[k]
        left[3 + k] = take_out(
            dead, rows_of[k], owners[k], mask, counts[k], buffers[k], befores, sizes
        )
    early = min(n_born, max(0, n_free - min_free))
    fresh = min(n_born - early, most - used)
    left[0], left[1], left[2] = freed, 0, 0
    if n_born == 0 or n_born - fresh > n_free:
        return
    born = np.empty(n_born, np.uint64)
    for k in range(n_born):
        if early <= k < early + fresh:
            born[k] = numbers[1] | np.uint64(used + k - early)
        else:
            index = np.uint64(ring[head & (len(ring) - 1)])
            born[k] = handles[index] ^ np.uint64(1)
            head += 1
        for p in range(len(homes)):
            if rows_of[homes[p]][born[k] & mask] != NO_ROW:  # of one who is dead
                return
    left[1], left[2] = fresh, n_born
    for k in range(n_born):
        handles[born[k] & mask] = born[k]
    for p in range(len(homes)):
        home = homes[p]
        _append(
            born,
            rows_of[home],
            owners[home],
            mask,
            left[3 + home],
            buffers[home],
            places[p],
            cells[p],
            room,
        )


@kernel()
def _free(
    dead: EntityArray,
    gone: NDArray[np.bool_],
    numbers: NDArray[np.uint64],
    handles: EntityArray,
    ring: NDArray[np.uint32],
    end: int,
) -> int:
    """Let entities be dead, and their indices wait at the end of a ring; return how many do."""
    freed = 0
    for entity in dead:
        index = entity & numbers[0]
        gone[index] = False
        if entity >= numbers[2]:
            handles[index] = index ^ np.uint64(1)
        else:
            ring[(end + freed) & (len(ring) - 1)] = index
            handles[index] = (entity + numbers[1]) ^ np.uint64(1)
            freed += 1
    return freed


@kernel()
def _append(
    born: EntityArray,
    rows_of: NDArray[np.uint32],
    owners: EntityArray,
    mask: np.uint64,
    n: int,
    buffer: NDArray[np.uint8],
    places: NDArray[np.intp],
    cells: NDArray[np.uint8],
    room: int,
) -> None:
    """Write the rows of entities behind the n first ones."""
    for k in range(len(born)):
        owners[n + k] = born[k]
        rows_of[born[k] & mask] = n + k
    for column in range(places.shape[1]):
        width = places[1, column]
        source = places[2, column] * room
        target = places[0, column] * len(owners) + n * width
        for k in range(width * len(born)):
            buffer[target + k] = cells[source + k]
