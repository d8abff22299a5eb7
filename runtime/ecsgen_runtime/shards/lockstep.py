"""Exchanges of which all ranks have the same number, in the same order; errors are everyone's."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from .errors import ShardError
from .mpi import MpiTransport, world_comm
from .parcel import MAGIC as _PARCEL

_HEAD: Final = 8
"""Bytes that begin each message, and name the call; what comes behind them is aligned."""
_FAILED: Final = b"ecserr: "
"""What begins a message that says that a rank has refused."""

T = TypeVar("T")


class Transport(Protocol):
    """What gets bytes from rank to rank."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def exchange(self, parts: Sequence[Any], /) -> Sequence[Any]: ...


def transport_of(comm: Any, timeout: float | None) -> Any:
    """Return what exchanges: the argument, or one for an mpi4py communicator."""
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
