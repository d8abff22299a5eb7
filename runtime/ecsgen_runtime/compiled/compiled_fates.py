"""Births and deaths of compiled kernels: in one loop where entities and rows are plain."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..entity_manager import Entities
from ..handles import NIL, EntityArray
from ..locks import break_down
from ..policies.maps import grown_map
from ..typed import NamedTuple
from ..world.fates import Fates as PlainFates
from ..world.fates import defaults
from .kernel import kernel

_KEPT: Final = 16_384
"""Of up to so many rows and indices the arrays are kept from call to call."""

_PLAIN: Final = {"packed", "sparse", "one", "standing"}
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


class Fates(PlainFates):
    """Who dies and who is born in one call of a kernel."""

    @classmethod
    def of(cls, world: Any, count: int, *kinds: Any) -> Fates:
        """Return one whose arrays may have been another call's."""
        kept: Fates | None = vars(world.entities).get("_fates", {}).pop(kinds, None)
        indices = len(world.entities._handles)
        if kept is None or count > kept._room or indices != len(kept.gone):
            return cls(world, count, *kinds)
        kept._begin(world)
        kept.tally.fill(0)
        return kept

    def __init__(
        self, world: Any, count: int, rows: Any = (), births: Any = ()
    ) -> None:
        super().__init__(world, count, rows, births)
        self._kinds = rows, births
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

    def end(self) -> None:
        """Let the dead go, and then the others come."""
        plan, tally = self._plan, self.tally.tolist()
        if any(tally) and (plan is None or not self._end_plainly(plan, tally)):
            super().end()
            return
        if plan is not None and max(self._room, len(self.gone)) <= _KEPT:
            vars(self._world.entities).setdefault("_fates", {})[self._kinds] = self
        self._world = None  # which may be kept by what this is kept by

    def _end_plainly(self, plan: _Plan, tally: list[int]) -> bool:
        """Do all at once, or return False, and nothing has changed, if there is more to it."""
        entities, managers = self._world.entities, self._world._collecting
        dead, some = tally[0], [k for k, count in enumerate(tally[1:]) if count]
        is_plain = len(some) < 2 and (not some or plan.births[some[0]] is not None)
        if not is_plain or entities._callbacks.entries or entities.dispatch.depth:
            return False
        free, used, most = (
            entities._free,
            entities._n_used,
            entities._LAYOUT.INDEX_COUNT,
        )
        free.reserve(free.count + dead)
        others: tuple[tuple[int, str, Any], ...] = ()
        born, parts = 0, _NOBODY
        if some:
            born, cells = tally[1 + some[0]], self.births[some[0]].cells
            homes, others = plan.births[some[0]]
            entities.reserve(min(used + born, most))
            for _, home, _ in homes:
                _make_room(managers[home], born, min(used + born, most))
            parts = tuple([(home, places, cells[name]) for name, home, places in homes])
        data = [one.data for one in managers]
        rows = [
            (one._sparse, own._entity_column, own._buffer, own._n, columns)
            for one, own, columns in zip(managers, data, plan.columns, strict=True)
        ]
        indices = free._head, free.count, used, entities._LAYOUT.MIN_FREE, most
        handles, was_clean = (entities._handles, free._ring), entities._is_clean
        notes = self.dead[:dead], self.gone, self._left
        try:
            _end_all(
                *notes,
                plan.numbers,
                handles,
                indices,
                tuple(rows),
                born,
                parts,
                self._room,
            )
            freed, fresh, new, *kept = self._left.tolist()
            entities._n_retired += dead - freed
            free.count += freed
            free.drop(new - fresh)
            entities._n_used += fresh
            entities._clean += dead if was_clean else 0
            for own, n in zip(data, kept, strict=True):
                _set_count(own, n)
            for home, name, default in others if new else ():
                n = data[home]._n
                getattr(data[home], f"_{name}_column")[n : n + new] = default
            for home, *_ in parts if new else ():
                _set_count(data[home], data[home]._n + new)
        except BaseException:
            break_down(entities)
            for manager in managers:
                manager._break()
            raise
        if new < born:
            self.tally[0] = 0
            self._bear()
        return True


_NOBODY: Final[Any] = ((0, np.empty((3, 0), np.intp), np.empty(0, np.uint8)),)


@cache
def _plan(entities: Any, kinds: tuple[Any, ...], given: Any) -> _Plan | None:
    """Return how a kernel ends in a world of such managers; None if there is more to it."""
    is_known = (entities._kill, entities._slots) == (Entities._kill, Entities._slots)
    if not is_known or not all(map(_is_plain, kinds)):
        return None
    layout = entities._LAYOUT
    ends = layout.INDEX_MASK, layout.ONE_GENERATION, layout.LAST_GENERATION
    columns = [[(c.before, c.nbytes) for c in kind.LAYOUT] for kind in kinds]
    return _Plan(
        np.array(ends, np.uint64),
        tuple(np.array(one, np.intp).T.copy() for one in columns),
        tuple(_births_of(kinds, one) for one in given),
    )


def _is_plain(kind: Any) -> bool:
    """Whether rows of a manager are nothing but their columns and an entry of the map."""
    steps = {step for steps in kind._STEPS.values() for step in steps.split()}
    _, leaving, is_more = kind._REMOVAL
    is_by_index = "sparse" in steps and kind._MAY_BE_IN_C  # and not by visitors' slots
    return steps <= _PLAIN and is_by_index and not (leaving or is_more)


def _births_of(kinds: tuple[Any, ...], newborn: Any) -> Any:
    homes, others = [], []
    for kind, name, fields in newborn:
        columns = {column.name: column for column in kind.LAYOUT}
        is_split = not kind._CONVERTERS.keys() <= columns.keys()
        if (
            kind not in kinds
            or is_split
            or getattr(kind._ROWS, "_CELL_CAPACITY", False)
        ):
            return None
        home, sizes = kinds.index(kind), [columns[field].nbytes for field in fields]
        befores = [columns[field].before for field in fields]
        places = np.array([befores, sizes, np.cumsum(sizes) - sizes], np.intp)
        homes.append((name, home, places))
        others += [(home, n, d) for n, d in defaults(kind).items() if n not in fields]
    return tuple(homes), tuple(others)


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


# --- loops -------------------------------------------------------------------------------

_NO_ROW: Final = np.uint32(NIL)


@kernel()
def _end_all(
    dead: EntityArray,
    gone: NDArray[np.bool_],
    left: NDArray[np.int64],
    numbers: NDArray[np.uint64],
    entities: Any,
    indices: Any,
    managers: Any,
    n_born: int,
    parts: Any,
    room: int,
) -> None:
    """Let the dead go, then the others come, whose values lie in cells, each for `room` rows."""
    (handles, waiting), (head, n_free, used, min_free, most) = entities, indices
    mask, freed = numbers[0], 0
    for entity in dead:
        index = entity & mask
        gone[index] = False
        if entity >= numbers[2]:  # it has no further generation
            handles[index] = index ^ np.uint64(1)
        else:
            waiting[(head + n_free + freed) & (len(waiting) - 1)] = index
            handles[index] = (entity + numbers[1]) ^ np.uint64(1)
            freed += 1
    for k in range(len(managers)):
        left[3 + k] = _take_out(dead, mask, managers[k])
    n_free += freed
    early = min(
        n_born, max(0, n_free - min_free)
    )  # so many of freed indices, then fresh ones
    fresh = min(n_born - early, most - used)
    left[0], left[1], left[2] = freed, 0, 0
    if n_born == 0 or n_born - fresh > n_free:
        return
    born = np.empty(n_born, np.uint64)
    for k in range(n_born):
        if early <= k < early + fresh:
            born[k] = numbers[1] | np.uint64(used + k - early)
        else:
            born[k] = handles[
                np.uint64(waiting[head & (len(waiting) - 1)])
            ] ^ np.uint64(1)
            head += 1
        for p in range(len(parts)):
            if (
                managers[parts[p][0]][0][born[k] & mask] != _NO_ROW
            ):  # of one who is dead
                return
    left[1], left[2] = fresh, n_born
    for entity in born:
        handles[entity & mask] = entity
    for p in range(len(parts)):
        home = parts[p][0]
        _append(born, mask, left[3 + home], managers[home], parts[p], room)


@kernel()
def _take_out(dead: EntityArray, mask: np.uint64, manager: Any) -> int:
    """Let the dead have no row, and the last of the n rows fill the holes; return how many stay."""
    rows_of, owners, buffer, n, columns = manager
    cells = buffer, buffer.view(np.uint64)
    size, kept = np.uint64(len(rows_of)), n
    gone = np.zeros((n >> 6) + 1, np.uint64)
    for entity in dead:
        row = np.int64(rows_of[entity & mask]) if entity & mask < size else n
        if row < n and owners[row] == entity:
            gone[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
            rows_of[entity & mask] = _NO_ROW
            kept -= 1
    source = kept
    for number in range((kept >> 6) + 1 if kept < n else 0):
        word = gone[number]
        for hole in range(number << 6, min((number + 1) << 6, kept) if word else 0):
            if not word >> np.uint64(hole & 63) & np.uint64(1):
                continue
            while gone[source >> 6] >> np.uint64(source & 63) & np.uint64(1):
                source += 1
            rows_of[owners[source] & mask] = hole
            for column in range(columns.shape[1]):
                start, width = columns[0, column] * len(owners), columns[1, column]
                _copy(cells, start + source * width, cells, start + hole * width, width)
            source += 1
    return int(kept)


@kernel()
def _append(
    born: EntityArray, mask: np.uint64, n: int, manager: Any, part: Any, room: int
) -> None:
    """Write the rows of entities behind the n first ones."""
    rows_of, owners, buffer, _, _ = manager
    _, places, cells = part
    given, to = (cells, cells.view(np.uint64)), (buffer, buffer.view(np.uint64))
    for k in range(len(born)):
        owners[n + k] = born[k]
        rows_of[born[k] & mask] = n + k
    for column in range(places.shape[1]):
        width = places[1, column]
        source = places[2, column] * room
        target = places[0, column] * len(owners) + n * width
        _copy(given, source, to, target, width * len(born))


@kernel(forceinline=True)
def _copy(given: Any, source: Any, to: Any, target: Any, count: Any) -> None:
    """Copy bytes, eight at a time where they lie so; both are given as bytes and as words."""
    if (source | target | count) & 7 == 0:
        for k in range(count >> 3):
            to[1][(target >> 3) + k] = given[1][(source >> 3) + k]
    else:
        for k in range(count):
            to[0][target + k] = given[0][source + k]
