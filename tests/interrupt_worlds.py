"""Real signals while entities come and go: `python -m tests.interrupt_worlds 60` for a minute.

A timer interrupts a world at moments of its own. After that each manager is whole or says that it
is broken, nothing is locked, and whoever is destroyed is dead.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random

from tests.support.fault_injection import is_broken
from tests.support.policies_package import MANAGERS, package

CODECS = {"*": (lambda thing: repr(thing).encode(), bytes.decode)}
OWNED = [
    name
    for name in package.Many.MANAGERS
    if hasattr(package.Many.MANAGER_CLASSES[name], "lookup")
    and package.Many.MANAGER_CLASSES[name].__name__ in MANAGERS
]


class Bell:
    """Rings once, some time from now: a signal whose handler raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.has_rung = self.is_lost = self.is_over = False

    def ring(self, *_: object) -> None:
        if not self.is_over:
            self.has_rung = self.is_over = True
            raise KeyboardInterrupt

    def lose(self, _: object) -> None:
        self.is_lost = True  # in a finalizer, of which nobody is told

    def while_doing(self, act: Callable[[], object], delay: float) -> BaseException | None:
        """Do something, and return what it raises."""
        self.has_rung = self.is_lost = self.is_over = False
        hook, sys.unraisablehook = sys.unraisablehook, self.lose
        former = signal.signal(signal.SIGALRM, self.ring)
        error: BaseException | None = None
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            act()
            self.is_over = True
        except BaseException as raised:
            error = raised
            self.is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
        sys.unraisablehook = hook
        return error


class Life:
    """A world in which entities come and go."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.world = w = package.Many()
        self.names = random.sample(OWNED, 6)
        for name in OWNED:
            manager = getattr(w, name)
            if hasattr(manager, "on_release"):
                manager.on_release(lambda rows: self.destroy_another())
        w.entities.on_destroy(lambda es: self.destroy_another())
        self.spawn(60)

    def some(self, count: int) -> list[int]:
        living = list(self.world.entities)
        return self.random.sample(living, min(count, len(living)))

    def destroy_another(self) -> None:
        if self.random.random() < 0.3:
            for entity in self.some(1):
                self.world.destroy(entity)

    def spawn(self, count: int) -> None:
        names = self.random.sample(self.names, 3)
        parts: dict[str, dict[str, object]] = {name: {} for name in names}
        self.world.spawn(count, **parts)

    def step(self) -> None:
        """Change something."""
        w, random = self.world, self.random
        manager = getattr(w, random.choice(self.names))
        choice = random.randrange(9)
        if choice < 2:
            self.spawn(random.choice([1, 2, 20]))
        elif choice == 2:
            for entity in self.some(1):
                w.destroy(entity)
        elif choice == 3:
            w.destroy_many(self.some(random.choice([2, 20])))
        elif choice == 4:
            lacking = [e for e in self.some(30) if not manager.has(e)]
            manager.create_many(lacking)
        elif choice == 5:
            manager.remove_many(self.some(9))
        elif choice == 6 and len(manager):
            manager.remove(next(iter(manager)))
        elif choice == 7:
            w.collect()
        else:
            w.archetypes.create([package.Health], 3)

    def wrong(self) -> str | None:
        """Return what is wrong with the world, if anything is."""
        w = self.world
        parts = {name: getattr(w, name) for name in w.MANAGERS}
        managers = {"entities": w.entities, "archetypes": w.archetypes, **parts}
        if any(is_broken(part) for part in managers.values()):
            return None
        for name, part in managers.items():
            if name != "entities" and part._is_locked():
                return f"{name} is locked"
        if w.entities.dispatch.is_open():
            return "callbacks are at work"
        try:
            package.Many.load(w.to_bytes(codecs=CODECS), codecs=CODECS)
        except Exception as error:
            return f"it cannot be saved and loaded: {error!r}"
        for entity in self.some(3):
            with suppress(ExceptionGroup, package.StaleEntityError):  # others destroy as well
                w.destroy(entity)
            if w.entities.alive(entity):
                return "who is destroyed lives on"
        return None


def interrupted_worlds(seconds: float, seed: int) -> tuple[int, list[str]]:
    """Interrupt worlds for some time; return how many, and what was wrong with them."""
    random, bell = Random(seed), Bell()
    end = time.monotonic() + seconds
    count, wrong = 0, []
    life = Life(random)
    while time.monotonic() < end:
        error = bell.while_doing(life.step, random.uniform(1e-6, 4e-4))
        if not bell.has_rung:
            if error is not None and not isinstance(error, ExceptionGroup):
                raise error
            continue
        count += 1
        if not isinstance(error, KeyboardInterrupt) and not bell.is_lost:
            wrong.append(f"the interrupt was lost: {error!r}")
        problem = life.wrong()
        if problem is not None:
            wrong.append(problem)
        life = Life(random)
    return count, wrong


if __name__ == "__main__":
    found = interrupted_worlds(float(sys.argv[1]), int(time.time()))
    print(f"{found[0]} worlds were interrupted; wrong: {found[1]}")
    sys.exit(bool(found[1]))
