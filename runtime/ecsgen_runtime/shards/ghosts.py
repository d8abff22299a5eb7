"""Ghosts: copies of other shards' rows, how kernels find them, and whether they were enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, ClassVar, Final, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.fast_typing import NamedTuple
from ..base.handles import NIL, EntityArray, RowArray
from ..base.specialisation import NO_SLOTS
from ..base.text import format_count
from ..kernels.spaces.cell_lists import Positions
from ..kernels.spaces.neighbour_search import NeighbourSearch
from ..kernels.spaces.spatial import (
    OwnedSpatial,
    SearchArguments,
    checked_radius,
    join_search_arguments,
)
from ..managers.policies.owners import Owned
from ..tables.buffers import grown_capacity, item_view, read_only, split_columns
from ..tables.columns import OwnedRows, owner_column
from ..tables.placement import NO_ROWS
from ..values.array_coercion import as_entities, drop_duplicates
from ..values.field_tables import FieldInfo
from .handle_map import HandleMap
from .lockstep import LockStep, head_of
from .parcels import ParcelColumn, ShardError, Tables, alignment, view_of
from .shard_base import ShardBase
from .sharded_entities import ShardedEntities

# Ghosts lie behind the manager's rows in the same columns, until its next structural
# change. With `lookup: direct` only values lie there: owners behind the last row would
# become rows when new rows come.


class RowsNear:
    """Rows of a manager and its ghosts: `n`, `entity`, and the fields that ghosts have; all are
    read-only, and good until the manager's next structural change."""

    __slots__ = ("_end", "_manager", "_start")

    def __init__(self, manager: GhostHolder, start: int, end: int) -> None:
        self._manager = manager
        self._start = start
        self._end = end

    def __repr__(self) -> str:
        manager, rows = self._manager, format_count(self.n, "row")
        ghosts = self._end - max(self._start, manager.data.n)
        return f"<{type(manager).__name__}: {rows}, {ghosts} of them ghosts>"

    @property
    def n(self) -> int:
        """Number of rows."""
        return self._end - self._start

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,)."""
        return read_only(self._manager._owners_near()[self._start : self._end])

    def __getattr__(self, name: str) -> NDArray[Any]:
        manager = self._manager
        if name not in manager._ghost_columns():
            raise AttributeError(f"{type(manager).__name__} has no ghosts of {name!r}")
        column: NDArray[Any] = getattr(manager.data, f"_{name}_column")
        return read_only(column[self._start : self._end])

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, owned or ghost, NIL where it has none, shape (k,); O(k)."""
        handles = as_entities(entities)
        rows = np.full(len(handles), NIL, np.intp)
        if not self._start:
            rows = self._manager.lookup_many(handles)
        missed = (rows == NIL).nonzero()[0]
        ghost_rows = self._manager._ghost_rows(handles[missed])
        is_ghost = ghost_rows >= 0
        rows[missed[is_ghost]] = ghost_rows[is_ghost] - self._start
        return rows


class GhostState:
    """The ghosts of a manager: count, owners, and the version of rows behind which they lie."""

    __slots__ = ("active", "count", "map", "owners", "version", "watch")

    def __init__(self) -> None:
        self.active: NDArray[np.bool_] | None = None
        """Mask of active ghosts, in managers with a partition."""
        self.count = 0
        self.version = -1
        self.owners: EntityArray = np.zeros(0, np.uint64)
        self.map: HandleMap | None = None
        self.watch: Any = None
        """A GhostCoverageCheck that is notified of kernels' radii, or None."""


class GhostHolder(Owned):
    """A manager with ghosts."""

    __slots__ = NO_SLOTS
    FIELDS: ClassVar[tuple[FieldInfo, ...]]
    _GHOSTS: ClassVar[tuple[str, ...]] = ()
    """The fields that ghosts have."""
    data: OwnedRows
    _entities: ShardedEntities
    _ghost_state: GhostState

    def _init_transient(self) -> None:
        super()._init_transient()
        self._ghost_state = GhostState()

    @property
    def ghosts(self) -> RowsNear:
        """The ghosts, by rank, then in the order sent."""
        n = self.data.n
        return RowsNear(self, n, n + self._n_ghosts)

    @property
    def nearby(self) -> RowsNear:
        """The manager's rows, then the ghosts: one view, no copy."""
        return RowsNear(self, 0, self.data.n + self._n_ghosts)

    @property
    def _n_ghosts(self) -> int:
        ghost_state = self._ghost_state
        return ghost_state.count if ghost_state.version == self.data.version else 0

    def _shrink(self) -> None:
        super()._shrink()
        # ghosts may have been in pages that were released
        self._ghost_state.version = -1

    @classmethod
    def _ghost_columns(cls) -> tuple[str, ...]:
        """Return the columns that ghosts have: several for fields that are split."""
        columns = {column.name for column in cls.LAYOUT}
        fields = [field for field in cls.FIELDS if field.name in cls._GHOSTS]
        return tuple(
            name
            for field in fields
            for name in (field.name, *split_columns(field.name, field.shape))
            if name in columns
        )

    def _owners_near(self) -> EntityArray:
        data = self.data
        if not hasattr(data, "_count"):
            return owner_column(data)
        owners = self._ghost_state.owners[: self._n_ghosts]
        return np.concatenate((owner_column(data)[: data.n], owners))

    def _ghost_rows(self, entities: EntityArray) -> RowArray:
        """Return the row of each ghost, -1 for other entities."""
        ghost_state = self._ghost_state
        if not self._n_ghosts or len(entities) == 0:
            return np.full(len(entities), -1)
        if ghost_state.map is None:
            ghost_state.map = HandleMap(self._entities.BULK)
            ghost_state.map.add(ghost_state.owners, np.arange(ghost_state.count) + self.data.n)
        return ghost_state.map.find(entities)

    def _take_ghosts(
        self,
        owners: EntityArray,
        columns: dict[str, list[NDArray[Any]]],
        borrowed: tuple[object, ...],
    ) -> None:
        """Replace the ghosts; their cells come in parts. `borrowed`: the caller's arguments."""
        data, ghost_state, count = self.data, self._ghost_state, len(owners)
        if data.n + count > data.allocated:
            # not by `_grow`: where rows evict others, nothing grows
            rows = grown_capacity(data.allocated, data.n + count)
            data.reserve_rows(rows, borrowed, is_counted=True)
        first_ghost = data.n
        if not hasattr(data, "_count"):
            owner_column(data)[first_ghost : first_ghost + count] = owners
        for name, parts in columns.items():
            column, start_of_part = getattr(data, f"_{name}_column"), first_ghost
            for part in parts:
                column[start_of_part : start_of_part + len(part)] = part
                start_of_part += len(part)
        ghost_state.owners, ghost_state.map = owners, None
        ghost_state.count, ghost_state.version = count, data.version


class GhostSpace(GhostHolder, OwnedSpatial):
    """A manager whose rows find ghosts as well, which lie behind the rows and search nothing."""

    __slots__ = NO_SLOTS

    def _search(
        self, kernel: str, radius: SupportsFloat, n: int, named: RowArray | None = None
    ) -> NeighbourSearch:
        """Return the rows in reach of the first n rows, or of those `named`, ghosts among them."""
        if not self._n_ghosts or named is not None:
            return super()._search(kernel, radius, n, named)
        positions, visible, reach, wrap = self._search_arguments(kernel, radius, n)
        owners = self._all_owners()[: positions.shape[1]]
        own_positions = positions[:, :n]
        return NeighbourSearch(own_positions, visible, reach, wrap, names=(owners[:n], owners))

    def _search_arguments(
        self, kernel: str, radius: SupportsFloat, n: int
    ) -> tuple[Positions, Positions, float, tuple[float, ...]]:
        """Return the arguments of a search from the first n rows, among all rows and ghosts."""
        watch = self._ghost_state.watch
        if watch is None and not self._n_ghosts:
            return super()._search_arguments(kernel, radius, n)
        reach = checked_radius(f"{type(self).__name__}.{kernel}", radius)
        if watch is not None:
            watch.asked(reach, self)
        positions = self._positions(self.data.n + self._n_ghosts if self._n_ghosts else n)
        return positions, self._visible_positions(positions), reach, self._wrap

    def _all_positions(self) -> tuple[Positions, Positions]:
        positions = self._positions(self.data.n + self._n_ghosts)
        return positions, self._visible_positions(positions)

    def _all_owners(self) -> EntityArray:
        return self._owners_near()

    def _visible_rows(self, n: int) -> NDArray[np.bool_] | None:
        n_own = self.data.n
        if n <= n_own:
            return super()._visible_rows(n)
        rows, active = super()._visible_rows(n_own), self._ghost_state.active
        if rows is None and active is None:
            return None
        visible = np.ones(n, np.bool_)
        if rows is not None:
            visible[:n_own] = rows
        if active is not None:
            visible[n_own:] = active
        return visible


def ghosts_near(radius: float, space: GhostSpace, *other_managers: GhostHolder) -> RowArray:
    """Return the active ghosts that have rows in all managers; none if one manager has no ghosts
    any more."""
    managers = (space, *other_managers)
    if space._ghost_state.watch is not None:
        space._ghost_state.watch.asked(radius, *managers)
    count = min(manager._n_ghosts for manager in managers)
    is_active = np.ones(count, np.bool_)
    for manager in managers:
        active = manager._ghost_state.active
        if active is not None and count:
            is_active &= active
    return is_active.nonzero()[0]


def with_ghosts(rows: RowArray, manager: GhostHolder, ghosts: RowArray) -> RowArray:
    """Return rows of a manager, then rows of its ghosts."""
    return np.concatenate((rows, ghosts + manager.data.n)) if len(ghosts) else rows


def search_arguments_with_ghosts(
    kernel: str,
    manager: GhostSpace,
    radius: SupportsFloat,
    asking_rows: RowArray,
    members: RowArray,
    hidden: RowArray = NO_ROWS,
    named: RowArray | None = None,
) -> SearchArguments:
    """Return the arguments of `join_search_arguments`; members are the asking rows, then ghosts."""
    among = None if len(members) == len(asking_rows) else members
    return join_search_arguments(kernel, manager, radius, asking_rows, among, hidden, named)


# Ghosts that reach less far than kernels look, or that are outdated, give plausible but
# wrong results.


class RefreshState(NamedTuple):
    """Positions and owners of a manager's rows and ghosts at its last refresh."""

    places: Positions
    """Positions of the manager's own rows, shape (axes, n)."""
    shown: Positions
    """Positions that others find, shape (axes, n): NaN for rows that are not visible."""
    owners: EntityArray
    ghosts: EntityArray


class GhostCoverageCheck:
    """Radii of the kernels since the last refresh; compares ghosts with the rows of other ranks."""

    __slots__ = ("_asked", "_seen", "_spaces", "_step", "_world")

    def __init__(self, world: ShardBase, step: LockStep) -> None:
        self._world = world
        self._step = step
        self._seen: dict[str, RefreshState] = {}
        self._asked: dict[str, float] = {}
        managers = {name: getattr(world, name) for name in type(world)._GHOSTS}
        self._spaces: dict[str, GhostSpace] = {
            name: manager for name, manager in managers.items() if isinstance(manager, GhostSpace)
        }
        for manager in self._spaces.values():
            manager._ghost_state.watch = self

    def take(self) -> None:
        """Store all positions, now that ghosts are new."""
        for name, manager in self._spaces.items():
            n, (positions, visible) = manager.data.n, manager._all_positions()
            owners = manager._owners_near()[: positions.shape[1]].copy()
            own_positions = positions[:, :n], visible[:, :n]
            self._seen[name] = RefreshState(*own_positions, owners[:n], owners[n:])

    def asked(self, radius: float, space: GhostSpace, *other_managers: GhostHolder) -> None:
        """Store the largest radius of searches in a space; ShardError if its ghosts are outdated,
        or positions have changed since the last refresh."""
        name = next(name for name, other in self._spaces.items() if other is space)
        for manager in (space, *other_managers):
            if manager._ghost_state.version != manager.version:
                raise ShardError(
                    f"{type(manager).__name__} has no ghosts since its rows changed: refresh first"
                )
        before = self._seen[name].places
        if not np.array_equal(before, space._positions(space.data.n), equal_nan=True):
            raise ShardError(
                f"{type(space).__name__} has moved rows since the last refresh: refresh first"
            )
        if radius > self._asked.get(name, 0):
            self._asked[name] = radius

    def verify(self, call: str) -> None:
        """Compare with the rows of all ranks; ShardError if a row in reach was no ghost here.
        `call`: the call's name, for errors."""
        radii, self._asked = self._asked, {}
        radii_by_rank = self._step.gather(call, lambda: radii)
        for name in sorted({name for rank_radii in radii_by_rank for name in rank_radii}):
            words_by_rank = self._step.exchange_words(call, partial(self._visible_words, name))
            radius = radii.get(name, 0.0)
            self._step.gather(call, partial(self._compare, name, radius, words_by_rank))

    def _visible_words(self, name: str) -> list[Any]:
        """Return visible positions, alike for each rank: owners, then positions along each axis."""
        state = self._seen[name]
        positions = state.shown.astype(np.float64).reshape(-1)
        return [np.concatenate((state.owners, positions.view(np.uint64)))] * self._step.size

    def _compare(self, name: str, radius: float, words_by_rank: list[Any]) -> None:
        state, manager = self._seen[name], self._spaces[name]
        axes = len(state.places)
        for rank, words in enumerate(words_by_rank):
            if rank == self._step.rank or not radius:
                continue
            owners = words[: len(words) // (axes + 1)]
            positions = words[len(owners) :].view(np.float64).reshape(axes, -1)
            missing = ~np.isin(owners, state.ghosts)
            owners = owners[missing]
            missing_positions = positions[:, missing].astype(state.places.dtype)
            search = NeighbourSearch(missing_positions, state.places, radius, manager.wrap)
            starts, rows = search.neighbours()
            if len(rows):
                ghost = int(np.diff(starts).argmax())
                shown = self._world.entities.HANDLE_LAYOUT.format_handle
                raise ShardError(
                    f"{type(manager).__name__}: {shown(owners[ghost])} of rank {rank} "
                    f"is within {radius:g} of {shown(state.owners[rows[starts[ghost]]])} "
                    "and was no ghost here"
                )


NO_GHOSTS: Final = head_of("refresh")
"""The head of each message; the message of a rank to itself has nothing else."""
_CALL: Final = int.from_bytes(NO_GHOSTS, "little")
ACTIVE: Final = "~active"
"""Name of the column that is True for active ghosts, in managers with a partition."""


def _ghost_columns(world: type[ShardBase]) -> tuple[ParcelColumn, ...]:
    tables = Tables()
    for attribute in world._GHOSTS:
        kind, table = world.MANAGER_CLASSES[attribute], tables.table()
        names = kind._ghost_columns()
        for column in kind.LAYOUT:
            if column.name in names:
                tables.add(column.name, table, column.dtype, column.shape)
        if hasattr(kind, "activate"):
            tables.add(ACTIVE, table, np.dtype(np.bool_))
    return tuple(sorted(tables.columns, key=lambda column: -alignment(column.dtype)))


ghost_columns: Final[Callable[[Any], tuple[ParcelColumn, ...]]] = cache(_ghost_columns)
"""Return the columns of the messages of a class of worlds, by falling alignment. Each manager is a
table; the columns have its names, or ACTIVE."""


def ghost_message(world: ShardBase, entities: EntityArray, rows: Mapping[str, RowArray]) -> Any:
    """Return the bytes of entities' ghosts; `rows`: the entities' rows, by attribute."""
    layout, count = ghost_columns(type(world)), len(entities)
    size = 16 + count * (8 + sum(column.nbytes for column in layout))
    words = np.empty(-(-size // 8), np.uint64)
    words[:2] = _CALL, count
    words[2 : 2 + count] = entities
    buffer, offset = words.view(np.uint8), 16 + 8 * count
    attributes = tuple(type(world)._GHOSTS)
    for column in layout:
        target = view_of(buffer, offset, count, column)
        offset += column.nbytes * count
        attribute = attributes[column.table]
        data = getattr(world, attribute).data
        if column.name == ACTIVE:
            np.less(rows[attribute], data.n_active, out=target)
            continue
        source = getattr(data, f"_{column.name}_column")
        if column.shape:
            source, target = item_view(source), item_view(target)
        source.take(rows[attribute], out=target, mode="clip")
    return buffer[:size].data


def _received(world: ShardBase, part: Any) -> tuple[EntityArray, list[NDArray[Any]]]:
    """Return the owners of a message's ghosts, and their columns as `ghost_columns` lists them."""
    data = np.frombuffer(part, np.uint8)
    if data.ctypes.data % 8:
        data = data.copy()
    count, layout = data[8:16].view(np.uint64).item(), ghost_columns(type(world))
    size = 16 + count * (8 + sum(column.nbytes for column in layout))
    if len(data) != size:
        raise ShardError(f"{len(data)} bytes came for {count} ghosts, wanted {size}")
    offset, columns = 16 + 8 * count, []
    for column in layout:
        columns.append(view_of(data, offset, count, column))
        offset += column.nbytes * count
    return data[16 : 16 + 8 * count].view(np.uint64), columns


def take_ghosts(world: ShardBase, messages: Iterable[Any], borrowed: tuple[object, ...]) -> None:
    """Replace all ghosts by those of messages. `borrowed`: the caller's arguments."""
    received = [_received(world, message) for message in messages]
    owners = np.concatenate(
        [np.zeros(0, np.uint64), *(ghost_owners for ghost_owners, _ in received)]
    )
    for table, attribute in enumerate(type(world)._GHOSTS):
        columns = {
            column.name: [cells[number] for _, cells in received]
            for number, column in enumerate(ghost_columns(type(world)))
            if column.table == table
        }
        active = columns.pop(ACTIVE, None)
        manager = getattr(world, attribute)
        manager._take_ghosts(owners, columns, borrowed)
        if active is not None:
            none = np.zeros(0, np.bool_)
            manager._ghost_state.active = np.concatenate([none, *active])


class SentGhosts:
    """Entities that are ghosts on other ranks. Their rows are cached until one of the managers
    changes or an entity is despawned."""

    __slots__ = ("_known", "_own", "_parts", "_world")

    def __init__(
        self, world: ShardBase, entities: EntityArray, ranks: RowArray, own_rank: int, size: int
    ) -> None:
        parts = [entities[(ranks == rank) & (rank != own_rank)] for rank in range(size)]
        self._parts = [drop_duplicates(part) for part in parts]
        self._world = world
        self._own = own_rank
        self._known: tuple[list[int], list[Mapping[str, RowArray]]] | None = None

    def messages(self) -> list[Any]:
        """Return the message to each rank; StaleEntityError and MissingInstanceError for entities
        that lack a row."""
        world = self._world
        managers = [getattr(world, name) for name in type(world)._GHOSTS]
        state = [world.entities.despawn_count, *(m.data.version for m in managers)]
        if self._known is None or self._known[0] != state:
            self._known = state, [self._require_rows(part) for part in self._parts]
        rows_by_rank = enumerate(zip(self._parts, self._known[1], strict=True))
        return [
            NO_GHOSTS if rank == self._own else ghost_message(world, part, rows)
            for rank, (part, rows) in rows_by_rank
        ]

    def _require_rows(self, entities: EntityArray) -> Mapping[str, RowArray]:
        world = self._world
        world.entities.require_many(entities)
        return {name: getattr(world, name).require_many(entities) for name in type(world)._GHOSTS}
