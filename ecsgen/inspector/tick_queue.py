"""Work that the server's thread queues, and the world's ticks run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
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
    """Return a RequestError with the message of an error, without its traceback. Frames of the
    traceback would keep views of columns."""
    text = str(error)[:_LONGEST]
    return RequestError(status, text or type(error).__name__)


class TickQueue:
    """Tasks to run in ticks.

    A thread of its own hands on what became of them: waking the server is a system call, after
    which a tick would wait for the interpreter, which the server then has.
    """

    def __init__(self) -> None:
        self._waiting: SimpleQueue[_Task] = SimpleQueue()
        self._done: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.is_empty: Callable[[], bool] = self._waiting.empty
        """Returns whether no task waits."""
        self._is_closed = False
        Thread(target=_hand_on, args=(self._done,), name="ecsgen-answers", daemon=True).start()

    async def run_in_tick(self, work: Callable[[], T]) -> T:
        """Run work in a tick and return its result. RequestError of the work, for another error of
        it, or if no tick came."""
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
        """Run the first task, and others until `budget` seconds after it. Returns the number of
        requests; each counts once, at its first task."""
        waiting = self._waiting
        if self.is_empty():
            return 0
        count, deadline = 0, 0.0
        while True:
            try:
                work, future, is_first = waiting.get_nowait()
            except Empty:
                return count
            if not future.set_running_or_notify_cancel():
                continue  # the request was cancelled
            self._run(work, future)
            now = perf_counter()
            deadline = deadline or now + budget
            count += is_first
            if now >= deadline:
                return count

    def _run(self, work: Callable[[], Any], future: Future[Any]) -> None:
        try:
            result = work()
        except BaseException as error:
            is_fault = isinstance(error, Exception)
            status = error.status if isinstance(error, RequestError) else 500 if is_fault else 503
            answer = make_request_error(status, error)
            self._done.put(partial(future.set_exception, answer))
            if not is_fault:  # Ctrl-C is for the program
                raise
        else:
            self._done.put(partial(future.set_result, result))

    def close(self) -> None:
        """Fail waiting and later tasks."""
        self._is_closed = True
        self._done.put(None)
        while True:
            try:
                _, future, _ = self._waiting.get_nowait()
            except Empty:
                return
            if future.set_running_or_notify_cancel():
                future.set_exception(RequestError(503, "the inspector is closed"))


def _hand_on(done: SimpleQueue[Callable[[], None] | None]) -> None:
    while (resolve := done.get()) is not None:
        resolve()
        del resolve  # an answer may be large
