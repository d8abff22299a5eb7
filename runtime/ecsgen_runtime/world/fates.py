"""Births and deaths in kernels of the world: who they are is noted while rows run, and done after
the last one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import starmap
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..callbacks import flattened
from ..errors import EcsError
from ..handles import NIL, Columns, EntityArray, IdArray, RowArray
from ..living import remove_if_need_be_singly
from ..locks import break_down, break_since, is_broken

Newborn = tuple[tuple[str, tuple[str, ...]], ...]
"""The managers that give rows to who is born, by name, and the fields of each that are given."""


_Removal = tuple[Any, Callable[[Any, Any], object], NDArray[Any]]
"""A manager, what removes rows from it, and of whom or which: again does no harm."""

_Places = slice | RowArray
_Share = tuple[_Places, _Places]
"""Which of those who are born a statement gives, and where it has noted them."""


class Births:
    """What one statement of a kernel brings into the world."""

    def __init__(self, world: Any, newborn: Newborn, room: int) -> None:
        self.newborn = newborn
        self.at = np.empty(room, np.int64)
        """Whose turn it was, by number."""
        self.columns: dict[tuple[str, str], NDArray[Any]] = {}
        self.cells: dict[str, NDArray[np.uint8]] = {}
        """What these columns lie in, by manager."""
        for name, fields in newborn:
            kind: Any = type(getattr(world, name))
            columns, size = _columns_of(kind, fields)
            cells = self.cells[name] = np.empty(size * room, np.uint8)
            for field, dtype, shape, before in columns:
                column = np.ndarray((room, *shape), dtype, cells, before * room)
                self.columns[name, field] = column

    def flat(self, manager: str, field: str) -> NDArray[Any]:
        """Return the values of a field, as loops write them."""
        return self.columns[manager, field].reshape(-1)


class Fates:
    """Who dies and who is born in one call of a kernel."""

    @classmethod
    def of(cls, world: Any, count: int, *kinds: Any) -> Self:
        """Return one; compiled ones may have another call's arrays."""
        return cls(world, count, *kinds)

    def __init__(
        self,
        world: Any,
        count: int,
        rows: Sequence[str] = (),
        births: Sequence[Newborn] = (),
    ) -> None:
        """`count`: how many rows run. `rows`: the managers of which single rows may die.

        Raises:
            StructureLockedError, BrokenManagerError: a manager is locked or broken.
        """
        self._begin(world)
        self.gone = np.zeros(len(world.entities._handles), np.bool_)
        """Which entities have died, by index."""
        self.dead: EntityArray = np.empty(len(self.gone), np.uint64)
        """In the order in which they died."""
        self.gone_rows = {
            n: np.zeros(getattr(world, n).data._n, np.bool_) for n in rows
        }
        self.dead_rows = {
            n: np.empty(len(g), np.int64) for n, g in self.gone_rows.items()
        }
        self._room = -(-count // 8) * 8  # so that columns begin where their cells may
        self.births = [Births(world, newborn, self._room) for newborn in births]
        self.tally = np.zeros(1 + len(rows) + len(births), np.int64)
        """How many died, of each kind, and were born, by each statement."""

    def _begin(self, world: Any) -> None:
        for manager in world._all_managers():
            if manager._locks:
                manager._refuse_locked()
        self._world = world
        self._have_no_rows = False
        """Whether the dead, who die when all their rows have gone, have none."""

    def end(self) -> None:
        """Let the dead go, and then the others come."""
        failed = None
        if self.tally.any():
            try:
                self._bury()
            except BaseExceptionGroup as group:
                failed = group  # of callbacks: all the others did their part
            self._bear()
        if failed is not None:
            raise failed

    # --- deaths --------------------------------------------------------------------------

    def _bury(self) -> None:
        """Let all dead go with their rows, or nobody; rows that cannot go are of what is broken."""
        world, tally = self._world, self.tally.tolist()
        dead, removals = self.dead[: tally[0]], list[_Removal]()
        if tally[0]:
            removals = [(m, _remove_of, dead) for m in world._collecting if m.data._n]
        for (name, rows), count in zip(self.dead_rows.items(), tally[1:], strict=False):
            if count:
                manager = getattr(world, name)
                ids = manager.id_of_many(rows[:count])
                removals.append((manager, _remove_ids, ids))
        entities = world.entities
        try:
            entities.dispatch.run(self._bury_all, dead, removals)
        finally:
            may_live = self._have_no_rows and not is_broken(entities)
            if may_live and entities.alive(dead[0]) and not entities.dispatch.is_open():
                break_down(entities)  # there was no memory to let them die

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
            dispatch.errors.extend(flattened(error))
            for removal in removals:  # again does no harm
                try:
                    _remove(*removal)
                except BaseException as another:
                    dispatch.errors.extend(flattened(another))

    # --- births --------------------------------------------------------------------------

    def _bear(self) -> None:
        """Create all who are born, in the order of their turns, or nobody."""
        counts = self.tally[len(self.tally) - len(self.births) :].tolist()
        some = [number for number, count in enumerate(counts) if count]
        if len(some) == 1 and not self._is_narrow(self.births[some[0]]):
            number, count = some[0], counts[some[0]]
            self._create([(count, {number: (slice(0, count), slice(0, count))})])
        elif some:
            self._bear_in_order(counts)

    def _bear_in_order(self, counts: list[int]) -> None:
        who = np.arange(len(counts)).repeat(counts)
        place = np.concatenate([np.arange(k) for k in counts])
        at = [one.at[:k] for one, k in zip(self.births, counts, strict=True)]
        order = np.lexsort((who, np.concatenate(at)))
        who, place = who[order], place[order]
        taken = self._refused(who, place)
        who, place = who[~taken], place[~taken]
        owned, groups = np.array([self._is_owned(one) for one in self.births])[who], []
        for those in (owned, ~owned):
            who_of, place_of = who[those], place[those]
            each = {n: (who_of == n).nonzero()[0] for n in np.unique(who_of).tolist()}
            shares = {n: (k, place_of[k]) for n, k in each.items()}
            groups += [(len(who_of), shares)] if shares else []
        self._create(groups)

    def _is_owned(self, births: Births) -> bool:
        """Whether entities are born, and not a row that is nobody's."""
        return all(
            hasattr(getattr(self._world, n), "_entities") for n, _ in births.newborn
        )

    def _is_narrow(self, births: Births) -> bool:
        """Whether somebody comes to a cell on which not any number may stand."""
        return any(
            getattr(getattr(self._world, n).data, "_CELL_CAPACITY", 0)
            for n, _ in births.newborn
        )

    def _refused(self, who: RowArray, place: RowArray) -> NDArray[np.bool_]:
        """Return who find no room on their cells any more."""
        refused = np.zeros(len(who), np.bool_)
        for name in dict.fromkeys(n for one in self.births for n, _ in one.newborn):
            manager = getattr(self._world, name)
            if not getattr(manager.data, "_CELL_CAPACITY", 0):
                continue
            more: dict[int, int] = {}
            for k, (number, row) in enumerate(
                zip(who.tolist(), place.tolist(), strict=True)
            ):
                column = self.births[number].columns.get((name, manager.data._PLACE))
                if column is None:
                    continue
                id = int(column[row])
                more[id] = more.get(id, 0) + 1
                if not manager._has_room_on(manager._known(id), more[id]):
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
                if self._is_owned(self.births[next(iter(each))]):
                    # made and kept at once: behind a call of ours an interrupt may come
                    made.extend(map(world.entities.create_many, (count,)))
                    owners = made[-1]
                for name, those, columns in self._newborn(count, each):
                    parts.append((getattr(world, name), owners[those], columns))
            for manager, *given in parts:  # what one refuses all refuse
                manager._make_room(*given, ())
            for manager, *given in parts:
                ids = list[Any]()
                if not hasattr(manager, "_entities"):
                    nobodys.append((manager, manager.data._version, ids))
                ids.extend(starmap(manager._create_checked, ((*given, ()),)))
        except BaseException as error:
            for manager, version, ids in nobodys:
                if ids:
                    _remove(manager, _remove_ids, ids[0])
                elif not isinstance(error, EcsError):
                    break_since(manager, version)
            for entities in made:
                world._take_back(entities)
            raise

    def _newborn(
        self, count: int, each: Mapping[int, _Share]
    ) -> Iterator[tuple[str, _Places, Columns]]:
        """Give each manager that gets rows, who of them has one, and their values."""
        found: dict[str, dict[int, _Share]] = {}
        for number, share in each.items():
            for name, _ in self.births[number].newborn:
                found.setdefault(name, {})[number] = share
        for name, shares in found.items():
            if len(shares) == len(each):
                yield name, slice(None), self._columns(name, count, shares)
                continue
            those = np.sort(
                np.concatenate([np.arange(count)[k] for k, _ in shares.values()])
            )
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
            for (of, field), values in self.births[number].columns.items():
                if of != name:
                    continue
                if len(shares) == 1:
                    columns[field] = values[place]
                    continue
                if not columns[field].flags.writeable:  # the default, as yet
                    columns[field] = columns[field].repeat(count, 0)
                columns[field][mine] = values[place]
        return columns


class BlockFates(Fates):
    """The same of blocks of rows, one after the other."""

    def __init__(self, world: Any, count: int, *kinds: Any) -> None:
        super().__init__(world, count, *kinds)
        self._first = self._next = 0
        """The numbers of the block's first row, and of the one behind its last."""
        self._deaths: list[list[tuple[RowArray, NDArray[Any]]]] = [
            [] for _ in range(1 + len(self.gone_rows))
        ]
        """Of each kind: after which rows somebody died, by number, and who."""

    def begin(self, count: int) -> None:
        """Begin a block of so many rows."""
        self._first, self._next = self._next, self._next + count

    def die(self, kind: int, who: NDArray[Any] | None, mask: NDArray[np.bool_]) -> None:
        """Let those die for whom a mask of the block is true: entities, or rows of the manager of
        that number; None: the block's own rows. O(rows)."""
        if not mask.any():
            return
        at = mask.nonzero()[0]
        turns = at + self._first
        gone = turns if who is None else np.broadcast_to(who, mask.shape)[at]
        self._deaths[kind].append((turns, gone))

    def bear(self, number: int, mask: NDArray[np.bool_], *values: Any) -> None:
        """Let a statement bear somebody for each row for which a mask of the block is true, with
        values of the block's rows, rows last, or the same for all. O(rows)."""
        if not mask.any():
            return
        at, births = mask.nonzero()[0], self.births[number]
        place = len(self.tally) - len(self.births) + number
        start = int(self.tally[place])
        born = slice(start, start + len(at))
        self.tally[place] = born.stop
        births.at[born] = at + self._first
        for column, given in zip(births.columns.values(), values, strict=True):
            cells = column[born].transpose(*range(1, column.ndim), 0)
            cells[...] = np.broadcast_to(given, (*cells.shape[:-1], len(mask)))[..., at]

    def end(self) -> None:
        """Let the dead go in the order of rows and steps, each once, and then the others come."""
        for kind, name in enumerate(["", *self.gone_rows]):
            if self._deaths[kind]:
                turns, gone = map(np.concatenate, zip(*self._deaths[kind], strict=True))
                gone = gone[turns.argsort(kind="stable")]
                gone = gone[self._is_first(name, gone)]
                self.tally[kind] = len(gone)
                if name:
                    self.dead_rows[name] = gone
                else:
                    self.dead = gone
        super().end()

    def _is_first(self, name: str, gone: NDArray[Any]) -> NDArray[np.bool_]:
        """Return who of the dead comes up for the first time."""
        rows, size = gone, len(self.gone)
        if name:
            size = len(self.gone_rows[name])
        else:
            rows = self._world.entities._indices(gone)
        place, numbers = np.empty(size, np.intp), np.arange(len(rows))
        place[rows[::-1]] = numbers[::-1]  # of several the last one stays
        first: NDArray[np.bool_] = place[rows] == numbers
        return first


def _remove(
    manager: Any, remove: Callable[[Any, Any], object], gone: NDArray[Any]
) -> None:
    """Remove rows from a manager, if it is not broken."""
    if not is_broken(manager):
        remove(manager, gone)


def _remove_of(manager: Any, dead: EntityArray) -> None:
    """Remove the rows of entities; without memory one by one."""
    remove_if_need_be_singly(manager, manager.remove_many, dead)


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
            manager._break()
            raise
        if not isinstance(error, MemoryError):
            raise


@cache
def _columns_of(
    kind: Any, fields: tuple[str, ...]
) -> tuple[list[tuple[str, Any, tuple[int, ...], int]], int]:
    """Return the types and shapes of fields, with the bytes of a row before each and in all."""
    found, before = [], 0
    for name in fields:
        field, _ = kind._CONVERTERS[name]
        found.append((name, field.dtype, field.shape, before))
        before += field.dtype.itemsize * prod(field.shape)
    return found, before


@cache
def defaults(kind: Any) -> Columns:
    """Return the default of each field of a manager, shape (1, *shape)."""
    return {
        name: np.broadcast_to(field.many(default, 1), (1, *field.shape))
        for name, (field, default) in kind._CONVERTERS.items()
    }
