"""Exchanging bytes over MPI: counts, then bytes; nothing pickled, no barrier."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .errors import ShardError

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
