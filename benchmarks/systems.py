"""A system over two components: through queries, groups and archetype chunks, beside others.

    python benchmarks/systems.py [--rows N] [--shares PERCENT ...] [--rounds N]
                                 [--without NAME ...] [--json FILE] [--svg FILE]

`position += velocity * dt`, three f32 each. All entities have a position, some also a velocity,
and these are scattered among the others. First nothing but the system runs; then in each frame 1 %
of those that move lose their velocity, and those that lost it the frame before get it back. Every
contender is checked to arrive at the same places. esper has 20,000 entities at most, for its time
per entity does not depend on it much. Contenders not installed are named and left out.
"""

from __future__ import annotations

import math
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import _systems as s
import _systems_floor as memory
import _systems_peers as peers
import _systems_results as names
from _missing import MissingError
from _simulate_results import Results
from _systems import PARTS, Changing, Make, Start, System
from _systems_chart import charts
from _systems_results import Both, tables
from _timing import Case, always, measure

SHARES = (1, 10, 50, 100)
MOST_OBJECTS = 20_000
WARM_UP = 2


@dataclass(frozen=True, slots=True)
class Contender:
    """Makes a system over any number of entities up to a limit."""

    name: str
    make: Make
    limit: float


def contenders(
    folder: Path, without: Iterable[str], skipped: dict[str, str]
) -> Iterator[Contender]:
    """Find who can take part; of the others note why not."""
    inf = math.inf
    query = partial(s.managers, folder, "systems_query.yaml")
    group = partial(s.managers, folder, "systems_group.yaml", order=s.as_created)
    floor = partial(memory.floor, folder)
    chunks = partial(s.chunks, folder)
    everybody: tuple[tuple[str, Callable[[], Make], float], ...] = (
        (names.SINGLE, lambda: s.single(folder, "numpy"), inf),
        (names.SINGLE_NUMBA, lambda: s.single(folder, "numba"), inf),
        (names.GROUP, lambda: group(s.columns), inf),
        (names.GROUP_KERNEL, lambda: group(s.kernel), inf),
        (names.GROUP_NUMBA, lambda: group(s.kernel, backend="numba"), inf),
        (names.TOGETHER, lambda: query(s.columns, s.together), inf),
        (names.CREATED, lambda: query(s.columns, s.as_created), inf),
        (names.CREATED_KERNEL, lambda: query(s.kernel, s.as_created), inf),
        (names.CREATED_NUMBA, lambda: query(s.kernel, s.as_created, "numba"), inf),
        (names.SHUFFLED, lambda: query(s.columns, s.shuffled), inf),
        (names.SHUFFLED_KERNEL, lambda: query(s.kernel, s.shuffled), inf),
        (names.SHUFFLED_NUMBA, lambda: query(s.kernel, s.shuffled, "numba"), inf),
        (names.UNITY, lambda: chunks(1 << 14, s.by_chunk), inf),
        (names.UNITY_KERNEL, lambda: chunks(1 << 14, s.kernel), inf),
        (names.UNITY_NUMBA, lambda: chunks(1 << 14, s.kernel, "numba"), inf),
        (names.DEFAULT, lambda: chunks(1 << 18, s.by_chunk), inf),
        (names.DEFAULT_KERNEL, lambda: chunks(1 << 18, s.kernel), inf),
        (names.DEFAULT_NUMBA, lambda: chunks(1 << 18, s.kernel, "numba"), inf),
        (names.LARGE, lambda: chunks(1 << 20, s.by_chunk), inf),
        (names.LARGE_KERNEL, lambda: chunks(1 << 20, s.kernel), inf),
        (names.LARGE_NUMBA, lambda: chunks(1 << 20, s.kernel, "numba"), inf),
        (names.POOLS, lambda: peers.Pools, inf),
        (names.C, lambda: peers.in_c(folder), inf),
        (names.C_CREATED, lambda: floor("systems_rows.c", s.as_created), inf),
        (names.C_SHUFFLED, lambda: floor("systems_rows.c", s.shuffled), inf),
        (names.C_AHEAD, lambda: floor("systems_ahead.c", s.shuffled), inf),
        (names.ESPER, peers.in_esper, MOST_OBJECTS),
    )
    for name, prepare, limit in everybody:
        if name in without:
            skipped[name] = "not asked for"
            continue
        try:
            yield Contender(name, prepare(), limit)
        except MissingError as reason:
            skipped[name] = str(reason)


def still(system: System, frames: int) -> None:
    """Run the system some times."""
    for _ in range(frames):
        system.step()


class SlotUpdates:
    """Runs the system with a structural change before each frame."""

    def __init__(self, system: Changing, start: Start) -> None:
        self._system = system
        self._parts = start.parts
        self._turns = count()
        system.change(start.parts[-1], start.parts[0][:0])  # got back in the first frame

    def run(self, frames: int) -> None:
        for _, turn in zip(range(frames), self._turns, strict=False):
            self._system.change(self._parts[turn % PARTS], self._parts[(turn - 1) % PARTS])
            self._system.step()


def check(name: str, system: System, start: Start) -> None:
    """See that a contender arrives where it should."""
    frames = np.zeros(len(start.position), np.intp)
    still(system, 2)
    frames[start.moving] = 2
    expect(name, system, start, frames)


def check_changes(name: str, system: System, changes: SlotUpdates, start: Start) -> None:
    """See that those who lost their velocity stay, and all others go on."""
    before = system.position().astype(np.float64)
    changes.run(2)
    frames = np.zeros(len(start.position), np.intp)
    frames[start.moving] = 2
    for part in start.parts[:2]:
        frames[part] -= 1
    np.testing.assert_allclose(
        system.position() - before,
        start.after(frames) - start.position,
        atol=1e-5,
        err_msg=name,
    )


def expect(name: str, system: System, start: Start, frames: s.Numbers) -> None:
    np.testing.assert_allclose(system.position(), start.after(frames), atol=1e-6, err_msg=name)


def measure_share(found: list[Contender], share: int, options: Namespace, both: Both) -> None:
    """Measure everybody at one share, those with a limit of their own in their own rounds."""
    for limit in sorted({contender.limit for contender in found}, reverse=True):
        rows = int(min(limit, options.rows))
        start = Start.of(rows, share)
        systems = {each.name: each.make(start) for each in found if each.limit == limit}
        for name, system in systems.items():
            check(name, system, start)
        work = options.work if math.isinf(limit) else options.work // 10
        frames = max(1, work // len(start.moving))
        runs = {name: partial(still, system, frames) for name, system in systems.items()}
        add(both.still, share, frames * len(start.moving), runs, options.rounds)

        frames = max(2, frames // 10)
        changing = {
            name: SlotUpdates(cast(Changing, system), start)
            for name, system in systems.items()
            if hasattr(system, "change")
        }
        for name, changes in changing.items():
            check_changes(name, systems[name], changes, start)
        runs = {name: partial(changes.run, frames) for name, changes in changing.items()}
        add(both.changing, share, frames * len(start.moving), runs, options.rounds)


def add(
    results: Results, share: int, moves: int, runs: dict[str, partial[None]], rounds: int
) -> None:
    prepared = {name: always(run) for name, run in runs.items()}
    for name, times in measure(Case(f"{share} %", moves, prepared), rounds, WARM_UP).items():
        results.add(name, share, times)


def measured(options: Namespace) -> Both:
    both = Both(options.rows, Results(), Results())
    with TemporaryDirectory() as folder:
        found = list(contenders(Path(folder), options.without, both.still.skipped))
        for name, reason in both.still.skipped.items():
            print(f"{name} is left out: {reason}")
        for share in options.shares:
            print(f"{share} % …", file=sys.stderr, flush=True)
            measure_share(found, share, options, both)
    return both


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="entities")
    parser.add_argument("--shares", type=int, nargs="+", default=SHARES, metavar="PERCENT")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--work", type=int, default=1_000_000, help="moves in a run, at least")
    parser.add_argument("--without", nargs="*", default=[], help="contenders' names")
    parser.add_argument("--json", type=Path, help="write the figures")
    parser.add_argument("--again", type=Path, help="do not measure, read the figures from a file")
    parser.add_argument("--svg", type=Path, help="write the plot")
    options = parser.parse_args()
    both = Both.load(options.again) if options.again else measured(options)
    print(tables(both))
    if options.json is not None:
        both.save(options.json)
    if options.svg is not None:
        options.svg.write_text(charts(both), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
