"""A system over two components: through queries, groups and archetype chunks, beside others.

    python benchmarks/systems.py [--rows N] [--shares PERCENT ...] [--rounds N] [--work MOVES]
        [--without NAME ...] [--json FILE] [--svg FILE] [--again FILE]

`position += velocity * dt`, three f32 each. All entities have a position, some also a velocity,
and these are scattered among the others. First nothing but the system runs; then in each frame 1 %
of those that move lose their velocity, and those that lost it the frame before get it back. Every
contender is checked to arrive at the same places. esper has 20,000 entities at most, for its time
per entity does not depend on it much. Contenders not installed are named and left out, with
`--without` those whose names have one of these parts. `--work` is how many moves a run has at
least; `--again` reads the figures of an earlier `--json`, and measures nothing.
"""

from __future__ import annotations

import json
import math
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias, cast

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import _systems as s
import _systems_peers as peers
from _arguments import parsed
from _missing_contenders import Contender, available
from _results import OPTIONS, Results, table, write
from _systems import PARTS, Both, Changing, Make, Start, System
from _systems_chart import charts
from _timing import Case, always, measure

SHARES = (1, 10, 50, 100)
MOST_OBJECTS = 20_000
WARM_UP = 2
SINGLE, GROUP, CHUNKS = "one component's kernel", "group", "chunks of 256 KiB"
TOGETHER, CREATED, SHUFFLED = "query, spawned together", "query, as created", "query, shuffled"
FLOOR = "C over the query's rows"
SIZES = {"chunks of 16 KiB": 1 << 14, CHUNKS: 1 << 18, "chunks of 1 MiB": 1 << 20}

RATIOS = (
    (f"{GROUP}, kernel", SINGLE),
    (f"{GROUP}, kernel, numba", f"{SINGLE}, numba"),
    (GROUP, SINGLE),
    (CHUNKS, GROUP),
    (f"{CHUNKS}, kernel", f"{GROUP}, kernel"),
    (f"{CHUNKS}, kernel, numba", f"{GROUP}, kernel, numba"),
    ("chunks of 16 KiB, kernel, numba", f"{GROUP}, kernel, numba"),
    (GROUP, "pools by hand"),
    (SINGLE, "C"),
)
IN_ORDER, IN_NO_ORDER = "; wanted: 3", "; wanted: 8"
NOTES = {
    (TOGETHER, GROUP): IN_ORDER,
    (CREATED, GROUP): IN_ORDER,
    (f"{CREATED}, kernel", f"{GROUP}, kernel"): IN_ORDER,
    (f"{CREATED}, kernel, numba", f"{GROUP}, kernel, numba"): IN_ORDER,
    (f"{FLOOR}, as created", "C"): "; what memory takes",
    (SHUFFLED, GROUP): IN_NO_ORDER,
    (f"{SHUFFLED}, kernel", f"{GROUP}, kernel"): IN_NO_ORDER,
    (f"{SHUFFLED}, kernel, numba", f"{GROUP}, kernel, numba"): IN_NO_ORDER,
    (f"{FLOOR}, shuffled", "C"): "; what memory takes",
    (f"{FLOOR}, shuffled, fetched ahead", "C"): "; the same",
}
"""Differences, and a note beside each while nothing changes."""
Named: TypeAlias = Iterator[tuple[str, Callable[[], Make]]]


def everybody(folder: Path) -> Named:
    """Yield what makes each contender, in the order of the tables."""
    query = partial(s.managers, folder, "systems_query.yaml")
    floor = partial(s.over_rows, folder)
    yield SINGLE, lambda: s.single(folder, "numpy")
    yield f"{SINGLE}, numba", lambda: s.single(folder, "numba")
    group = partial(s.managers, folder, "systems_group.yaml", s.as_created)
    yield from in_three_ways(GROUP, s.columns, group)
    yield TOGETHER, lambda: query(s.together, s.columns)
    yield from in_three_ways(CREATED, s.columns, partial(query, s.as_created))
    yield from in_three_ways(SHUFFLED, s.columns, partial(query, s.shuffled))
    for name, size in SIZES.items():
        yield from in_three_ways(name, s.by_chunk, partial(s.chunks, folder, size))
    yield "pools by hand", lambda: peers.Pools
    yield "C", lambda: peers.in_c(folder)
    yield f"{FLOOR}, as created", lambda: floor("systems_rows.c", s.as_created)
    yield f"{FLOOR}, shuffled", lambda: floor("systems_rows.c", s.shuffled)
    yield f"{FLOOR}, shuffled, fetched ahead", lambda: floor("systems_prefetch.c", s.shuffled)
    yield "esper", peers.in_esper


def in_three_ways(name: str, way: s.Step, make: Callable[..., Make]) -> Named:
    """Yield a line of numpy, a kernel, and a kernel that numba compiles."""
    yield name, lambda: make(way)
    yield f"{name}, kernel", lambda: make(s.kernel)
    yield f"{name}, kernel, numba", lambda: make(s.kernel, "numba")


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


def measure_share(contenders: list[Contender], share: int, options: Namespace, both: Both) -> None:
    """Measure everybody at one share, those with a limit of their own in their own rounds."""
    for limit in sorted({contender.limit for contender in contenders}, reverse=True):
        rows = int(min(limit, options.rows))
        start = Start.of(rows, share)
        systems = {each.name: each.make(start) for each in contenders if each.limit == limit}
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
        named = (
            (name, make, MOST_OBJECTS if name == "esper" else math.inf)
            for name, make in everybody(Path(folder))
        )
        contenders = available(named, options.without, both.still.skipped)
        for share in options.shares:
            print(f"{share} % …", file=sys.stderr, flush=True)
            measure_share(contenders, share, options, both)
    return both


def tables(both: Both) -> str:
    """Return Markdown: what each contender takes, then how that compares."""
    titles = "no structural change", "1 % lose their velocity, 1 % get one, each frame"
    parts = []
    for title, results in zip(titles, (both.still, both.changing), strict=True):
        shares = [f"{share} %" for share in results.sizes()]
        parts.append(table(f"{title}; ns: best (median)", shares, results.times()))
        notes = NOTES if results is both.still else {}
        ratios = results.compared(RATIOS)
        differences = results.compared(NOTES, "−", lambda a, b: f"{a - b:.1f}", notes)
        parts.append(table("best and best", shares, ratios, differences))
    return "\n\n".join(part for part in parts if part)


def main() -> None:
    options = parsed(__doc__, rows=1_000_000, shares=SHARES, rounds=9, work=1_000_000, **OPTIONS)
    if options.again:
        both = Both.from_json(json.loads(options.again.read_text(encoding="utf-8")))
    else:
        both = measured(options)
    print(tables(both))
    write(options.json, both, options.svg, partial(charts, both))


if __name__ == "__main__":
    main()
