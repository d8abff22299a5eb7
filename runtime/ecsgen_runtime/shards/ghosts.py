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
from ..tables.buffers import grown_capacity, item_view, read_only
from ..tables.columns import OwnedRows
from ..tables.placement import NO_ROWS
from ..values.array_coercion import as_entities, drop_duplicates
from ..values.field_tables import FieldInfo
from .handle_map import HandleMap
from .lockstep import LockStep, head_of
from .parcels import PackedColumn, ShardError, Tables, alignment, serialise_tensors, view_of
from .sharded_entities import ShardedEntities

# --- Ghosts: copies of other shards' rows, behind the own ones in the same columns ----
#
# They are good until the manager's next structural change. In managers with `lookup:
# direct` only values lie there, for owners behind the last row would be rows when
# others come behind them.


class RowsNear:
    """Some rows of a manager and its ghosts: `n`, `entity`, and the fields that ghosts have.

    All read-only, and good until the manager's next structural change.
    """

    __slots__ = ("_end", "_init_empty", "_manager")

    def __init__(self, manager: GhostHolder, start: int, end: int) -> None:
        self._manager = manager
        self._init_empty = start
        self._end = end

    def __repr__(self) -> str:
        manager, rows = self._manager, format_count(self.n, "row")
        ghosts = self._end - max(self._init_empty, manager.data._n)
        return f"<{type(manager).__name__}: {rows}, {ghosts} of them ghosts>"

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self._end - self._init_empty

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,)."""
        return read_only(self._manager._owners_near()[self._init_empty : self._end])

    def __getattr__(self, name: str) -> NDArray[Any]:
        manager = self._manager
        if name not in manager._ghost_columns():
            raise AttributeError(f"{type(manager).__name__} has no ghosts of {name!r}")
        column: NDArray[Any] = getattr(manager.data, f"_{name}_column")
        return read_only(column[self._init_empty : self._end])

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, owned or ghost, NIL where it has none, shape (k,); O(k)."""
        given = as_entities(entities)
        rows = np.full(len(given), NIL, np.intp)
        if not self._init_empty:
            rows = self._manager.lookup_many(given)
        missed = (rows == NIL).nonzero()[0]
        found = self._manager._ghost_rows(given[missed])
        known = found >= 0
        rows[missed[known]] = found[known] - self._init_empty
        return rows


class GhostState:
    """The ghosts of a manager: how many, of which version, and whose."""

    __slots__ = ("active", "count", "map", "owners", "version", "watch")

    def __init__(self) -> None:
        self.active: NDArray[np.bool_] | None = None
        """Which of them are active, in managers with a partition."""
        self.count = 0
        self.version = -1
        self.owners: EntityArray = np.zeros(0, np.uint64)
        self.map: HandleMap | None = None
        self.watch: Any = None
        """Who is told how far kernels look, if anybody."""


class GhostHolder(Owned):
    """A manager with ghosts."""

    __slots__ = NO_SLOTS
    FIELDS: ClassVar[tuple[FieldInfo, ...]]
    _GHOSTS: ClassVar[tuple[str, ...]] = ()
    """The fields that they have."""
    data: OwnedRows
    _entities: ShardedEntities
    _ghost_state: GhostState

    def _init_transient(self) -> None:
        super()._init_transient()
        self._ghost_state = GhostState()

    @property
    def ghosts(self) -> RowsNear:
        """The rows of others, by rank, then as they were sent."""
        n = self.data._n
        return RowsNear(self, n, n + self._n_ghosts)

    @property
    def nearby(self) -> RowsNear:
        """The own rows, then the ghosts: one view, no copy."""
        return RowsNear(self, 0, self.data._n + self._n_ghosts)

    @property
    def _n_ghosts(self) -> int:
        ghost_state = self._ghost_state
        return ghost_state.count if ghost_state.version == self.data._version else 0

    def _shrink(self) -> None:
        super()._shrink()
        # they may have been in pages that were given back
        self._ghost_state.version = -1

    @classmethod
    def _ghost_columns(cls) -> tuple[str, ...]:
        """Return the columns that ghosts have: several for fields that are split."""
        held = {column.name for column in cls.LAYOUT}
        fields = (field for field in cls.FIELDS if field.name in cls._GHOSTS)
        return tuple(name for field in fields for name in serialise_tensors(field, held))

    def _owners_near(self) -> EntityArray:
        data = self.data
        if not hasattr(data, "_count"):
            return data._entity_column
        owners = self._ghost_state.owners[: self._n_ghosts]
        return np.concatenate((data._entity_column[: data._n], owners))

    def _ghost_rows(self, entities: EntityArray) -> RowArray:
        """Return the row of each ghost, -1 where it is none."""
        ghost_state = self._ghost_state
        if not self._n_ghosts or len(entities) == 0:
            return np.full(len(entities), -1)
        if ghost_state.map is None:
            ghost_state.map = HandleMap(self._entities._BULK)
            ghost_state.map.add(ghost_state.owners, np.arange(ghost_state.count) + self.data._n)
        return ghost_state.map.find(entities)

    def _take_ghosts(
        self,
        owners: EntityArray,
        columns: dict[str, list[NDArray[Any]]],
        borrowed: tuple[object, ...],
    ) -> None:
        """Have these ghosts, instead of those before; their cells come in several parts.

        `borrowed`: the caller's arguments.
        """
        data, ghost_state, count = self.data, self._ghost_state, len(owners)
        if data._n + count > data._allocated:
            # not by `_grow`: where rows make way for others, nothing grows
            rows = grown_capacity(data._allocated, data._n + count)
            data._reserve(rows, borrowed, is_counted=True)
        start = data._n
        if not hasattr(data, "_count"):
            data._entity_column[start : start + count] = owners
        for name, parts in columns.items():
            column, place = getattr(data, f"_{name}_column"), start
            for part in parts:
                column[place : place + len(part)] = part
                place += len(part)
        ghost_state.owners, ghost_state.map = owners, None
        ghost_state.count, ghost_state.version = count, data._version


class GhostSpace(GhostHolder, OwnedSpatial):
    """A manager whose rows ask ghosts as well, which lie behind them and ask nobody."""

    __slots__ = NO_SLOTS

    def _search(
        self, kernel: str, radius: SupportsFloat, n: int, named: RowArray | None = None
    ) -> NeighbourSearch:
        """Return who is in reach of the first n rows, or of some, ghosts among them."""
        if not self._n_ghosts or named is not None:
            return super()._search(kernel, radius, n, named)
        places, seen, reach, wrap = self._search_arguments(kernel, radius, n)
        owners = self._all_owners()[: places.shape[1]]
        own = places[:, :n]
        return NeighbourSearch(own, seen, reach, wrap, names=(owners[:n], owners))

    def _search_arguments(
        self, kernel: str, radius: SupportsFloat, n: int
    ) -> tuple[Positions, Positions, float, tuple[float, ...]]:
        """Return the same of the first n rows, or of all rows and ghosts if there are some."""
        watch = self._ghost_state.watch
        if watch is None and not self._n_ghosts:
            return super()._search_arguments(kernel, radius, n)
        reach = checked_radius(f"{type(self).__name__}.{kernel}", radius)
        if watch is not None:
            watch.asked(reach, self)
        places = self._positions(self.data._n + self._n_ghosts if self._n_ghosts else n)
        return places, self._visible_positions(places), reach, self._wrap

    def _all_places(self) -> tuple[Positions, Positions]:
        places = self._positions(self.data._n + self._n_ghosts)
        return places, self._visible_positions(places)

    def _all_owners(self) -> EntityArray:
        return self._owners_near()

    def _visible_rows(self, n: int) -> NDArray[np.bool_] | None:
        own = self.data._n
        if n <= own:
            return super()._visible_rows(n)
        rows, active = super()._visible_rows(own), self._ghost_state.active
        if rows is None and active is None:
            return None
        found = np.ones(n, np.bool_)
        if rows is not None:
            found[:own] = rows
        if active is not None:
            found[own:] = active
        return found


def ghosts_near(radius: float, space: GhostSpace, *others: GhostHolder) -> RowArray:
    """Return which ghosts have rows in all of some managers, active ones; none if one of these has
    none any more."""
    managers = (space, *others)
    if space._ghost_state.watch is not None:
        space._ghost_state.watch.asked(radius, *managers)
    count = min(manager._n_ghosts for manager in managers)
    seen = np.ones(count, np.bool_)
    for manager in managers:
        active = manager._ghost_state.active
        if active is not None and count:
            seen &= active
    return seen.nonzero()[0]


def with_ghosts(rows: RowArray, manager: GhostHolder, ghosts: RowArray) -> RowArray:
    """Return rows of a manager, then those of ghosts."""
    return np.concatenate((rows, ghosts + manager.data._n)) if len(ghosts) else rows


def search_arguments_with_ghosts(
    kernel: str,
    manager: GhostSpace,
    radius: SupportsFloat,
    asking: RowArray,
    members: RowArray,
    hidden: RowArray = NO_ROWS,
) -> SearchArguments:
    """Return the same as `join_search_arguments`, where members are those who ask, then ghosts."""
    among = None if len(members) == len(asking) else members
    return join_search_arguments(kernel, manager, radius, asking, among, hidden)


# --- Whether kernels had all neighbours that they would have had in one world ---------
#
# Ghosts that reach less far than kernels look, or that are of yesterday, give
# plausible results.


class RefreshState(NamedTuple):
    """What a manager had when ghosts came."""

    places: Positions
    """Of its own rows, shape (axes, n)."""
    shown: Positions
    """The same as others see them: NaN of those whom they do not see."""
    owners: EntityArray
    ghosts: EntityArray


class GhostCoverageCheck:
    """Remembers how far kernels have looked, and asks the other ranks who was there."""

    __slots__ = ("_asked", "_seen", "_spaces", "_step", "_world")

    def __init__(self, world: Any, step: LockStep) -> None:
        self._world = world
        self._step = step
        self._seen: dict[str, RefreshState] = {}
        self._asked: dict[str, float] = {}
        managers = {name: getattr(world, name) for name in type(world)._GHOSTS}
        self._spaces: dict[str, GhostSpace] = {
            name: one for name, one in managers.items() if isinstance(one, GhostSpace)
        }
        for one in self._spaces.values():
            one._ghost_state.watch = self

    def take(self) -> None:
        """Remember where all are, now that ghosts have come."""
        for name, manager in self._spaces.items():
            n, (places, seen) = manager.data._n, manager._all_places()
            owners = manager._owners_near()[: places.shape[1]].copy()
            own = places[:, :n], seen[:, :n]
            self._seen[name] = RefreshState(*own, owners[:n], owners[n:])

    def asked(self, radius: float, space: GhostSpace, *others: GhostHolder) -> None:
        """Remember that rows of a space were asked from so far; ShardError if ghosts are gone, or
        places not those that others know."""
        name = next(name for name, one in self._spaces.items() if one is space)
        for manager in (space, *others):
            if manager._ghost_state.version != manager.data._version:
                raise ShardError(
                    f"{type(manager).__name__} has no ghosts since its rows changed: refresh first"
                )
        before = self._seen[name].places
        if not np.array_equal(before, space._positions(space.data._n), equal_nan=True):
            raise ShardError(
                f"{type(space).__name__} has other places than other ranks know: refresh first"
            )
        if radius > self._asked.get(name, 0):
            self._asked[name] = radius

    def verify(self, call: str) -> None:
        """Ask all ranks who was there; ShardError if somebody in reach was no ghost here.

        `call`: in whose name.
        """
        asked, self._asked = self._asked, {}
        told = self._step.gather(call, lambda: asked)
        for name in sorted({name for each in told for name in each}):
            came = self._step.exchange_words(call, partial(self._told, name))
            radius = asked.get(name, 0.0)
            self._step.gather(call, partial(self._compare, name, radius, came))

    def _told(self, name: str) -> list[Any]:
        """Return who was where, the same for each rank: owners, then places along each axis."""
        seen = self._seen[name]
        places = seen.shown.astype(np.float64).reshape(-1)
        return [np.concatenate((seen.owners, places.view(np.uint64)))] * self._step.size

    def _compare(self, name: str, radius: float, came: list[Any]) -> None:
        seen, manager = self._seen[name], self._spaces[name]
        axes = len(seen.places)
        for rank, words in enumerate(came):
            if rank == self._step.rank or not radius:
                continue
            owners = words[: len(words) // (axes + 1)]
            places = words[len(owners) :].view(np.float64).reshape(axes, -1)
            missing = ~np.isin(owners, seen.ghosts)
            owners = owners[missing]
            others = places[:, missing].astype(seen.places.dtype)
            search = NeighbourSearch(others, seen.places, radius, manager.wrap)
            starts, rows = search.neighbours()
            if len(rows):
                place = int(np.diff(starts).argmax())
                shown = self._world.entities._LAYOUT.format_handle
                raise ShardError(
                    f"{type(manager).__name__}: {shown(owners[place])} of rank {rank} "
                    f"is within {radius:g} of {shown(seen.owners[rows[starts[place]]])} "
                    "and was no ghost here"
                )


# --- What goes from rank to rank beside parcels: values of ghosts, as packed columns.

NO_GHOSTS: Final = head_of("refresh")
"""What begins each message; to itself a rank sends no more."""
_CALL: Final = int.from_bytes(NO_GHOSTS, "little")
ACTIVE: Final = "~active"
"""What stands for a column that tells which ghosts are active, in managers with a partition."""


def _ghost_columns(world: Any) -> tuple[PackedColumn, ...]:
    tables = Tables()
    for attribute in world._GHOSTS:
        kind, table = world._MANAGER_CLASSES[attribute], tables.table()
        names = kind._ghost_columns()
        for column in kind.LAYOUT:
            if column.name in names:
                tables.add(column.name, table, column.dtype, column.shape)
        if hasattr(kind, "activate"):
            tables.add(ACTIVE, table, np.dtype(np.bool_))
    return tuple(sorted(tables.columns, key=lambda it: -alignment(it.dtype)))


ghost_columns: Final[Callable[[Any], tuple[PackedColumn, ...]]] = cache(_ghost_columns)
"""Return the columns of the messages of a class of worlds, by falling alignment. Each manager is a
table; the columns have its names, or ACTIVE."""


def ghost_message(world: Any, entities: EntityArray, rows: Mapping[str, RowArray]) -> Any:
    """Return the bytes that say what entities are like; `rows`: theirs, by attribute."""
    layout, count = ghost_columns(type(world)), len(entities)
    size = 16 + count * (8 + sum(column.nbytes for column in layout))
    words = np.empty(-(-size // 8), np.uint64)
    words[:2] = _CALL, count
    words[2 : 2 + count] = entities
    buffer, place = words.view(np.uint8), 16 + 8 * count
    attributes = tuple(type(world)._GHOSTS)
    for column in layout:
        target = view_of(buffer, place, count, column)
        place += column.nbytes * count
        attribute = attributes[column.table]
        data = getattr(world, attribute).data
        if column.name == ACTIVE:
            np.less(rows[attribute], data._n_active, out=target)
            continue
        source = getattr(data, f"_{column.name}_column")
        if column.shape:
            source, target = item_view(source), item_view(target)
        source.take(rows[attribute], out=target, mode="clip")
    return buffer[:size].data


def _received(world: Any, part: Any) -> tuple[EntityArray, list[NDArray[Any]]]:
    """Return whose ghosts a message has, and their columns, as `ghost_columns` has them."""
    data = np.frombuffer(part, np.uint8)
    if data.ctypes.data % 8:
        data = data.copy()
    count, layout = data[8:16].view(np.uint64).item(), ghost_columns(type(world))
    size = 16 + count * (8 + sum(column.nbytes for column in layout))
    if len(data) != size:
        raise ShardError(f"{len(data)} bytes came for {count} ghosts, wanted {size}")
    place, columns = 16 + 8 * count, []
    for column in layout:
        columns.append(view_of(data, place, count, column))
        place += column.nbytes * count
    return data[16 : 16 + 8 * count].view(np.uint64), columns


def take_ghosts(world: Any, messages: Iterable[Any], borrowed: tuple[object, ...]) -> None:
    """Have the ghosts of messages, instead of those before. `borrowed`: the caller's arguments."""
    received = [_received(world, message) for message in messages]
    owners = np.concatenate([np.zeros(0, np.uint64), *(its for its, _ in received)])
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
    """Entities that are ghosts on other ranks. Where their rows are is known until one of the
    managers changes, or an entity dies."""

    __slots__ = ("_known", "_own", "_parts", "_world")

    def __init__(self, world: Any, parts: list[EntityArray], own: int) -> None:
        self._world = world
        self._parts = parts
        self._own = own
        self._known: tuple[list[int], list[Mapping[str, RowArray]]] | None = None

    def messages(self) -> list[Any]:
        """Return what goes to each rank; StaleEntityError and MissingInstanceError for those who
        have not all that ghosts have."""
        world = self._world
        managers = [getattr(world, name) for name in type(world)._GHOSTS]
        state = [world.entities._despawn_count, *(m.data._version for m in managers)]
        if self._known is None or self._known[0] != state:
            self._known = state, [self._found(part) for part in self._parts]
        found = enumerate(zip(self._parts, self._known[1], strict=True))
        return [
            NO_GHOSTS if rank == self._own else ghost_message(world, part, rows)
            for rank, (part, rows) in found
        ]

    def _found(self, entities: EntityArray) -> Mapping[str, RowArray]:
        world = self._world
        world.entities.require_many(entities)
        return {name: getattr(world, name).require_many(entities) for name in type(world)._GHOSTS}


def entities_by_rank(
    entities: EntityArray, ranks: RowArray, own: int, size: int
) -> list[EntityArray]:
    """Return the entities for each rank but the own one, each once, in the order given."""
    none = entities[:0]
    found = [entities[ranks == rank] if rank != own else none for rank in range(size)]
    return [drop_duplicates(part) for part in found]
