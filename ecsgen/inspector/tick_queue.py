"""Questions to the world: asked on the server's thread, answered in the world's ticks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, Final, TypeAlias, TypeVar

PATIENCE: Final = 2.0
"""Seconds that a question waits for a tick."""
_LONGEST: Final = 2000
"""Characters of a message."""

T = TypeVar("T")

_Question: TypeAlias = tuple[Callable[[], Any], Future[Any], bool]
"""What is to be done, who waits, and whether it is the first of a request."""

_HAS_ASKED: Final = ContextVar("has_asked", default=False)
"""Whether the request at hand has asked before: each has a context of its own."""


class RequestError(Exception):
    """A request that gets a message instead of what it asked for."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def make_not_found(what: str, name: object) -> RequestError:
    """Return the refusal of a name that there is not."""
    return RequestError(404, f"there is no {what} {str(name)[:100]!r}")


def make_request_error(status: int, error: BaseException) -> RequestError:
    """Return an error as a refusal, which keeps nothing of where it was raised.

    Its frames would keep views of columns.
    """
    text = str(error)[:_LONGEST]
    return RequestError(status, text or type(error).__name__)


class TickQueue:
    """What is to be done in ticks, and who waits for it."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[_Question] = SimpleQueue()
        self._is_closed = False

    async def run_in_tick(self, work: Callable[[], T]) -> T:
        """Return what some work returns that is done in a tick.

        Raises:
            RefusedError: the work's own, that of another error, or that no tick came.
        """
        if self._is_closed:
            raise RequestError(503, "the inspector is closed")
        future: Future[T] = Future()
        self._waiting.put((work, future, not _HAS_ASKED.get()))
        _HAS_ASKED.set(True)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), PATIENCE)
        except TimeoutError:
            raise RequestError(
                503,
                f"no tick() answered within {PATIENCE:g} s: the program is busy, paused, "
                "or does not call the inspector's tick()",
            ) from None

    def run_pending(self, budget: float) -> int:
        """Do what waits: the first, and others until `budget` seconds after it.

        Returns how many requests that were; each counts once, when it is first answered.
        """
        waiting = self._waiting
        if waiting.empty():
            return 0
        count, deadline = 0, 0.0
        while True:
            try:
                work, future, is_first = waiting.get_nowait()
            except Empty:
                return count
            if not future.set_running_or_notify_cancel():
                continue  # nobody waits any more
            _do(work, future)
            now = perf_counter()
            deadline = deadline or now + budget
            count += is_first
            if now >= deadline:
                return count

    def close(self) -> None:
        """Refuse what waits, and whatever comes."""
        self._is_closed = True
        while True:
            try:
                _, future, _ = self._waiting.get_nowait()
            except Empty:
                return
            if future.set_running_or_notify_cancel():
                future.set_exception(RequestError(503, "the inspector is closed"))


def _do(work: Callable[[], Any], future: Future[Any]) -> None:
    try:
        result = work()
    except RequestError as error:
        future.set_exception(RequestError(error.status, error.message))
    except Exception as error:
        future.set_exception(make_request_error(500, error))
    except BaseException as error:  # Ctrl-C is for the program
        future.set_exception(make_request_error(503, error))
        raise
    else:
        future.set_result(result)
