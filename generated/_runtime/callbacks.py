"""Callbacks: a list of them, and the one place where their failures are gathered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar
from weakref import WeakMethod

from .handles import EntityArray

_Argument = TypeVar("_Argument")


class Subscription:
    """A registered callback; `cancel()` takes it out of its list again."""

    __slots__ = ("_remove",)

    def __init__(self, remove: Callable[[Subscription], None]) -> None:
        self._remove: Callable[[Subscription], None] | None = remove

    @property
    def active(self) -> bool:
        """Whether the callback is still going to be called."""
        return self._remove is not None

    def cancel(self) -> None:
        """Never call the callback again, not even in a run that is going on. May be repeated."""
        remove, self._remove = self._remove, None
        if remove is not None:
            remove(self)


class Entry:
    """One callback of a list."""

    __slots__ = ("function", "is_active", "subscription")

    def __init__(
        self, subscription: Subscription, function: Callable[[Any], object]
    ) -> None:
        self.is_active = True
        self.subscription = subscription
        self.function = function


class Callbacks(Generic[_Argument]):
    """Callables that are told about one argument, in order of registration.

    `entries`, empty when there are none, is replaced and never changed in place, so a run is not
    disturbed by what its callbacks add or cancel: added ones wait for the next run, cancelled ones
    are skipped from then on.
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: tuple[Entry, ...] = ()

    def add(self, callback: Callable[[_Argument], object]) -> Subscription:
        """Call `callback` from the next run on. Registered twice, it is called twice. O(k)."""
        if not callable(callback):
            raise TypeError(f"a callback must be callable, not {callback!r}")
        subscription = Subscription(self._remove)
        self.entries = (*self.entries, Entry(subscription, callback))
        return subscription

    def run(self, argument: _Argument, errors: list[BaseException]) -> None:
        """Call all of them; what they raise is appended to `errors` and stops nothing."""
        for entry in self.entries:
            if entry.is_active:
                self._tell(entry, argument, errors)

    def _tell(
        self, entry: Entry, argument: _Argument, errors: list[BaseException]
    ) -> None:
        try:
            entry.function(argument)
        except BaseException as error:
            errors.extend(flattened(error))

    def _remove(self, subscription: Subscription) -> None:
        for entry in self.entries:
            if entry.subscription is subscription:
                entry.is_active = False
        self.entries = tuple(entry for entry in self.entries if entry.is_active)


class Dispatch:
    """Gathers what callbacks raise and which entities they destroy, until the outermost call ends.

    A re-entrant context manager: every call that runs callbacks enters it. Leaving the outermost
    level first destroys the queued entities, in order, those queued meanwhile included, then raises
    everything in `errors` as one flat exception group. `drain` (a bound method, held weakly)
    destroys one queued batch. An exception of the body itself passes through and ends with that
    group as its context.
    """

    __slots__ = ("_drain", "depth", "errors", "queue", "running")

    def __init__(self, drain: Callable[[EntityArray], object] | None = None) -> None:
        self._drain = None if drain is None else WeakMethod(drain)
        self.depth = 0
        self.running = 0
        """How many callbacks are at work, each called by the one before."""
        self.errors: list[BaseException] = []
        self.queue: deque[EntityArray] = deque()

    def __enter__(self) -> Self:
        self.depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.depth == 1:
            self._empty_queue()
        self.depth -= 1
        if self.depth or not self.errors:
            return
        errors, self.errors = self.errors, []
        group = BaseExceptionGroup("callbacks failed", tuple(errors))
        errors.clear()
        try:
            if error is None:
                raise group
            _set_innermost_context(error, group)
        finally:
            # Cycles through tracebacks would keep the frames of managers, with their views.
            del group

    def tell(
        self,
        run: Callable[[_Argument, list[BaseException]], None],
        argument: _Argument,
    ) -> None:
        """Run callbacks, as a method of theirs does, and keep what they raise."""
        self.running += 1
        try:
            run(argument, self.errors)
        finally:
            self.running -= 1

    def _empty_queue(self) -> None:
        """Destroy what is queued, in order, and what is queued meanwhile."""
        while self.queue:
            batch = self.queue.popleft()
            drain = None if self._drain is None else self._drain()
            if drain is None:
                continue
            try:
                drain(batch)
            except BaseException as error:
                self.errors.extend(flattened(error))


def flattened(error: BaseException) -> list[BaseException]:
    """The exceptions in a group and its subgroups, in order; any other exception alone."""
    found: list[BaseException] = []
    pending = [error]
    while pending:
        current = pending.pop()
        if isinstance(current, BaseExceptionGroup):
            pending.extend(reversed(current.exceptions))
        else:
            found.append(current)
    return found


def _set_innermost_context(error: BaseException, context: BaseException) -> None:
    """Put `context` where a traceback of `error` shows it: at the end of its chain."""
    seen = set()
    while id(error) not in seen:
        seen.add(id(error))
        following = error.__cause__ if error.__suppress_context__ else error.__context__
        if following is None:
            error.__context__ = context
            error.__suppress_context__ = False
            return
        error = following
