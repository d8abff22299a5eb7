"""Lets an allocation fail at each place in turn, and says what is left of the managers.

What may fail are numpy's functions and the allocations of buffers, as the runtime and the generated
modules see them.
"""

from __future__ import annotations

import dis
import gc
import inspect
import linecache
import pickle
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from types import CodeType, FrameType
from typing import Any
from zlib import crc32

import numpy as np

from tests.support.manager_state import by_owner, snapshot
from tests.support.policies_package import package

Broken = package.BrokenManagerError

ALLOCATES_NOTHING = {"may_share_memory", "shares_memory", "putmask", "put", "copyto"}
ALLOCATES_NOTHING |= {"ndim", "shape"}
BUFFERS = ("allocate", "reserve_pages", "untouched_objects")


class Clock:
    """Counts calls, and lets the k-th raise."""

    def __init__(self) -> None:
        self.at = 0
        self.count = 0
        self.lasts = False
        """True if all later allocations raise as well."""
        self.error: type[BaseException] = MemoryError

    def tick(self) -> None:
        if not self.at:
            return
        self.count += 1
        if self.count == self.at or (self.lasts and self.count > self.at):
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
        vars(self)[name] = value if plain else _ticking(value)  # found without this from now
        return vars(self)[name]


def modules(prefix: str = package.__name__) -> list[Any]:
    """The modules of the generated package, those of its runtime among them."""
    return [m for name, m in sorted(sys.modules.items()) if name.split(".")[0] == prefix]


@contextmanager
def patched(prefix: str = package.__name__) -> Iterator[None]:
    """Count allocations of a package, but for those of what numba may have to compile yet."""
    faulty, originals = FaultyNumpy(), []
    for module in modules(prefix):
        if ".compiled_" in module.__name__ and "commands" not in module.__name__:
            continue
        for name, value in list(vars(module).items()):
            new = faulty if value is np else _ticking(value) if name in BUFFERS else None
            if new is not None:
                originals.append((module, name, value))
                setattr(module, name, new)
    try:
        yield
    finally:
        for module, name, value in originals:
            setattr(module, name, value)


@dataclass
class Scene:
    """Managers as a pickle, and how to find in a loaded one what an operation may change."""

    name: str
    saved: bytes
    parts: Callable[[Any], list[Any]]
    prepare: Callable[[Any], object] = lambda world: None

    def load(self) -> Any:
        world = pickle.loads(self.saved)
        self.prepare(world)
        return world

    def state(self, world: Any) -> list[Any]:
        return [snapshot(part) for part in self.parts(world)]


@dataclass
class Tally:
    """Outcomes of managers after failures."""

    tried: int = 0
    as_it_was: int = 0
    done: int = 0
    broken: int = 0
    wrong: list[str] = field(default_factory=list)
    broke: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def is_broken(part: Any) -> bool:
    return repr(part).startswith("<broken")


def refuses(part: Any) -> bool:
    """Return True if every call of a part raises BrokenManagerError."""
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


class Trial:
    """An operation on a scene, and what the scene's parts hold before and behind it."""

    def __init__(self, scene: Scene, title: str, operation: Operation) -> None:
        self.scene, self.title, self.operation = scene, title, operation
        world = scene.load()
        self.before = scene.state(world)
        operation(world)
        self.after = scene.state(world)


def judge(trial: Trial, where: object, world: Any, error: BaseException | None) -> Tally:
    """Return what an operation left that failed in some place."""
    scene, tally = trial.scene, Tally(tried=1)
    title = f"{scene.name} {trial.title} {where}"
    parts = scene.parts(world)
    broken = [is_broken(part) for part in parts]
    if not any(broken):
        now = scene.state(world)
        if now == trial.before and error is not None:
            tally.as_it_was = 1
            try:
                trial.operation(world)
                again = scene.state(world) == trial.after
            except BaseException as second:
                again = isinstance(second, Broken) and has_broken(world)
                title = f"{title}, then {second!r}"
            if not again:
                tally.wrong.append(f"{title}: as it was, but works no more ({error!r})")
        elif _is_done(trial, now, parts, error):
            tally.done = 1
        elif is_creation(trial) and _is_undone(scene, parts):
            tally.as_it_was = 1  # rows were appended and removed again: others may have moved
        else:
            tally.wrong.append(f"{title}: changed, not broken ({error!r})")
        return tally
    tally.broken = 1
    tally.broke[trial.title] = 1
    for k, part in enumerate(parts):
        if broken[k]:
            if not refuses(part):
                tally.wrong.append(f"{title}: broken, but answers")
        elif not _is_either(part, trial.before[k], trial.after[k]):
            tally.wrong.append(f"{title}: {type(part).__name__} is neither")
    return tally


def has_broken(world: Any) -> bool:
    """Return True if a manager of a world is broken that is no part of the scene."""
    return any(is_broken(part) for part in getattr(world, "__dict__", {}).values())


def is_creation(trial: Trial) -> bool:
    """Return True if entities were to be created with all that they have."""
    in_chunks = trial.scene.name == "Archetypes"
    return "spawn" in trial.title or (in_chunks and trial.title.startswith("create"))


def _is_either(part: Any, before: Any, after: Any) -> bool:
    try:
        if hasattr(part, "alive_many"):  # who is to die of rows that are broken may live on
            return len(part) == len([*part])
        return snapshot(part) in (before, after)
    except Broken:  # it has its entities of one that is broken
        return True


def _is_done(trial: Trial, now: list[Any], parts: list[Any], error: BaseException | None) -> bool:
    """Return True if an operation succeeded in spite of a failure, if by a longer way."""
    if isinstance(error, Exception) and not isinstance(error, BaseExceptionGroup):
        return False
    if now == trial.after:
        return True
    world = trial.scene.load()
    trial.operation(world)
    return [by_owner(part) for part in parts] == [by_owner(p) for p in trial.scene.parts(world)]


def _is_undone(scene: Scene, parts: list[Any]) -> bool:
    """Return True if all entities have what they had, if in other rows."""
    return [by_owner(p) for p in parts] == [by_owner(p) for p in scene.parts(scene.load())]


def fail_everywhere(
    scene: Scene,
    title: str,
    operation: Operation,
    step: int = 1,
    limit: int = 400,
    lasts: bool = False,
) -> Tally:
    """Run an operation with the k-th allocation failing, for every `step`-th k until it gets
    through; which these are differs from title to title and from scene to scene. `lasts`: so do all
    later ones."""
    trial, tally = Trial(scene, title, operation), Tally()
    first = 1 + crc32(f"{scene.name} {title}".encode()) % step
    for k in range(first, limit, step):
        world = scene.load()
        CLOCK.at, CLOCK.count, CLOCK.lasts = k, 0, lasts
        error: BaseException | None = None
        try:
            operation(world)
        except BaseException as raised:
            error = raised
        fired, CLOCK.at, CLOCK.lasts = CLOCK.fired, 0, False
        if not fired:
            if error is not None:
                raise error
            return tally
        problem = _about(error)
        if problem is not None:
            tally.wrong.append(f"{scene.name} {title} #{k}: raises {problem!r}")
        tally.add(judge(trial, f"#{k}", world, error))
    raise AssertionError(f"{scene.name} {title}: no end")


def _about(error: BaseException | None) -> BaseException | None:
    """Return what an error should not have been."""
    if error is None or isinstance(error, (MemoryError, KeyboardInterrupt)):
        return None
    if isinstance(error, BaseExceptionGroup):
        return next((e for e in error.exceptions if _about(e) is not None), None)
    return error


GOLDEN = (5**0.5 - 1) / 2
"""The multiples of this lie evenly between whole numbers."""
LOOKS = {op for op, name in enumerate(dis.opname) if name.startswith("CALL") or "JUMP_BACK" in name}
"""Behind these Python looks for interrupts, as it does when a function begins."""
PASSED = re.compile(r"\s*(return \w+|self\.\w+(, self\.\w+)* = [\w., ]+)$")
"""Lines without a call: nobody can get between these and the ones before."""


class Events:
    """A trace function that counts the places where an interrupt may come, and raises one there.

    These are each line of the package, each beginning of a function, and each place behind a call
    or at the end of a round of a loop.
    """

    def __init__(
        self,
        at: int = 0,
        error: type[BaseException] = KeyboardInterrupt,
        package: str = package.__name__,
    ) -> None:
        self.at = at
        self.error = error
        self._folder = f"/{package}/"
        self.count = 0
        self.where: tuple[str, str, str, int] | None = None
        self.seen: dict[tuple[str, str, str, int], list[int]] = {}
        """By place: the first time and the last one."""
        self._last: dict[int, int] = {}

    def times(self) -> list[int]:
        """Return when an interrupt may come: of a loop in its first round and in its last one."""
        return sorted({time for times_there in self.seen.values() for time in times_there})

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if self._folder not in code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if not code.co_flags & inspect.CO_GENERATOR:  # Python may be about to close one
            self._come("call", frame)
        return self._local

    def _local(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if event == "line":
            line = linecache.getline(code.co_filename, frame.f_lineno)
            if not PASSED.match(line):
                self._come("line", frame)
        elif event == "opcode":
            last = self._last.get(id(frame))
            if last is not None and _bytes_of(code)[last] in LOOKS:
                self._come("behind", frame)
            self._last[id(frame)] = frame.f_lasti
        else:
            self._last.pop(id(frame), None)
        return self._local

    def _come(self, kind: str, frame: FrameType) -> None:
        self.count += 1
        code = frame.f_code
        where = (kind, code.co_filename.split(self._folder)[1], code.co_name, frame.f_lineno)
        if self.count == self.at:
            self.where = where
            sys.settrace(None)
            raise self.error
        self.seen.setdefault(where, [self.count, 0])[1] = self.count


@cache
def _bytes_of(code: CodeType) -> bytes:
    return code.co_code


def traced(events: Events, act: Callable[[], object]) -> BaseException | None:
    """Do something and return what it raises."""
    gc.disable()  # what is lost in finalizers is nobody's fault
    # Tracing can interrupt where no signal does: when numpy has been told what to ignore, but is
    # not inside the `with` yet that tells it otherwise again.
    with np.errstate():
        sys.settrace(events)
        try:
            act()
        except BaseException as raised:
            return raised
        finally:
            sys.settrace(None)
            gc.enable()
    return None


def interrupt_everywhere(
    scene: Scene,
    title: str,
    operation: Operation,
    step: int,
    number: int,
    error: type[BaseException],
) -> Tally:
    """Run an operation with an interrupt at every `step`-th place, at one at least; the first one
    is early, late or between, as the number has it."""
    trial, tally = Trial(scene, title, operation), Tally()
    events = Events()
    failed = traced(events, partial(operation, scene.load()))
    if failed is not None:
        raise failed
    times = events.times()
    first = int(number * GOLDEN % 1 * min(step, len(times)))
    for at in times[first::step]:
        tally.add(_interrupted(trial, Events(at, error)))
    return tally


def _interrupted(trial: Trial, events: Events) -> Tally:
    world = trial.scene.load()
    raised = traced(events, partial(trial.operation, world))
    if events.where is None:
        return Tally()  # it came another way this time
    tally = judge(trial, events.where, world, raised)
    if type(raised) is not events.error:
        tally.wrong.append(f"{trial.scene.name} {trial.title} {events.where}: raises {raised!r}")
    return tally
