"""Exchanges of which all ranks have the same number, in the same order, over MPI."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from .parcels import MAGIC as _PARCEL
from .parcels import ShardError

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
