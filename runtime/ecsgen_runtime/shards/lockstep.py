"""What goes from rank to rank, in the same order on each, over MPI."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..buffers import items
from ..handles import EntityArray, RowArray
from ..typed import NamedTuple
from .parcels import MAGIC as _PARCEL
from .parcels import ShardError, alignment

# --- Exchanges of which all ranks have the same number, in the same order, over MPI ---


# --- Exchanging bytes over MPI: counts, then bytes; nothing pickled, no barrier -------


_FIRST: Final = 1e-6
_LONGEST: Final = 1e-3
"""Seconds between two looks at an exchange that has a timeout."""


class MpiTransport:
    """An mpi4py communicator as what `Shards` needs."""

    __slots__ = ("_timeout", "comm", "rank", "size")

    def __init__(self, comm: Any, timeout: float | None) -> None:
        self.comm = comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()
        self._timeout = timeout

    def exchange(self, parts: Sequence[Any]) -> list[memoryview]:
        """Send parts[k] to rank k, and return what came from each."""
        sizes = np.array([memoryview(part).nbytes for part in parts], np.int64)
        coming = np.empty(self.size, np.int64)
        self._all(self.comm.Ialltoall, sizes, coming)
        # every part on 8 bytes, so that columns of it can be looked at where they are
        places = np.concatenate(([0], np.cumsum(-(-coming // 8) * 8)))
        whole = np.empty(int(places[-1]) // 8, np.uint64).view(np.uint8)
        out = _joined(parts, sizes)
        send = [out, (sizes.tolist(), _before(sizes)), _byte()]
        receive = [whole, (coming.tolist(), places[:-1].tolist()), _byte()]
        self._all(self.comm.Ialltoallv, send, receive)
        ends = places[:-1] + coming
        return [
            memoryview(whole.data)[start:end]
            for start, end in zip(places[:-1].tolist(), ends.tolist(), strict=True)
        ]

    def abort(self) -> None:
        """End all ranks."""
        self.comm.Abort(1)

    def _all(self, call: Any, send: Any, receive: Any) -> None:
        request = call(send, receive)
        if self._timeout is None:
            request.Wait()
            return
        deadline, pause = time.monotonic() + self._timeout, _FIRST
        while not request.Test():
            if time.monotonic() > deadline:
                raise ShardError(
                    f"rank {self.rank}: no answer from others in {self._timeout} s"
                )
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)


def world_comm() -> Any:
    """Return MPI.COMM_WORLD."""
    from mpi4py import MPI

    return MPI.COMM_WORLD


def _byte() -> Any:
    from mpi4py import MPI

    return MPI.BYTE


def _before(sizes: Any) -> list[int]:
    return [0, *np.cumsum(sizes)[:-1].tolist()]


def _joined(parts: Sequence[Any], sizes: Any) -> Any:
    """Return all parts as one run of bytes."""
    out = np.empty(int(sizes.sum()), np.uint8)
    place = 0
    for part in parts:
        view = np.frombuffer(part, np.uint8)
        out[place : place + len(view)] = view
        place += len(view)
    return out


# --- Exchanges of which all ranks have the same number, in the same order; errors are
# everyone's.


_HEAD: Final = 8
"""Bytes that begin each message, and name the call; what comes behind them is aligned."""
_FAILED: Final = b"ecserr: "
"""What begins a message that says that a rank has refused."""

T = TypeVar("T")


def transport_of(comm: Any, timeout: float | None) -> Any:
    """Return what exchanges, with `rank`, `size` and `exchange(parts)`: the argument, or one for an
    mpi4py communicator."""
    if comm is None:
        comm = world_comm()
    return comm if hasattr(comm, "exchange") else MpiTransport(comm, timeout)


class LockStep:
    """All exchanges of one rank."""

    __slots__ = ("_transport", "rank", "size")

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.rank: int = transport.rank
        self.size: int = transport.size

    def exchange(self, make: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        """Send what `make` returns, a part for each rank, and return what came from each.

        Every part begins with the head of the call, which is compared: parcels with their own,
        and nothing is no parcel, which takes less time to send. What `make` raises is raised
        here, and as ShardError on all other ranks.
        """
        failed: Exception | None = None
        try:
            parts = make()
        except Exception as error:
            failed = error
            text = f"{type(error).__name__}: {error}"
            said = text.encode(
                errors="backslashreplace"
            )  # names of files may be no text
            parts = [_FAILED + said] * self.size
        came: Sequence[Any] = self._transport.exchange(parts)
        if failed is not None:
            raise failed
        heads = [bytes(memoryview(part)[:_HEAD]) or _PARCEL for part in came]
        if heads.count(heads[0]) < self.size:
            _refuse(heads, came)
        return came

    def exchange_words(self, call: str, make: Callable[[], Sequence[Any]]) -> list[Any]:
        """The same of arrays of u64."""
        head = np.frombuffer(head_of(call), np.uint64)

        def parts() -> list[Any]:
            return [np.concatenate((head, part)).view(np.uint8).data for part in make()]

        return [
            np.frombuffer(bytes(part), np.uint64)[1:] for part in self.exchange(parts)
        ]

    def gather(self, call: str, make: Callable[[], Any]) -> list[Any]:
        """Tell all ranks something that JSON can say, and return what each one has told."""
        head = head_of(call)

        def parts() -> list[bytes]:
            return [head + json.dumps(make(), allow_nan=True).encode()] * self.size

        return [json.loads(bytes(part)[_HEAD:]) for part in self.exchange(parts)]

    def abort(self) -> None:
        """End all ranks, if the transport can."""
        if hasattr(self._transport, "abort"):
            self._transport.abort()


def head_of(call: str) -> bytes:
    """Return what begins the messages of a call."""
    return call.encode().ljust(_HEAD)


def agreed(told: Sequence[T], said: str) -> T:
    """Return what all ranks have told, or raise ShardError, which names two that differ.

    `said`: what these do, "have called {} and {}".
    """
    for rank, its in enumerate(told):
        if its != told[0]:
            raise ShardError(f"ranks 0 and {rank} {said.format(told[0], its)}")
    return told[0]


def _refuse(heads: list[bytes], came: Sequence[Any]) -> None:
    """Raise ShardError for a rank that has failed, or has called something else."""
    if _FAILED in heads:
        rank = heads.index(_FAILED)
        text = bytes(memoryview(came[rank])[_HEAD:]).decode()
        raise ShardError(f"rank {rank}: {text}")
    calls = [b"migrate" if head == _PARCEL else head.rstrip() for head in heads]
    agreed([call.decode() for call in calls], "have called {} and {}")


# --- What goes from rank to rank beside parcels: values of ghosts, as packed columns.


# --- What goes from rank to rank beside parcels: values of ghosts, as packed columns.


NO_GHOSTS: Final = head_of("refresh")
"""What begins each message; to itself a rank sends no more."""
_CALL: Final = int.from_bytes(NO_GHOSTS, "little")
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
    words[:2] = _CALL, count
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
            manager._ghost_state.active = np.concatenate([none, *active])


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
