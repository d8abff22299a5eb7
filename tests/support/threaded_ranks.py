"""Ranks that are threads of this process, for tests of what goes on between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from inspect import signature
from threading import Barrier
from typing import Any

import pytest
from ecsgen_runtime.shards.parcels import ShardError


class ThreadComm:
    """One of several ranks."""

    def __init__(self, rank: int, size: int, barrier: Barrier, slots: list[Any]) -> None:
        self.rank = rank
        self.size = size
        self.exchanges = 0
        self._barrier = barrier
        self._slots = slots

    def exchange(self, parts: Sequence[Any]) -> list[bytes]:
        """Send parts[k] to rank k, and return what came from each."""
        assert len(parts) == self.size
        self.exchanges += 1
        self._slots[self.rank] = [bytes(part) for part in parts]
        self._barrier.wait(20)
        came = [self._slots[other][self.rank] for other in range(self.size)]
        self._barrier.wait(20)
        return came


def run(size: int, rank: Callable[[ThreadComm], Any]) -> list[Any]:
    """Run a function on each of some ranks, and return what they return."""
    barrier, slots = Barrier(size), [None] * size

    def begin(number: int) -> Any:
        try:
            return rank(ThreadComm(number, size, barrier, slots))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(begin, number) for number in range(size)]
    failed = [error for future in futures if (error := future.exception()) is not None]
    for error in sorted(failed, key=lambda it: type(it).__name__ == "BrokenBarrierError"):
        raise error
    return [future.result() for future in futures]


def everyones(
    comm: ThreadComm,
    rank: int,
    error: type[BaseException] | tuple[type[BaseException], ...],
    match: str | None = None,
) -> Any:
    """Expect an error of one rank, and that all others hear of it."""
    if comm.rank == rank:
        return pytest.raises(error, match=match)
    return pytest.raises(ShardError, match=rf"^rank {rank}: \w*Error.*{match or ''}")


def on_ranks(size: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test on each of some ranks; it gets `comm`, then its fixtures."""

    def decorated(rank: Callable[..., None]) -> Callable[..., None]:
        @wraps(rank)
        def test(**fixtures: Any) -> None:
            run(size, lambda comm: rank(comm, **fixtures))

        _, *others = signature(rank).parameters.values()
        vars(test)["__signature__"] = signature(test).replace(parameters=others)
        return test

    return decorated
