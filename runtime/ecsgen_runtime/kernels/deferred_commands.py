"""Births and deaths in kernels of the world: who they are is noted while rows run, and done after
the last one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import starmap
from math import prod
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base.callbacks import flatten_exceptions
from ..base.errors import BrokenManagerError, EcsError
from ..base.handles import NIL, Columns, EntityArray, IdArray, RowArray
from ..base.locks import is_broken, mark_broken, mark_broken_if_changed
from ..entities.entity_pool import remove_rows_with_fallback
from ..values.array_coercion import drop_duplicates

SpawnSpec = tuple[tuple[str, tuple[str, ...]], ...]
"""The managers that give rows to who is born, by name, and the fields of each that are given."""


_Removal = tuple[Any, Callable[[], object]]
"""A manager, and what removes rows from it: again does no harm."""

_Mask: TypeAlias = NDArray[np.bool_] | np.bool_
_Note: TypeAlias = tuple[NDArray[Any], ...]

_Places = slice | RowArray
_Share = tuple[_Places, _Places]
"""Which of those who are born a statement gives, and where it has noted them."""


class SpawnBatch:
    """What one statement of a kernel brings into the world."""

    def __init__(self, world: Any, newborn: SpawnSpec, room: int) -> None:
        self.newborn = newborn
        self.room = room = -(-room // 8) * 8  # columns begin where their cells may
        self.at = np.empty(room, np.int64)
        """Whose turn it was, by number."""
        self.columns: dict[tuple[str, str], NDArray[Any]] = {}
        self.cells: dict[str, NDArray[np.uint8]] = {}
        """What these columns lie in, by manager."""
        for name, fields in newborn:
            converters = getattr(world, name)._CONVERTERS
            kinds = [converters[field][0] for field in fields]
            sizes = [room * k.dtype.itemsize * prod(k.shape) for k in kinds]
            cells, before = np.empty(sum(sizes), np.uint8), 0
            self.cells[name] = cells
            for field, kind, size in zip(fields, kinds, sizes, strict=True):
                column = np.ndarray((room, *kind.shape), kind.dtype, cells, before)
                self.columns[name, field] = column
                before += size

    def flat(self, manager: str, field: str) -> NDArray[Any]:
        """Return the values of a field, as loops write them."""
        return self.columns[manager, field].reshape(-1)


class DeferredCommands:
    """Who dies and who is born in one call of a kernel, and how it is done at its end."""

    despawned: EntityArray
    """In the order in which they died."""
    dead_rows: Mapping[str, RowArray]
    """The same of single rows, by manager."""
    spawn_batches: Sequence[SpawnBatch]
    counts: NDArray[np.int64]
    """How many died, of each kind, and were born, by each statement."""

    def _begin(self, world: Any) -> None:
        """Begin a call; raises StructureLockedError, BrokenManagerError: a manager is that."""
        for manager in world._all_managers():
            if manager._locks:
                manager._raise_if_locked()
        self._world = world
        self._have_no_rows = False
        """Whether the dead, who die when all their rows have gone, have none."""

    def apply(self) -> None:
        """Let the dead go, and then the others come."""
        failed = None
        if self.counts.any():
            try:
                self._apply_despawns()
            except BaseExceptionGroup as group:
                failed = group  # of callbacks: all the others did their part
            try:
                self._apply_spawns()
            except BrokenManagerError as error:
                if failed is None:
                    raise
                raise failed from error
        if failed is not None:
            raise failed

    # --- deaths --------------------------------------------------------------------------

    def _apply_despawns(self) -> None:
        """Let all dead go with their rows, or nobody; rows that cannot go are of what is broken."""
        world, tally = self._world, self.counts.tolist()
        dead, removals = self.despawned[: tally[0]], list[_Removal]()
        for manager in world._collecting_managers if tally[0] else ():
            if manager.data._n:
                given = manager, manager.remove_many, dead
                removals.append((manager, partial(remove_rows_with_fallback, *given)))
        for (name, rows), count in zip(self.dead_rows.items(), tally[1:], strict=False):
            if count:
                manager = getattr(world, name)
                ids = manager.id_of_many(rows[:count])
                removals.append((manager, partial(_remove_ids, manager, ids)))
        entities = world.entities
        try:
            entities.dispatch.run(self._bury_all, dead, removals)
        finally:
            may_live = self._have_no_rows and not is_broken(entities)
            if may_live and entities.alive(dead[0]) and not entities.dispatch.is_open():
                mark_broken(entities)  # there was no memory to let them die

    def _bury_all(self, dead: EntityArray, removals: list[_Removal]) -> None:
        """Queue entities to be destroyed, and remove rows: all, once one of these is done."""
        dispatch, removal = self._world.entities.dispatch, None
        queued = len(dispatch.queue)
        try:
            self._world.entities._destroy_distinct(dead)
            self._have_no_rows = len(dead) > 0
            for removal in removals:
                _remove(*removal)
        except BaseException as error:
            if removal is None and len(dispatch.queue) == queued:
                raise
            dispatch.errors.extend(flatten_exceptions(error))
            for removal in removals:  # again does no harm
                try:
                    _remove(*removal)
                except BaseException as another:
                    dispatch.errors.extend(flatten_exceptions(another))

    # --- births --------------------------------------------------------------------------

    def _apply_spawns(self) -> None:
        """Create all who are born, in the order of their turns, or nobody."""
        counts = self.counts[len(self.counts) - len(self.spawn_batches) :].tolist()
        some = [number for number, count in enumerate(counts) if count]
        if len(some) == 1 and not self._is_narrow(self.spawn_batches[some[0]]):
            number, count = some[0], counts[some[0]]
            self._create([(count, {number: (slice(0, count), slice(0, count))})])
        elif some:
            self._apply_spawns_in_turn_order(counts)

    def _apply_spawns_in_turn_order(self, counts: list[int]) -> None:
        who = np.arange(len(counts)).repeat(counts)
        place = np.concatenate([np.arange(k) for k in counts])
        at = [one.at[:k] for one, k in zip(self.spawn_batches, counts, strict=True)]
        order = np.lexsort((who, np.concatenate(at)))
        who, place = who[order], place[order]
        taken = self._over_cell_capacity(who, place)
        who, place = who[~taken], place[~taken]
        owned, groups = (np.array([self._is_owned(one) for one in self.spawn_batches])[who], [])
        for those in (owned, ~owned):
            who_of, place_of = who[those], place[those]
            each = {n: (who_of == n).nonzero()[0] for n in np.unique(who_of).tolist()}
            shares = {n: (k, place_of[k]) for n, k in each.items()}
            groups += [(len(who_of), shares)] if shares else []
        self._create(groups)

    def _is_owned(self, births: SpawnBatch) -> bool:
        """Whether entities are born, and not a row that is nobody's."""
        return all(hasattr(getattr(self._world, n), "_entities") for n, _ in births.newborn)

    def _is_narrow(self, births: SpawnBatch) -> bool:
        """Whether somebody comes to a cell on which not any number may stand."""
        return any(
            getattr(getattr(self._world, n).data, "_CELL_CAPACITY", 0) for n, _ in births.newborn
        )

    def _over_cell_capacity(self, who: RowArray, place: RowArray) -> NDArray[np.bool_]:
        """Return who find no room on their cells any more."""
        refused = np.zeros(len(who), np.bool_)
        for name in dict.fromkeys(n for one in self.spawn_batches for n, _ in one.newborn):
            manager = getattr(self._world, name)
            if not getattr(manager.data, "_CELL_CAPACITY", 0):
                continue
            more: dict[int, int] = {}
            for k, (number, row) in enumerate(zip(who.tolist(), place.tolist(), strict=True)):
                column = self.spawn_batches[number].columns.get((name, manager.data._CELL_FIELD))
                if column is None:
                    continue
                id = int(column[row])
                more[id] = more.get(id, 0) + 1
                if not manager._has_room_on(manager._cell_of_id(id), more[id]):
                    refused[k] = True
                    more[id] -= 1
        return refused

    def _create(self, groups: Sequence[tuple[int, Mapping[int, _Share]]]) -> None:
        """Create so many entities, and so many rows that are nobody's, by what each statement gives
        them, or nobody."""
        world, parts = self._world, []
        made, nobodys = list[EntityArray](), list[tuple[Any, int, list[Any]]]()
        try:
            for count, each in groups:
                owners = np.zeros(count, np.uint64)
                if self._is_owned(self.spawn_batches[next(iter(each))]):
                    # made and kept at once: behind a call of ours an interrupt may come
                    made.extend(map(world.entities.create_many, (count,)))
                    owners = made[-1]
                for name, those, columns in self._newborn(count, each):
                    parts.append((getattr(world, name), owners[those], columns))
            for manager, *given in parts:  # what one refuses all refuse
                manager._ensure_capacity(*given, ())
            for manager, *given in parts:
                ids = list[Any]()
                if not hasattr(manager, "_entities"):
                    nobodys.append((manager, manager.data._version, ids))
                ids.extend(starmap(manager._create_checked, ((*given, ()),)))
        except BaseException as error:
            for manager, version, ids in nobodys:
                if ids:
                    _remove(manager, partial(_remove_ids, manager, ids[0]))
                elif not isinstance(error, EcsError):
                    mark_broken_if_changed(manager, version)
            for entities in made:
                world._rollback_spawn(entities)
            raise

    def _newborn(
        self, count: int, each: Mapping[int, _Share]
    ) -> Iterator[tuple[str, _Places, Columns]]:
        """Give each manager that gets rows, who of them has one, and their values."""
        found: dict[str, dict[int, _Share]] = {}
        for number, share in each.items():
            for name, _ in self.spawn_batches[number].newborn:
                found.setdefault(name, {})[number] = share
        for name, shares in found.items():
            if len(shares) == len(each):
                yield name, slice(None), self._columns(name, count, shares)
                continue
            those = np.sort(np.concatenate([np.arange(count)[k] for k, _ in shares.values()]))
            shares = {
                n: (those.searchsorted(np.arange(count)[k]), place)
                for n, (k, place) in shares.items()
            }
            yield name, those, self._columns(name, len(those), shares)

    def _columns(self, name: str, count: int, shares: Mapping[int, _Share]) -> Columns:
        """Return the values of all who get rows of a manager, by field; of fields that only some
        are given the others have the default."""
        kind: Any = type(getattr(self._world, name))
        columns = dict(defaults(kind))
        for number, (mine, place) in shares.items():
            for (of, field), values in self.spawn_batches[number].columns.items():
                if of != name:
                    continue
                if len(shares) == 1:
                    columns[field] = values[place]
                    continue
                if not columns[field].flags.writeable:  # the default, as yet
                    columns[field] = columns[field].repeat(count, 0)
                columns[field][mine] = values[place]
        return columns


class CommandBuffer(DeferredCommands):
    """Those of a loop: arrays with room for all."""

    @classmethod
    def of(cls, world: Any, count: int, *kinds: Any) -> Self:
        """Return one; compiled ones may have another call's arrays."""
        return cls(world, count, *kinds)

    def __init__(
        self, world: Any, count: int, rows: Sequence[str], births: Sequence[SpawnSpec]
    ) -> None:
        """`count`: how many rows run. `rows`: the managers of which single rows may
        die. Raises what `_begin` does."""
        self._begin(world)
        self.is_despawned = np.zeros(len(world.entities._handles), np.bool_)
        """Which entities have died, by slot."""
        self.despawned = np.empty(len(self.is_despawned), np.uint64)
        self.gone_rows = {n: np.zeros(getattr(world, n).data._n, np.bool_) for n in rows}
        self.dead_rows = {n: np.empty(len(g), np.int64) for n, g in self.gone_rows.items()}
        self._room = count
        self.spawn_batches = [SpawnBatch(world, newborn, count) for newborn in births]
        self.counts = np.zeros(1 + len(rows) + len(births), np.int64)


class BlockCommandBuffer(DeferredCommands):
    """Those of blocks of rows, one after the other: nothing is made until somebody dies or is
    born."""

    def __init__(self, world: Any, rows: Sequence[str], births: Sequence[SpawnSpec]) -> None:
        """`rows`: the managers of which single rows may die. Raises what `_begin` does."""
        self._begin(world)
        self._rows, self._statements = rows, births
        self._first = self._next = 0
        """The numbers of the block's first row, and of the one behind its last."""
        self._spared: list[tuple[NDArray[Any], ...]] = []
        """Columns of the block, whose cells are those of the dead, and these."""
        self._deaths: dict[int, list[_Note]] = {}
        """Of entities: 0, or of rows of the manager of a number: whose turns, and who."""
        self._born: dict[int, list[_Note]] = {}
        """Of each statement: whose turns, and all values, rows last."""

    def begin(self, bearers: NDArray[Any], is_clean: bool = True, *columns: NDArray[Any]) -> _Mask:
        """Begin a block, and return which of its rows live; `is_clean`: all do, and else those
        whose entities do, and others are to have the cells that they have now."""
        self._first, self._next = self._next, self._next + len(bearers)
        if is_clean:
            return np.True_
        living: NDArray[np.bool_] = self._world.entities.alive_many(bearers)
        dead = ~living
        self._spared = [(c, dead, c[..., dead]) for c in columns if dead.any()]
        return living

    def restore_dead_cells(self) -> None:
        """Put back cells of the dead, after the block's last step."""
        for column, dead, cells in self._spared:
            column[..., dead] = cells
        self._spared = []  # views of columns, which may grow now

    def die(self, kind: int, running: _Mask, test: _Mask, who: NDArray[Any] | None) -> None:
        """Let those die whose rows run and pass a test: entities, or rows of the manager of that
        number; None: the block's own rows. O(rows)."""
        if _is_any(test):
            at, turns = self._passing(running, test)
            gone = turns if who is None else self._at(who, at)
            self._deaths.setdefault(kind, []).append((turns, gone))

    def bear(self, number: int, running: _Mask, test: _Mask, *values: Any) -> None:
        """Let a statement bear somebody for each row that runs and passes a test, with values of
        the block's rows, rows last, or the same for all. O(rows)."""
        if _is_any(test):
            at, turns = self._passing(running, test)
            notes = self._born.setdefault(number, [])
            notes.append((turns, *(self._at(given, at) for given in values)))

    def _passing(self, running: _Mask, test: _Mask) -> tuple[RowArray, RowArray]:
        """Return the places of such rows in the block, and their numbers."""
        passing = np.broadcast_to(running & test, self._next - self._first)
        at = passing.nonzero()[0]
        return at, at + self._first

    def _at(self, values: Any, at: RowArray) -> NDArray[Any]:
        shape = (*np.shape(values)[:-1], self._next - self._first)
        return np.broadcast_to(values, shape)[..., at]

    def apply(self) -> None:
        """Let the dead go in the order of rows and steps, each once, and then the others come."""
        if self._deaths or self._born:
            self.despawned, *rows = map(self._gone, range(1 + len(self._rows)))
            self.dead_rows = dict(zip(self._rows, rows, strict=True))
            self.spawn_batches = [*map(self._births, range(len(self._statements)))]
            born = map(self._count, range(len(self.spawn_batches)))
            self.counts = np.array([len(self.despawned), *map(len, rows), *born])
            super().apply()

    def _gone(self, kind: int) -> NDArray[Any]:
        if kind not in self._deaths:
            return np.empty(0, np.uint64)
        turns, gone = map(np.concatenate, zip(*self._deaths[kind], strict=True))
        return drop_duplicates(gone[turns.argsort(kind="stable")])

    def _count(self, number: int) -> int:
        return sum(len(turns) for turns, *_ in self._born.get(number, ()))

    def _births(self, number: int) -> SpawnBatch:
        count = self._count(number)
        births = SpawnBatch(self._world, self._statements[number], count)
        if count:
            columns = births.at, *births.columns.values()
            notes = zip(*self._born[number], strict=True)
            for column, parts in zip(columns, notes, strict=True):
                rows_last = column[:count].transpose(*range(1, column.ndim), 0)
                rows_last[...] = np.concatenate(parts, -1)
        return births


def _is_any(mask: Any) -> bool:
    """Return whether a mask is true anywhere; it has a row, or is for all."""
    return bool(mask.item(mask.argmax()))  # a third of the time of `any`


def _remove(manager: Any, remove: Callable[[], object]) -> None:
    """Remove rows from a manager, if it is not broken."""
    if not is_broken(manager):
        remove()


def _remove_ids(manager: Any, ids: IdArray) -> None:
    """Remove the rows that ids have, if any; without memory one by one."""
    try:
        rows = manager.resolve_many(ids)
        manager.destroy_many(np.sort(rows[rows != NIL]))
    except BaseException as error:
        if is_broken(manager):
            raise
        try:
            for id in ids.data:
                if manager.resolve(id) != NIL:
                    manager._destroy_row(manager.resolve(id))
        except BaseException:
            manager._mark_broken()
            raise
        if not isinstance(error, MemoryError):
            raise


@cache
def defaults(kind: Any) -> Columns:
    """Return the default of each field of a manager, shape (1, *shape)."""
    return {
        name: np.broadcast_to(field.to_column(default, 1), (1, *field.shape))
        for name, (field, default) in kind._CONVERTERS.items()
    }
