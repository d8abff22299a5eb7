"""Entities: the generated manager beside two that anyone would write first.

    python benchmarks/entities.py [ENTITIES]

"ids" counts up and keeps live numbers in a set, as small Python libraries do: no reuse, no stale
handles told from live ones once a number is forgotten. "lists" does what the generated manager
does, with a list of generations and a deque of free indices. Per call in ns, and as a share of
"lists".
"""

from __future__ import annotations

import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from generated.entities import EntityManager

REPEATS = 5


class Ids:
    """A counter and a set."""

    def __init__(self) -> None:
        self._next = count(1)
        self._live: set[int] = set()

    def create(self) -> int:
        e = next(self._next)
        self._live.add(e)
        return e

    def destroy(self, e: int) -> None:
        self._live.remove(e)

    def alive(self, e: int) -> bool:
        return e in self._live

    def create_many(self, n: int) -> list[int]:
        return [self.create() for _ in range(n)]

    def destroy_many(self, es: Iterable[int]) -> None:
        for e in es:
            self.destroy(e)

    def alive_many(self, es: Iterable[int]) -> list[bool]:
        return [e in self._live for e in es]


class Lists(Ids):
    """Generations in a list, free indices in a deque."""

    def __init__(self) -> None:
        self._generations: list[int] = []
        self._free: deque[int] = deque()

    def create(self) -> int:
        if len(self._free) > 1024:
            index = self._free.popleft()
        else:
            index = len(self._generations)
            self._generations.append(1)
        return self._generations[index] << 32 | index

    def destroy(self, e: int) -> None:
        if not self.alive(e):
            raise LookupError(e)
        index = e & 0xFFFF_FFFF
        self._generations[index] += 1
        self._free.append(index)

    def alive(self, e: int) -> bool:
        index = e & 0xFFFF_FFFF
        return index < len(self._generations) and self._generations[index] == e >> 32

    def alive_many(self, es: Iterable[int]) -> list[bool]:
        return [self.alive(e) for e in es]


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    found = {cls.__name__: best(cls, n) for cls in (Lists, Ids, EntityManager)}
    print(f"{n:,} entities, destroyed in random order; ns per entity (share of Lists)")
    for step in found["Lists"]:
        columns = [
            f"{name} {times[step]:7.1f} ({times[step] / found['Lists'][step]:5.2f})"
            for name, times in found.items()
        ]
        print(f"{step:13s}", "  ".join(columns))


def best(cls: Callable[[], Any], n: int) -> dict[str, float]:
    """The best of some runs, in ns per entity."""
    runs = [run(cls(), n) for _ in range(REPEATS)]
    return {step: min(times[step] for times in runs) / n * 1e9 for step in runs[0]}


def run(entities: Any, n: int) -> dict[str, float]:
    times: dict[str, float] = {}

    def timed(step: str, action: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = action()
        times[step] = time.perf_counter() - start
        return result

    es = timed("create", lambda: [entities.create() for _ in range(n)])
    random.Random(0).shuffle(es)
    timed("alive", lambda: [entities.alive(e) for e in es])
    timed("destroy", lambda: [entities.destroy(e) for e in es])
    timed("create again", lambda: [entities.create() for _ in range(n)])
    es = timed("create_many", lambda: entities.create_many(n))
    random.Random(0).shuffle(es)
    timed("alive_many", lambda: entities.alive_many(es))
    timed("destroy_many", lambda: entities.destroy_many(es))
    return times


if __name__ == "__main__":
    main()
