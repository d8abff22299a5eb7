"""Lets an allocation fail at each place in turn, and says what is left of the managers.

What may fail are numpy's functions and the allocations of buffers, as the runtime and the generated
modules see them.
"""

from __future__ import annotations

import dis
import linecache
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

from tests.held import by_owner, snapshot
from tests.policies_package import package

Broken = package.BrokenManagerError

ALLOCATES_NOTHING = {
    "may_share_memory",
    "shares_memory",
    "putmask",
    "put",
    "copyto",
    "ndim",
    "shape",
}
BUFFERS = ("allocate", "reserve_pages", "untouched_objects")


class Clock:
    """Counts calls, and lets the k-th raise."""

    def __init__(self) -> None:
        self.at = 0
        self.count = 0
        self.error: type[BaseException] = MemoryError

    def tick(self) -> None:
        if not self.at:
            return
        self.count += 1
        if self.count == self.at:
            raise self.error("on purpose")

    @property
    def fired(self) -> bool:
        return self.at != 0 and self.count >= self.at


CLOCK = Clock()


def _ticking(function: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is None:
            CLOCK.tick()
        return function(*args, **kwargs)

    if isinstance(function, np.ufunc):
        call.reduce = _ticking(function.reduce)  # type: ignore[attr-defined]
    return call


class FaultyNumpy:
    """numpy, with functions that fail at the clock's time."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        plain = isinstance(value, type) or not callable(value) or name in ALLOCATES_NOTHING
        plain = plain or (isinstance(value, np.ufunc) and name in ("add", "minimum", "maximum"))
        made = vars(self)[name] = value if plain else _ticking(value)  # found without this from now
        return made


def modules(prefix: str = package.__name__) -> list[Any]:
    """The modules of the generated package, those of its runtime among them."""
    return [m for name, m in sorted(sys.modules.items()) if name.split(".")[0] == prefix]


@contextmanager
def patched() -> Iterator[None]:
    """Let allocations tick."""
    faulty, kept = FaultyNumpy(), []
    for module in modules():
        for name, value in list(vars(module).items()):
            new = faulty if value is np else _ticking(value) if name in BUFFERS else None
            if new is not None:
                kept.append((module, name, value))
                setattr(module, name, new)
    try:
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


@dataclass
class Scene:
    """Managers as a pickle, and how to find in a loaded one what an operation may change."""

    name: str
    saved: bytes
    parts: Callable[[Any], list[Any]]
    prepare: Callable[[Any], object] = lambda whole: None

    def load(self) -> Any:
        whole = pickle.loads(self.saved)
        self.prepare(whole)
        return whole

    def state(self, whole: Any) -> list[Any]:
        return [snapshot(part) for part in self.parts(whole)]


@dataclass
class Tally:
    """What became of managers when something failed."""

    tried: int = 0
    as_it_was: int = 0
    done: int = 0
    broken: int = 0
    wrong: list[str] = field(default_factory=list)
    broke: dict[str, int] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    """Where what was not left as it was failed, and how often."""

    def add(self, other: Tally) -> None:
        self.tried += other.tried
        self.as_it_was += other.as_it_was
        self.done += other.done
        self.broken += other.broken
        self.wrong += other.wrong
        for mine, others in ((self.broke, other.broke), (self.places, other.places)):
            for name, count in others.items():
                mine[name] = mine.get(name, 0) + count


def is_broken(part: Any) -> bool:
    return repr(part).startswith("<broken")


def refuses(part: Any) -> bool:
    """Whether every call of a part raises BrokenManagerError."""
    names = [name for name in dir(type(part)) if not name.startswith("_") and name.islower()]
    calls: list[Callable[[], Any]] = [partial(getattr, part, name) for name in names]
    calls += [lambda: len(part), lambda: 3 in part, lambda: iter(part), lambda: pickle.dumps(part)]
    for call in calls:
        try:
            call()
        except Broken:
            continue
        except TypeError:  # no such method in any of the kind
            continue
        return False
    return True


Operation = Callable[[Any], object]


def judge(
    scene: Scene,
    title: str,
    whole: Any,
    error: BaseException | None,
    operation: Operation,
    before: list[Any],
    after: list[Any],
) -> Tally:
    """Say what a failed operation left."""
    tally = Tally(tried=1)
    parts = scene.parts(whole)
    broken = [is_broken(part) for part in parts]
    if not any(broken):
        now = scene.state(whole)
        if now == before and error is not None:
            tally.as_it_was = 1
            try:
                operation(whole)
                again = scene.state(whole) == after
            except BaseException as second:
                again = False
                title = f"{title}, then {second!r}"
            if not again:
                tally.wrong.append(
                    f"{scene.name} {title}: as it was, but works no more ({error!r})"
                )
        elif _is_done(now, after, parts, scene, operation, error):
            tally.done = 1
        elif "spawn" in title and _is_undone(scene, parts):
            tally.as_it_was = 1  # rows were appended and removed again: others may have moved
        else:
            tally.wrong.append(f"{scene.name} {title}: changed, not broken ({error!r})")
        return tally
    tally.broken = 1
    tally.broke[title.split(" #")[0]] = 1
    for k, part in enumerate(parts):
        if broken[k]:
            if not refuses(part):
                tally.wrong.append(f"{scene.name} {title}: broken, but answers")
        elif snapshot(part) not in (before[k], after[k]):
            tally.wrong.append(f"{scene.name} {title}: {type(part).__name__} is neither")
    return tally


def _is_done(
    now: list[Any],
    after: list[Any],
    parts: list[Any],
    scene: Scene,
    operation: Operation,
    error: BaseException | None,
) -> bool:
    """Whether an operation got through in spite of a failure, if by a longer way."""
    if error is not None and not isinstance(error, (BaseExceptionGroup, KeyboardInterrupt)):
        return False
    if now == after:
        return True
    whole = scene.load()
    operation(whole)
    return [by_owner(part) for part in parts] == [by_owner(p) for p in scene.parts(whole)]


def _is_undone(scene: Scene, parts: list[Any]) -> bool:
    """Whether everybody has what they had, if in other rows."""
    return [by_owner(p) for p in parts] == [by_owner(p) for p in scene.parts(scene.load())]


def fail_everywhere(
    scene: Scene, title: str, operation: Operation, step: int = 1, limit: int = 400
) -> Tally:
    """Run an operation with the k-th allocation failing, for every `step`-th k until it gets
    through; which these are differs from title to title."""
    whole = scene.load()
    before = scene.state(whole)
    operation(whole)
    after = scene.state(whole)
    tally = Tally()
    for k in range(1 + len(title) % step, limit, step):
        whole = scene.load()
        CLOCK.at, CLOCK.count = k, 0
        error: BaseException | None = None
        try:
            operation(whole)
        except BaseException as raised:
            error = raised
        fired, CLOCK.at = CLOCK.fired, 0
        if not fired:
            if error is not None:
                raise error
            return tally
        found = _about(error)
        if found is not None:
            tally.wrong.append(f"{scene.name} {title} #{k}: raises {found!r}")
        verdict = judge(scene, f"{title} #{k}", whole, error, operation, before, after)
        if verdict.broken or verdict.wrong:
            place = _place(error)
            tally.places[place] = tally.places.get(place, 0) + 1
        tally.add(verdict)
    raise AssertionError(f"{scene.name} {title}: no end")


def _place(error: BaseException | None) -> str:
    """Return the innermost functions of the package that an error came through."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    names = []
    trace = None if error is None else error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if f"/{package.__name__}/" in code.co_filename:
            names.append(code.co_name)
        trace = trace.tb_next
    return " > ".join(names[-3:])


def _about(error: BaseException | None) -> BaseException | None:
    """Return what an error should not have been."""
    if error is None or isinstance(error, (MemoryError, KeyboardInterrupt)):
        return None
    if isinstance(error, BaseExceptionGroup):
        return next((e for e in error.exceptions if _about(e) is not None), None)
    return error


COUNTING = ("__enter__", "__exit__", "_lock", "_unlock", "run_all")
UNINTERRUPTED = (*COUNTING, "_release", "_empty_queue")
"""Where locks and depths are counted: Python looks for interrupts at calls and in loops, hardly
ever between these lines."""


LOAD_CONST = dis.opmap["LOAD_CONST"]


def _is_uninterrupted(frame: FrameType) -> bool:
    """Whether Python does not look for interrupts before a line, or hardly ever: neither is there a
    call between the body of a `with` and its end, which stands at its first line."""
    code, line = frame.f_code, linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    is_end = line.lstrip().startswith("with ") and code.co_code[frame.f_lasti] == LOAD_CONST
    return is_end or code.co_name in UNINTERRUPTED


class Interrupt:
    """A trace function that raises KeyboardInterrupt at the k-th line of the package."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        if f"/{package.__name__}/" not in frame.f_code.co_filename:
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line" and not _is_uninterrupted(frame):
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self._line


def interrupt(scene: Scene, title: str, operation: Operation, at: int) -> Tally | None:
    """Run an operation with an interrupt at a line of the package; None if it gets through."""
    whole = scene.load()
    before = scene.state(whole)
    operation(whole)
    after = scene.state(whole)
    whole = scene.load()
    trace = Interrupt(at)
    sys.settrace(trace)
    error: BaseException | None = None
    try:
        operation(whole)
    except BaseException as raised:
        error = raised
    finally:
        sys.settrace(None)
    if trace.left > 0:
        if error is not None:
            raise error
        return None
    return judge(scene, f"{title} line {at}", whole, error, operation, before, after)
