"""Lists of callbacks, and dispatch, which gathers their failures."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final, Generic, ParamSpec, TypeAlias, TypeVar
from weakref import WeakMethod

from .handles import EntityArray

_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")
_Parameters = ParamSpec("_Parameters")


class Subscription:
    """A callback in a list; `cancel()` takes it out again."""

    __slots__ = ("_callbacks", "function")

    def __init__(self, callbacks: Callbacks[Any], function: Callable[[Any], object]) -> None:
        self._callbacks: Callbacks[Any] | None = callbacks
        self.function = function

    @property
    def active(self) -> bool:
        """True until the callback is cancelled."""
        return self._callbacks is not None

    def cancel(self) -> None:
        """Never call the callback again, not even in a run that is going on. May be repeated."""
        callbacks, self._callbacks = self._callbacks, None
        if callbacks is not None:
            self.function = _ignore
            callbacks.entries = tuple(entry for entry in callbacks.entries if entry is not self)

    def retry(self, argument: Any, errors: list[BaseException]) -> None:
        """Repeat a call that must not be left out and may have failed."""


def _ignore(_: object) -> None:
    """Do what a cancelled callback does."""


Pending: TypeAlias = Iterator[Subscription]
"""Callbacks that are still to be called."""


class Callbacks(Generic[_Argument]):
    """Callables that take one argument, called in order of registration.

    `entries`, empty when there are none, is replaced and never changed in place, so a run is not
    disturbed by what its callbacks add or cancel: added ones wait for the next run, cancelled ones
    are skipped from then on.
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: tuple[Subscription, ...] = ()

    def add(self, callback: Callable[[_Argument], object]) -> Subscription:
        """Call `callback` from the next run on. Registered twice, it is called twice. O(k)."""
        if not callable(callback):
            raise TypeError(f"a callback must be callable, not {callback!r}")
        subscription = Subscription(self, callback)
        self.entries = (*self.entries, subscription)
        return subscription

    def run(
        self, argument: _Argument, errors: list[BaseException], pending: Pending | None = None
    ) -> None:
        """Call all of them; what they raise is appended to `errors` and stops nothing.

        `pending`: the entries still to be called, if an interrupt ended a run before.
        """
        pending = iter(self.entries) if pending is None else pending
        entry: Subscription | None = None
        while True:
            try:
                for entry in pending:
                    entry.function(argument)
                return
            except BaseException as error:
                errors.extend(flatten_exceptions(error))
                # both may have come before the entry did anything
                may_be_early = isinstance(error, MemoryError) or not isinstance(error, Exception)
                if entry is not None and may_be_early:
                    entry.retry(argument, errors)


class Dispatch:
    """Gathers what callbacks raise and which entities they destroy, until the outermost call ends.

    Every call that runs callbacks goes by `run`. The outermost one then destroys the queued
    entities, in order, those queued meanwhile included, and raises everything in `errors` as one
    flat exception group. `drain` (a bound method, held weakly) destroys one queued batch; it may be
    called twice for one that an interrupt came upon. What `run` was to do raises is raised, with
    that group as its context. Interrupts and the like, of callbacks as well, leave as themselves.

    An interrupt may come anywhere, so nothing relies on the end of a call: that `depth` is not 0
    means little if no call is at work.
    """

    __slots__ = ("_drain", "depth", "errors", "queue", "running")

    def __init__(self, drain: Callable[[EntityArray], object] | None = None) -> None:
        self._drain = None if drain is None else WeakMethod(drain)
        self.depth = 0
        self.running = 0
        """Depth of callbacks: each is called by the one before."""
        self.errors: list[BaseException] = []
        self.queue: deque[EntityArray] = deque()

    def is_open(self) -> bool:
        """Return whether a call is at work; O(1) if not, O(frames) otherwise."""
        return self.depth > 0 and _is_run_below(sys._getframe(1))

    def run(
        self,
        act: Callable[_Parameters, _Result],
        /,
        *args: _Parameters.args,
        **named: _Parameters.kwargs,
    ) -> _Result:
        """Return what `act` does, inside of the call that is at work or as the outermost one."""
        if self.depth and _is_run_below(sys._getframe(1)):
            return act(*args, **named)
        error: BaseException | None = None
        try:
            try:
                self.running = 0
                self.depth = 1
                result = act(*args, **named)
            except BaseException as raised:
                error = raised
            if self.queue:
                self.empty_queue()
            self.depth = 0
        except BaseException as interrupt:
            self.errors.append(interrupt)
            self.empty_queue()
            self.depth = 0
        errors, self.errors = self.errors, []
        try:
            if error is not None or errors:
                raise _leaving(error, errors)
            return result
        finally:
            # Cycles through tracebacks would keep the frames of managers, with their views:
            # the groups raised hold the list.
            errors.clear()
            del error, errors

    def notify(
        self,
        run: Callable[[_Argument, list[BaseException], Pending | None], None],
        argument: _Argument,
        pending: Pending | None = None,
    ) -> None:
        """Run callbacks by `run` and collect what they raise."""
        running = self.running
        try:
            self.running = running + 1
            run(argument, self.errors, pending)
        finally:
            self.running = running

    def empty_queue(self) -> None:
        """Destroy the queued entities, in order, and those queued meanwhile."""
        while self.queue:
            for _ in range(2):
                try:
                    drain = None if self._drain is None else self._drain()
                    if drain is not None:
                        drain(self.queue[0])  # the queue keeps it until that is done
                    break
                except Exception as error:
                    self.errors.extend(flatten_exceptions(error))
                    break
                except BaseException as interrupt:  # perhaps before any entity died
                    self.errors.extend(flatten_exceptions(interrupt))
            self.queue.popleft()


_RUN: Final = Dispatch.run.__code__


def _is_run_below(frame: FrameType | None) -> bool:
    """Return whether a frame is that of `run`, or below it."""
    while frame is not None:
        if frame.f_code is _RUN:
            return True
        frame = frame.f_back
    return False


def _leaving(error: BaseException | None, errors: list[BaseException]) -> BaseException:
    """Return the one exception to raise for those of a call and its callbacks.

    A BaseException that is no Exception, an interrupt say, is raised itself.
    """
    for raised in (error, *errors):
        if raised is not None and not isinstance(raised, (Exception, BaseExceptionGroup)):
            if raised is not error and error is not None:
                errors = [*flatten_exceptions(error), *errors]
            error = raised
            break
    failures = [raised for raised in errors if raised is not error]
    if not failures:
        assert error is not None
        return error
    group = BaseExceptionGroup("callbacks failed", failures)
    if error is None:
        return group
    _set_innermost_context(error, group)
    return error


def flatten_exceptions(error: BaseException) -> list[BaseException]:
    """Return the exceptions in a group and its subgroups, in order; any other exception alone."""
    exceptions: list[BaseException] = []
    pending = [error]
    while pending:
        current = pending.pop()
        if isinstance(current, BaseExceptionGroup):
            pending.extend(reversed(current.exceptions))
        else:
            exceptions.append(current)
    return exceptions


def _set_innermost_context(error: BaseException, context: BaseException) -> None:
    """Set the context at the end of an error's chain, where tracebacks show it."""
    seen = set()
    while id(error) not in seen:
        seen.add(id(error))
        following = error.__cause__ if error.__suppress_context__ else error.__context__
        if following is None:
            error.__context__ = context
            error.__suppress_context__ = False
            return
        error = following
