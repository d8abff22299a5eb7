"""Deferred commands of the world's kernels: spawns and despawns, and components that entities get
or lose, are recorded while rows run, and applied after the last row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import starmap
from math import prod
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base.callbacks import flatten_exceptions
from ..base.errors import BrokenManagerError, EcsError
from ..base.handles import NIL, Columns, EntityArray, Id, IdArray, RowArray
from ..base.locks import is_broken, mark_broken, mark_broken_if_changed, raise_if_locked
from ..entities.entity_pool import remove_rows_with_fallback
from ..entities.newborn_handles import EntityHandles, NewbornHandles
from ..managers.manager import Manager
from ..managers.policies.additions import Add, AddedRows, announce_all
from ..managers.policies.ids import IdMethods, NewbornIds
from ..managers.policies.owners import Owned
from ..values.array_coercion import drop_duplicates
from ..world.world_base import WorldBase

SpawnSpec = tuple[tuple[str, tuple[str, ...]], ...]
"""Managers in which a spawn creates rows, by name, and the fields of each that it sets."""

SpawnKind = Literal["spawn", "add", "replace", "remove"]
"""Rows of new entities, or of others, which get or lose them. "add" leaves rows that are there as
they are, "replace" sets all their fields."""


_Removal = Callable[[], object]
"""An idempotent function that removes rows from a manager."""

_Mask: TypeAlias = NDArray[np.bool_] | np.bool_
_Record: TypeAlias = tuple[NDArray[Any], ...]

_Positions = slice | RowArray
_Share = tuple[_Positions, _Positions]
"""Positions of a statement's spawns among all spawns, and in the statement's batch."""


class SpawnBatch:
    """Spawns of one statement of a kernel: turns and columns of field values."""

    def __init__(
        self,
        world: WorldBase,
        spec: SpawnSpec,
        capacity: int,
        kind: SpawnKind = "spawn",
        bundle: str = "",
    ) -> None:
        self.spec, self.kind, self._bundle = spec, kind, bundle
        world_class: Any = type(world)
        self._constants = bundle_columns(world_class, bundle)
        self.capacity = capacity = -(-capacity // 8) * 8  # columns begin at aligned offsets
        self.turns = np.empty(capacity, np.int64)
        """Number of the turn in which each spawn was recorded."""
        self.targets = np.empty(0 if kind == "spawn" else capacity, np.uint64)
        """Entity that gets or loses a row, for each turn; none for spawns."""
        self.columns: dict[tuple[str, str], NDArray[Any]] = {}
        self.buffers: dict[str, NDArray[np.uint8]] = {}
        """Memory of the columns, by manager."""
        for name, fields in spec:
            converters = getattr(world, name).CONVERTERS
            types = [converters[field][0] for field in fields]
            sizes = [capacity * t.dtype.itemsize * prod(t.shape) for t in types]
            buffer, offset = np.empty(sum(sizes), np.uint8), 0
            self.buffers[name] = buffer
            for field, type_, size in zip(fields, types, sizes, strict=True):
                column = np.ndarray((capacity, *type_.shape), type_.dtype, buffer, offset)
                self.columns[name, field] = column
                offset += size

    def flat(self, manager: str, field: str) -> NDArray[Any]:
        """Return the values of a field, as loops write them."""
        return self.columns[manager, field].reshape(-1)

    def values(self, manager: str, positions: _Positions) -> Columns:
        """Return the fields of a manager that the statement or its bundle sets, with the values of
        some spawns, or one for all."""
        columns = {f: column[positions] for (m, f), column in self.columns.items() if m == manager}
        return {**self._constants.get(manager, {}), **columns}

    def holding(self, world: WorldBase, grown: Mapping[tuple[str, str], Any]) -> SpawnBatch:
        """Return a batch with the turns, by two empty names, and flat values of longer arrays."""
        turns = np.asarray(grown["", ""])
        if len(turns) == len(self.turns):
            return self
        batch = SpawnBatch(world, self.spec, len(turns), self.kind, self._bundle)
        batch.turns[: len(turns)] = turns
        if self.kind != "spawn":
            batch.targets[: len(turns)] = grown["", "entity"]
        for key, column in batch.columns.items():
            size = min(len(grown[key]), column.size)
            column.reshape(-1)[:size] = grown[key][:size]
        return batch


class DeferredCommands:
    """Spawns and despawns of one kernel call, applied together at its end."""

    despawned: EntityArray
    """Entities in the order of their despawns."""
    despawned_rows: Mapping[str, RowArray]
    """Single rows in the order of their removals, by manager."""
    spawn_batches: Sequence[SpawnBatch]
    counts: NDArray[np.int64]
    """Despawned entities, removed rows of each manager, spawns of each statement."""
    handles: Mapping[str, NewbornHandles]
    """Handles that were given out for spawns: of rows by their manager, of entities by ""."""
    _refusal: Exception | None
    """Why there is no room for all whose handles were given out."""

    def begin_call(self, world: WorldBase) -> None:
        """Begin a call; raises StructureLockedError, BrokenManagerError if a manager is that."""
        for manager in world.all_managers():
            raise_if_locked(manager)
        self._world, self.handles = world, {}
        self._refusal = None
        self._added: list[AddedRows] = []
        self._have_no_rows = False
        """True if all rows of the entities to despawn are removed."""

    def newborn_handles(self, homes: Iterable[str]) -> dict[str, NewbornHandles]:
        """Return the handles of rows of these managers, and of entities for ""."""
        world = self._world
        return {
            home: NewbornIds(getattr(world, home)) if home else EntityHandles(world.entities)
            for home in homes
        }

    def apply(self) -> None:
        """Apply despawns, removals of components, spawns, then additions of components; raises the
        callbacks' group after all. O(commands)."""
        self._reserve_handles()
        try:
            self._apply_in_order()
        finally:
            self._drop_handles()

    def _reserve_handles(self) -> None:
        for handles in self.handles.values():
            try:
                handles.reserve()
            except Exception as error:
                self._refusal = error

    def _drop_handles(self) -> None:
        """Drop the handles of spawns that did not happen: they never live."""
        for handles in self.handles.values():
            handles.drop()

    def _apply_in_order(self) -> None:
        failed = list[BaseExceptionGroup[BaseException]]()
        steps = [
            (self._n_despawned > 0, self._apply_despawns),
            (any(self._counts_of("remove")), self._apply_removals),
            (any(self._counts_of("spawn")), self._apply_spawns),
            (any(self._counts_of("add", "replace")), self._apply_additions),
            (any(self._counts_of("spawn", "add", "replace")), self._announce),
        ]
        for apply in (apply for is_needed, apply in steps if is_needed):
            try:
                apply()
            except BaseExceptionGroup as group:
                failed.append(group)  # of callbacks: despawns and removals are complete
            except BrokenManagerError as error:
                if not failed:
                    raise
                raise failed[0] from error
        if failed[1:]:
            errors = [error for group in failed for error in group.exceptions]
            raise BaseExceptionGroup(failed[0].message, errors)
        if failed:
            raise failed[0]

    def _note_added(self, manager: Manager, created: NDArray[Any]) -> None:
        """Note rows that were created, if anybody is to be notified of them."""
        if isinstance(manager, Add) and manager.has_add_listeners and len(created):
            self._added.append(manager.added_rows(created))

    def _announce(self) -> None:
        """Notify the callbacks of all created rows."""
        if self._added:
            dispatch = self._world.entities.dispatch
            dispatch.run(announce_all, dispatch, self._added)

    def _apply_despawns(self) -> None:
        """Despawn all entities with their rows, or none; mark managers broken whose rows cannot be
        removed."""
        world, counts = self._world, self.counts.tolist()
        dead, removals = self.despawned[: counts[0]], list[_Removal]()
        for manager in world.collecting_managers if counts[0] else ():
            if manager.data.n:
                arguments = manager, manager.remove_many, dead
                remove = partial(remove_rows_with_fallback, *arguments)
                removals.append(partial(_remove, manager, remove))
        for (name, rows), count in zip(self.despawned_rows.items(), counts[1:], strict=False):
            if count:
                manager = getattr(world, name)
                ids = manager.id_of_many(rows[:count])
                removals.append(partial(_remove, manager, partial(_remove_ids, manager, ids)))
        entities = world.entities
        try:
            entities.dispatch.run(self._destroy_and_remove, dead, removals)
        finally:
            may_live = self._have_no_rows and not is_broken(entities)
            if may_live and entities.alive(dead[0]) and not entities.dispatch.is_open():
                mark_broken(entities)  # no memory was left to destroy entities without rows

    def _destroy_and_remove(self, dead: EntityArray, removals: list[_Removal]) -> None:
        """Queue entities to be destroyed, and remove rows: all, once one of these is done."""
        dispatch, has_begun = self._world.entities.dispatch, False
        queued = len(dispatch.queue)
        try:
            self._world.entities.destroy_distinct(dead)
            self._have_no_rows = len(dead) > 0
            for removal in removals:
                has_begun = True
                removal()
        except BaseException as error:
            if not has_begun and len(dispatch.queue) == queued:
                raise
            dispatch.errors.extend(flatten_exceptions(error))
            self._run_all(removals)

    @property
    def _n_despawned(self) -> int:
        """Number of despawned entities and removed rows."""
        return int(self.counts[: len(self.counts) - len(self.spawn_batches)].sum())

    def _counts_of(self, *kinds: SpawnKind) -> list[int]:
        """Return the number of commands of each statement, 0 of other kinds."""
        counts = self.counts[len(self.counts) - len(self.spawn_batches) :].tolist()
        batches = zip(self.spawn_batches, counts, strict=True)
        return [count if batch.kind in kinds else 0 for batch, count in batches]

    def _in_turn_order(self, counts: Sequence[int]) -> tuple[RowArray, RowArray]:
        """Return statements' numbers and positions in their batches, ordered by turns."""
        if len(counts) == 1:
            return np.zeros(counts[0], np.intp), np.arange(counts[0])
        numbers = np.arange(len(counts)).repeat(counts)
        positions = np.concatenate([np.arange(k) for k in counts])
        turns = [batch.turns[:k] for batch, k in zip(self.spawn_batches, counts, strict=True)]
        order = np.lexsort((numbers, np.concatenate(turns)))
        return numbers[order], positions[order]

    def _changes(self, *kinds: SpawnKind) -> Iterator[tuple[str, EntityArray, RowArray, RowArray]]:
        """Yield the name of each manager in which alive entities get or lose rows, with these, the
        statements' numbers, and positions in their batches: in the order of turns."""
        all_counts = self._counts_of(*kinds)
        for name in dict.fromkeys(n for batch in self.spawn_batches for n, _ in batch.spec):
            batches = zip(self.spawn_batches, all_counts, strict=True)
            counts = [k if any(n == name for n, _ in batch.spec) else 0 for batch, k in batches]
            if not any(counts):
                continue
            numbers, positions = self._in_turn_order(counts)
            targets = np.empty(len(numbers), np.uint64)
            for number, count in enumerate(counts):
                if count:
                    is_of_it = numbers == number
                    batch = self.spawn_batches[number]
                    targets[is_of_it] = batch.targets[positions[is_of_it]]
            alive = self._world.entities.alive_many(targets)
            yield name, targets[alive], numbers[alive], positions[alive]

    def _apply_removals(self) -> None:
        """Remove the rows that entities lose; mark managers broken whose rows cannot be removed."""
        removals = list[_Removal]()
        for name, targets, _, _ in self._changes("remove"):
            manager = getattr(self._world, name)
            arguments = manager, manager.remove_many, targets
            removals.append(partial(remove_rows_with_fallback, *arguments))
        self._world.entities.dispatch.run(self._run_all, removals)

    def _run_all(self, removals: Iterable[_Removal]) -> None:
        """Remove rows from all managers, whatever callbacks raise."""
        dispatch = self._world.entities.dispatch
        for removal in removals:
            try:
                removal()
            except BaseException as error:
                dispatch.errors.extend(flatten_exceptions(error))

    def _apply_additions(self) -> None:
        """Create the rows that entities get; those that have one keep it, or have its fields set.
        Of each manager all rows are created, or none."""
        for name, targets, numbers, positions in self._changes("add", "replace"):
            manager: Owned = getattr(self._world, name)
            # the first component is what a statement adds; that requires the others
            is_asked = np.array([batch.spec[0][0] == name for batch in self.spawn_batches])[numbers]
            is_set = np.zeros(len(targets), np.bool_)
            if not manager.ALLOWS_MANY:
                order, is_set = self._effective(manager, targets, numbers, is_asked)
                targets, numbers, positions = targets[order], numbers[order], positions[order]
            elif not is_asked.all():
                comes = ~manager.has_many(targets)
                comes[np.delete(np.arange(len(targets)), np.unique(targets, True)[1])] = False
                comes |= is_asked
                targets, numbers, positions = targets[comes], numbers[comes], positions[comes]
                is_set = is_set[comes]
            columns = self._columns_in_order(name, numbers[~is_set], positions[~is_set])
            self._note_added(manager, manager.create_checked(targets[~is_set], columns, ()))
            if is_set.any():
                columns = self._columns_in_order(name, numbers[is_set], positions[is_set])
                _set_rows(manager, manager.lookup_many(targets[is_set]), columns)

    def _effective(
        self,
        manager: Owned,
        targets: EntityArray,
        numbers: RowArray,
        is_asked: NDArray[np.bool_],
    ) -> tuple[RowArray, NDArray[np.bool_]]:
        """Return which addition says the fields of each entity's row, in the order in which
        entities get one, and a mask of the rows that are there already."""
        replaces = np.array([batch.kind == "replace" for batch in self.spawn_batches])[numbers]
        replaces &= is_asked
        if (targets[1:] > targets[:-1]).all():  # each once
            has_row = manager.has_many(targets)
            order = (~has_row | replaces).nonzero()[0]
            return order, has_row[order]
        entities, first, which = np.unique(targets, return_index=True, return_inverse=True)
        last = np.full(len(entities), -1)
        np.maximum.at(last, which[replaces], replaces.nonzero()[0])
        has_row = manager.has_many(entities)
        order = first.argsort()
        order = order[(~has_row | (last >= 0))[order]]
        return np.where(last >= 0, last, first)[order], has_row[order]

    def _columns_in_order(self, name: str, numbers: RowArray, positions: RowArray) -> Columns:
        """Return the values of rows of one manager, by statements and positions in batches."""
        columns = self._columns(name, len(numbers), _shares(numbers, positions))
        return {
            field: np.broadcast_to(column, (len(numbers), *column.shape[1:]))
            for field, column in columns.items()
        }

    def _apply_spawns(self) -> None:
        """Create all spawned entities and rows in the order of their turns, or none."""
        counts = self._counts_of("spawn")
        if self._refusal is not None:
            raise self._refusal
        numbers = [number for number, count in enumerate(counts) if count]
        if len(numbers) == 1 and not self._has_cell_capacity(self.spawn_batches[numbers[0]]):
            number, count = numbers[0], counts[numbers[0]]
            self._create([(count, {number: (slice(0, count), slice(0, count))})])
        elif numbers:
            self._apply_spawns_in_turn_order(counts)

    def _apply_spawns_in_turn_order(self, counts: list[int]) -> None:
        numbers, positions = self._in_turn_order(counts)
        is_refused = self._over_cell_capacity(numbers, positions)
        if self.handles:
            homes = np.array([self._home(batch) for batch in self.spawn_batches])[numbers]
            for home, handles in self.handles.items():
                handles.keep(~is_refused[homes == home])
        numbers, positions = numbers[~is_refused], positions[~is_refused]
        is_owned = np.array([self._is_owned(batch) for batch in self.spawn_batches])[numbers]
        masks = [mask for mask in (is_owned, ~is_owned) if mask.any()]
        self._create([(int(mask.sum()), _shares(numbers[mask], positions[mask])) for mask in masks])

    def _is_owned(self, batch: SpawnBatch) -> bool:
        """Return True if spawns create entities, and not a row without owner."""
        return all(hasattr(getattr(self._world, name), "_entities") for name, _ in batch.spec)

    def _home(self, batch: SpawnBatch) -> str:
        """Return the manager that gives spawned rows ids; "" for spawned entities."""
        return "" if self._is_owned(batch) else batch.spec[0][0]

    def _has_cell_capacity(self, batch: SpawnBatch) -> bool:
        """Return True if a spawned row needs capacity on a cell."""
        managers = (getattr(self._world, name) for name, _ in batch.spec)
        return any(getattr(manager.data, "CELL_CAPACITY", 0) for manager in managers)

    def _over_cell_capacity(self, numbers: RowArray, positions: RowArray) -> NDArray[np.bool_]:
        """Return a mask, by statement and position in its batch, of spawns whose cell is full."""
        is_refused = np.zeros(len(numbers), np.bool_)
        for name in dict.fromkeys(n for batch in self.spawn_batches for n, _ in batch.spec):
            manager = getattr(self._world, name)
            if not getattr(manager.data, "CELL_CAPACITY", 0):
                continue
            arrivals: dict[int, int] = {}
            spawns = zip(numbers.tolist(), positions.tolist(), strict=True)
            for k, (number, position) in enumerate(spawns):
                column = self.spawn_batches[number].columns.get((name, manager.data.CELL_FIELD))
                if column is None:
                    continue
                id = int(column[position])
                arrivals[id] = arrivals.get(id, 0) + 1
                if not manager.cell_has_capacity(manager.cell_of_id(id), arrivals[id]):
                    is_refused[k] = True
                    arrivals[id] -= 1
        return is_refused

    def _create(self, groups: Sequence[tuple[int, Mapping[int, _Share]]]) -> None:
        """Create groups of entities or of rows without owner by statements' shares, or none."""
        world, parts = self._world, []
        created, drop = list[EntityArray](), world.entities.drop_reserved
        ownerless = list[tuple[IdMethods, int, list[IdArray]]]()
        try:
            for count, shares in groups:
                owners = np.zeros(count, np.uint64)
                if self._is_owned(self.spawn_batches[next(iter(shares))]):
                    # created and recorded at once: an interrupt may come after a call
                    if "" in self.handles:
                        created.append(self.handles[""].reserved)
                        self.handles[""].create_next()
                    else:
                        created.extend(map(world.entities.create_many, (count,)))
                    owners = created[-1]
                for name, positions, columns in self._rows_to_create(count, shares):
                    parts.append((getattr(world, name), owners[positions], columns))
            for home, handles in self.handles.items():
                if home:
                    handles.create_next()
            for manager, *arguments in parts:  # all refuse if one does
                manager._ensure_capacity(*arguments, ())
            for manager, *arguments in parts:
                ids = list[Any]()
                if not hasattr(manager, "_entities"):
                    ownerless.append((manager, manager.version, ids))
                ids.extend(starmap(manager.create_checked, ((*arguments, ()),)))
                self._note_added(manager, ids[0])
        except BaseException as error:
            for manager, version, ids in ownerless:
                if ids:
                    _remove(manager, partial(_remove_ids, manager, ids[0]))
                elif not isinstance(error, EcsError):
                    mark_broken_if_changed(manager, version)
            for entities in created:
                if "" in self.handles:
                    self.handles[""].reserved = entities[:0]
                    world.rollback_spawn(entities, drop)
                else:
                    world.rollback_spawn(entities)
            raise

    def _rows_to_create(
        self, count: int, shares: Mapping[int, _Share]
    ) -> Iterator[tuple[str, _Positions, Columns]]:
        """Yield each manager's name, the positions of the spawns with a row in it, and columns."""
        shares_of: dict[str, dict[int, _Share]] = {}
        for number, share in shares.items():
            for name, _ in self.spawn_batches[number].spec:
                shares_of.setdefault(name, {})[number] = share
        for name, members in shares_of.items():
            if len(members) == len(shares):
                yield name, slice(None), self._columns(name, count, members)
                continue
            positions = np.sort(np.concatenate([np.arange(count)[k] for k, _ in members.values()]))
            members = {
                n: (positions.searchsorted(np.arange(count)[k]), source)
                for n, (k, source) in members.items()
            }
            yield name, positions, self._columns(name, len(positions), members)

    def _columns(self, name: str, count: int, shares: Mapping[int, _Share]) -> Columns:
        """Return `count` values of each field of a manager: defaults unless statements set them."""
        kind: Any = type(getattr(self._world, name))
        columns = dict(defaults(kind))
        for number, (positions, source) in shares.items():
            for field, values in self.spawn_batches[number].values(name, source).items():
                if len(shares) == 1:
                    columns[field] = values
                    continue
                if not columns[field].flags.writeable:  # still the default
                    columns[field] = columns[field].repeat(count, 0)
                columns[field][positions] = values
        return columns


class CommandBuffer(DeferredCommands):
    """Commands of a loop: arrays with capacity for all."""

    @classmethod
    def of(cls, world: WorldBase, count: int, *kinds: Any) -> Self:
        """Return a buffer; a compiled one may reuse another call's arrays."""
        return cls(world, count, *kinds)

    def __init__(
        self,
        world: WorldBase,
        count: int,
        rows: Sequence[str],
        spawns: Sequence[SpawnSpec],
        kinds: Sequence[SpawnKind] = (),
        homes: Sequence[str] = (),
        bundles: Sequence[str] = (),
    ) -> None:
        """`count` rows run; single rows of the managers named in `rows` may be removed; `kinds`: of
        the spawns, if not all are that; `homes`: the managers that give handles of who will
        come, "" for entities; `bundles`: those of the spawns that have values, "" for others.
        Raises what `begin_call` raises."""
        self.begin_call(world)
        self.is_despawned = np.zeros(len(world.entities.handles), np.bool_)
        """True for despawned entities, by slot."""
        self.despawned = np.empty(len(self.is_despawned), np.uint64)
        self.is_row_despawned = {n: np.zeros(getattr(world, n).data.n, np.bool_) for n in rows}
        """True for removed rows, by manager."""
        self.despawned_rows = {
            n: np.empty(len(g), np.int64) for n, g in self.is_row_despawned.items()
        }
        self.capacity = count
        kinds = kinds or ["spawn"] * len(spawns)
        batches = zip(spawns, kinds, bundles or [""] * len(spawns), strict=True)
        self.spawn_batches = [
            SpawnBatch(world, spec, count, kind, bundle) for spec, kind, bundle in batches
        ]
        self.counts = np.zeros(1 + len(rows) + len(spawns), np.int64)
        self.handles = self.newborn_handles(homes)

    def __enter__(self) -> None:
        """Begin a loop that gives handles out."""

    def __exit__(self, error: object, *_: object) -> None:
        """End the loop; if it was stopped, the handles that it has given out never live."""
        if error is not None:
            self._reserve_handles()
            self._drop_handles()

    def keep_grown(self, names: Sequence[tuple[int, str, str]], arrays: Sequence[Any]) -> None:
        """Take the arrays that a loop has made longer; `names`: of which spawns they are, and of
        which manager and field; both are empty for the turns, the manager for the targets."""
        batches: dict[int, dict[tuple[str, str], Any]] = {}
        for (number, manager, field), array in zip(names, arrays, strict=True):
            batches.setdefault(number, {})[manager, field] = array
        self.spawn_batches = [
            batch.holding(self._world, batches[number]) if number in batches else batch
            for number, batch in enumerate(self.spawn_batches)
        ]


class BlockCommandBuffer(DeferredCommands):
    """Commands of blocks of rows, one block after the other. Empty until the first command."""

    def __init__(
        self,
        world: WorldBase,
        rows: Sequence[str],
        spawns: Sequence[SpawnSpec],
        kinds: Sequence[SpawnKind] = (),
        homes: Sequence[str] = (),
        bundles: Sequence[str] = (),
    ) -> None:
        """Single rows of the managers named in `rows` may be removed; `kinds`: of the spawns, if
        not all are that; `homes`: none, as no handles are given; `bundles`: those of the spawns
        that have values, "" for others. Raises as `begin_call`."""
        self.begin_call(world)
        self._rows, self._specs = rows, spawns
        self._kinds = kinds or ["spawn"] * len(spawns)
        self._bundles = bundles or [""] * len(spawns)
        self._first = self._next = 0
        """Numbers of the block's first row, and of the row after its last."""
        self._dead_cells: list[tuple[NDArray[Any], ...]] = []
        """Columns of the block, masks of the dead rows, and those rows' cells."""
        self._despawns: dict[int, list[_Record]] = {}
        """Turns and entities by 0, turns and rows by the number of their manager."""
        self._spawns: dict[int, list[_Record]] = {}
        """Turns and all values, rows last, by the number of the statement."""

    def begin_block(
        self, owners: NDArray[Any], is_clean: bool = True, *columns: NDArray[Any]
    ) -> _Mask:
        """Begin a block, and return a mask of its rows with alive owners: all if `is_clean`.
        `restore_dead_cells` restores the present cells of the other rows in `columns`."""
        self._first, self._next = self._next, self._next + len(owners)
        if is_clean:
            return np.True_
        alive: NDArray[np.bool_] = self._world.entities.alive_many(owners)
        dead = ~alive
        self._dead_cells = [(c, dead, c[..., dead]) for c in columns if dead.any()]
        return alive

    def restore_dead_cells(self) -> None:
        """Write the former cells of dead rows, after the block's last step."""
        for column, dead, cells in self._dead_cells:
            column[..., dead] = cells
        self._dead_cells = []  # holds views of columns, which may grow now

    def despawn(self, kind: int, running: _Mask, test: _Mask, targets: NDArray[Any] | None) -> None:
        """Record despawns for the rows that run and pass a test. O(rows). `kind` 0: `targets` are
        entities; else rows of the manager of that number, None for the block's own rows."""
        if _is_any(test):
            positions, turns = self._passing(running, test)
            despawned = turns if targets is None else self._at(targets, positions)
            self._despawns.setdefault(kind, []).append((turns, despawned))

    def spawn(self, number: int, running: _Mask, test: _Mask, *values: Any) -> None:
        """Record a statement's spawn for each row that runs and passes a test. O(rows).

        `values` are the block's, rows last, or one for all rows; entities that get or lose a row
        come first.
        """
        if _is_any(test):
            positions, turns = self._passing(running, test)
            records = self._spawns.setdefault(number, [])
            records.append((turns, *(self._at(array, positions) for array in values)))

    def _passing(self, running: _Mask, test: _Mask) -> tuple[RowArray, RowArray]:
        """Return positions in the block, and numbers, of the rows that run and pass."""
        passing = np.broadcast_to(running & test, self._next - self._first)
        positions = passing.nonzero()[0]
        return positions, positions + self._first

    def _at(self, values: Any, positions: RowArray) -> NDArray[Any]:
        shape = (*np.shape(values)[:-1], self._next - self._first)
        return np.broadcast_to(values, shape)[..., positions]

    def apply(self) -> None:
        """Apply the commands in the order of rows and steps: distinct despawns, then spawns."""
        if self._despawns or self._spawns:
            self.despawned, *rows = map(self._distinct_despawns, range(1 + len(self._rows)))
            self.despawned_rows = dict(zip(self._rows, rows, strict=True))
            self.spawn_batches = [*map(self._batch, range(len(self._specs)))]
            spawns = map(self._count, range(len(self.spawn_batches)))
            self.counts = np.array([len(self.despawned), *map(len, rows), *spawns])
            super().apply()

    def _distinct_despawns(self, kind: int) -> NDArray[Any]:
        if kind not in self._despawns:
            return np.empty(0, np.uint64)
        turns, targets = map(np.concatenate, zip(*self._despawns[kind], strict=True))
        return drop_duplicates(targets[turns.argsort(kind="stable")])

    def _count(self, number: int) -> int:
        return sum(len(turns) for turns, *_ in self._spawns.get(number, ()))

    def _batch(self, number: int) -> SpawnBatch:
        count = self._count(number)
        kind = self._kinds[number]
        batch = SpawnBatch(self._world, self._specs[number], count, kind, self._bundles[number])
        if count:
            targets = [] if kind == "spawn" else [batch.targets]
            columns = [batch.turns, *targets, *batch.columns.values()]
            records = zip(*self._spawns[number], strict=True)
            for column, parts in zip(columns, records, strict=True):
                rows_last = column[:count].transpose(*range(1, column.ndim), 0)
                rows_last[...] = np.concatenate(parts, -1)
        return batch


def _shares(numbers: RowArray, positions: RowArray) -> dict[int, _Share]:
    """Return each statement's share of spawns, by their statements and positions in batches."""
    spawns = {n: (numbers == n).nonzero()[0] for n in np.unique(numbers).tolist()}
    return {number: (indices, positions[indices]) for number, indices in spawns.items()}


def _set_rows(manager: Owned, rows: RowArray, columns: Columns) -> None:
    """Set all fields of rows; O(rows)."""
    for name, (_, default) in manager.CONVERTERS.items():
        column, write = columns[name], getattr(manager, f"set_{name}")
        is_number = column.dtype.kind not in "SO"  # else no kernel gives it another value
        values = column.tolist() if is_number else [default] * len(rows)
        for row, value in zip(rows.tolist(), values, strict=True):
            write(row, value)


def _is_any(mask: Any) -> bool:
    """Return whether a mask is true anywhere; it has at least one row, or is one bool for all."""
    return bool(mask.item(mask.argmax()))  # a third of the time of `any`


def _remove(manager: Manager, remove: _Removal) -> None:
    """Remove rows from a manager unless it is broken."""
    if not is_broken(manager):
        remove()


def _remove_ids(manager: IdMethods, ids: IdArray) -> None:
    """Remove the rows of ids that are not stale; one by one if memory is short."""
    try:
        rows = manager.resolve_many(ids)
        manager.destroy_many(np.sort(rows[rows != NIL]))
    except BaseException as error:
        if is_broken(manager):
            raise
        try:
            for id in map(Id, ids.data):
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
        for name, (field, default) in kind.CONVERTERS.items()
    }


@cache
def bundle_columns(kind: Any, bundle: str) -> Mapping[str, Columns]:
    """Return the values of a bundle, by manager and field, shape (1, *shape); nothing for ""."""
    columns: dict[str, Columns] = {}
    for name, values in kind.BUNDLE_VALUES.get(bundle, {}).items():
        converters = kind.MANAGER_CLASSES[name].CONVERTERS
        fields = ((field, converters[field][0]) for field in values)
        columns[name] = {
            field: np.broadcast_to(type_.to_column(values[field], 1), (1, *type_.shape))
            for field, type_ in fields
        }
    return columns
