"""What goes from rank to rank beside parcels: values of ghosts, as packed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..columns.buffers import items
from ..handles import EntityArray, RowArray
from ..typed import NamedTuple
from .lockstep import head_of
from .parcels import ShardError, alignment

# --- What goes from rank to rank beside parcels: values of ghosts, as packed columns.


NO_GHOSTS: Final = head_of("refresh")
"""What begins each message; to itself a rank sends no more."""
_HEAD: Final = int.from_bytes(NO_GHOSTS, "little")
ACTIVE: Final = "~active"
"""What stands for a column that tells which ghosts are active, in managers with a partition."""


class GhostColumn(NamedTuple):
    """A column of a message."""

    attribute: str
    """Of the world: the manager."""
    name: str
    """Of the manager's column, or ACTIVE."""
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes per ghost."""
        return self.dtype.itemsize * prod(self.shape)


class GhostMessage(NamedTuple):
    """Ghosts of one rank."""

    entities: EntityArray
    columns: dict[tuple[str, str], NDArray[Any]]
    """By attribute and column."""


def ghost_columns(world: Any) -> tuple[GhostColumn, ...]:
    """Return the columns of the messages of a class of worlds, by falling alignment."""
    return _ghost_columns(world)


@cache
def _ghost_columns(world: Any) -> tuple[GhostColumn, ...]:
    found = []
    for attribute in world._GHOSTS:
        kind = world._KINDS[attribute]
        names = kind._ghost_columns()
        found += [
            GhostColumn(attribute, column.name, column.dtype, column.shape)
            for column in kind.LAYOUT
            if column.name in names
        ]
        if hasattr(kind, "activate"):
            found.append(GhostColumn(attribute, ACTIVE, np.dtype(np.bool_), ()))
    return tuple(sorted(found, key=lambda it: -alignment(it.dtype)))


def ghost_message(
    world: Any, entities: EntityArray, rows: Mapping[str, RowArray]
) -> Any:
    """Return the bytes that say what entities are like; `rows`: theirs, by attribute."""
    layout, count = ghost_columns(type(world)), len(entities)
    size = 16 + count * (8 + sum(column.nbytes for column in layout))
    words = np.empty(-(-size // 8), np.uint64)
    words[:2] = _HEAD, count
    words[2 : 2 + count] = entities
    buffer, place = words.view(np.uint8), 16 + 8 * count
    for column in layout:
        end = place + column.nbytes * count
        target = buffer[place:end].view(column.dtype).reshape(count, *column.shape)
        data, place = getattr(world, column.attribute).data, end
        if column.name == ACTIVE:
            np.less(rows[column.attribute], data._n_active, out=target)
            continue
        source = getattr(data, f"_{column.name}_column")
        if column.shape:
            source, target = items(source), items(target)
        source.take(rows[column.attribute], out=target, mode="clip")
    return buffer[:size].data


def received_ghosts(world: Any, part: Any) -> GhostMessage:
    """Return what a message says."""
    data = np.frombuffer(part, np.uint8)
    if data.ctypes.data % 8:
        data = data.copy()
    count, layout = data[8:16].view(np.uint64).item(), ghost_columns(type(world))
    size = 16 + count * (8 + sum(column.nbytes for column in layout))
    if len(data) != size:
        raise ShardError(f"{len(data)} bytes came for {count} ghosts, wanted {size}")
    place, columns = 16 + 8 * count, {}
    for column in layout:
        end = place + column.nbytes * count
        cells = data[place:end].view(column.dtype)
        columns[column.attribute, column.name] = cells.reshape(count, *column.shape)
        place = end
    return GhostMessage(data[16 : 16 + 8 * count].view(np.uint64), columns)


def take_ghosts(
    world: Any, messages: Sequence[GhostMessage], borrowed: tuple[object, ...]
) -> None:
    """Have the ghosts of messages, instead of those before. `borrowed`: the caller's arguments."""
    owners = np.concatenate([np.zeros(0, np.uint64), *(m.entities for m in messages)])
    for attribute in type(world)._GHOSTS:
        columns = {
            column.name: [m.columns[attribute, column.name] for m in messages]
            for column in ghost_columns(type(world))
            if column.attribute == attribute
        }
        active = columns.pop(ACTIVE, None)
        manager = getattr(world, attribute)
        manager._take_ghosts(owners, columns, borrowed)
        if active is not None:
            none = np.zeros(0, np.bool_)
            manager._haunt.active = np.concatenate([none, *active])


# --- Who is a ghost elsewhere, and where their rows are -------------------------------


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
        state = self._state()
        if self._known is None or self._known[0] != state:
            self._known = state, [self._found(part) for part in self._parts]
        found = enumerate(zip(self._parts, self._known[1], strict=True))
        return [
            NO_GHOSTS if rank == self._own else ghost_message(self._world, part, rows)
            for rank, (part, rows) in found
        ]

    def _state(self) -> list[int]:
        world = self._world
        managers = [getattr(world, name) for name in type(world)._GHOSTS]
        return [world.entities._deaths, *(m.data._version for m in managers)]

    def _found(self, entities: EntityArray) -> Mapping[str, RowArray]:
        world = self._world
        world.entities.require_many(entities)
        return {
            name: getattr(world, name).require_many(entities)
            for name in type(world)._GHOSTS
        }


def entities_by_rank(
    entities: EntityArray, ranks: RowArray, own: int, size: int
) -> list[EntityArray]:
    """Return the entities for each rank but the own one, each once, in the order given."""
    none = entities[:0]
    found = [entities[ranks == rank] if rank != own else none for rank in range(size)]
    return [_each_once(part) for part in found]


def _each_once(entities: EntityArray) -> EntityArray:
    if (entities[1:] > entities[:-1]).all():
        return entities
    _, first = np.unique(entities, return_index=True)
    return entities if len(first) == len(entities) else entities[np.sort(first)]
