"""Exchanges of which all ranks have the same number, in the same order; errors are everyone's."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np

from .errors import ShardError
from .mpi import MpiTransport, world_comm

_FAILED: Final = b"ecserr: "
"""What begins a message that says that a rank has refused. No other begins so."""
WORD: Final = np.frombuffer(b"ecswords", np.uint64)
"""What begins one of numbers."""


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

        What `make` raises is raised here, and as ShardError on all other ranks.
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
        for rank, part in enumerate(came):
            if bytes(memoryview(part)[: len(_FAILED)]) == _FAILED:
                text = bytes(memoryview(part)[len(_FAILED) :]).decode()
                raise ShardError(f"rank {rank}: {text}")
        return came

    def exchange_words(self, make: Callable[[], Sequence[Any]]) -> list[Any]:
        """The same of arrays of u64."""

        def parts() -> list[Any]:
            return [np.concatenate((WORD, part)).view(np.uint8).data for part in make()]

        return [
            np.frombuffer(bytes(part), np.uint64)[1:] for part in self.exchange(parts)
        ]

    def gather(self, make: Callable[[], Any]) -> list[Any]:
        """Tell all ranks something that JSON can say, and return what each one has told."""

        def parts() -> list[bytes]:
            return [json.dumps(make(), allow_nan=True).encode()] * self.size

        return [json.loads(bytes(part)) for part in self.exchange(parts)]

    def abort(self) -> None:
        """End all ranks, if the transport can."""
        if hasattr(self._transport, "abort"):
            self._transport.abort()
