"""Work that the server's thread queues, and the world's ticks run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, Final, TypeAlias, TypeVar

PATIENCE: Final = 2.0
"""Seconds that work waits for a tick."""
_LONGEST: Final = 2000
"""Maximum of characters in a message."""

T = TypeVar("T")

_Task: TypeAlias = tuple[Callable[[], Any], Future[Any], bool]
"""The work, its future, and True for the first task of a request."""

_HAS_TASK: Final = ContextVar("has_task", default=False)
"""True if the current request, which has its own context, has queued a task before."""


class RequestError(Exception):
    """A request that fails with a message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def make_not_found(what: str, name: object) -> RequestError:
    """Return the error for an unknown name."""
    return RequestError(404, f"there is no {what} {str(name)[:100]!r}")


def make_request_error(status: int, error: BaseException) -> RequestError:
    """Return a RequestError with the message of an error, without its traceback.

    Frames of the traceback would keep views of columns.
    """
    text = str(error)[:_LONGEST]
    return RequestError(status, text or type(error).__name__)


class TickQueue:
    """Tasks to run in ticks."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[_Task] = SimpleQueue()
        self._is_closed = False

    async def run_in_tick(self, work: Callable[[], T]) -> T:
        """Run work in a tick and return its result.

        Raises:
            RequestError: of the work, for another error of it, or if no tick came.
        """
        if self._is_closed:
            raise RequestError(503, "the inspector is closed")
        future: Future[T] = Future()
        self._waiting.put((work, future, not _HAS_TASK.get()))
        _HAS_TASK.set(True)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), PATIENCE)
        except TimeoutError:
            raise RequestError(
                503,
                f"no tick() answered within {PATIENCE:g} s: the program is busy, paused, "
                "or does not call the inspector's tick()",
            ) from None

    def run_pending(self, budget: float) -> int:
        """Run the first task, and others until `budget` seconds after it.

        Returns the number of requests; each counts once, at its first task.
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
                continue  # the request was cancelled
            _run(work, future)
            now = perf_counter()
            deadline = deadline or now + budget
            count += is_first
            if now >= deadline:
                return count

    def close(self) -> None:
        """Fail waiting and later tasks."""
        self._is_closed = True
        while True:
            try:
                _, future, _ = self._waiting.get_nowait()
            except Empty:
                return
            if future.set_running_or_notify_cancel():
                future.set_exception(RequestError(503, "the inspector is closed"))


def _run(work: Callable[[], Any], future: Future[Any]) -> None:
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
