"""A flock over one process and over two: the same (strong scaling), and twice as many (weak).

    python benchmarks/shards_flock.py [--backend NAME] [--flock N] [--ticks N] [--rounds N]

For each phase of a tick the ms of the slower rank, by the clock and of CPU time: medians of all
ticks, the best of all rounds. Two ranks need two idle cores: look at the load. A rank that waits
sleeps, so the CPU time tells what to expect of idle cores.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from importlib import import_module
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from _arguments import parsed
from _mpi_run import said
from _package import SCHEMAS, built
from _timing import machine

VISION, NEAR = 10.0, 3.3
MPIEXEC = str(Path(sys.executable).parent / "mpiexec")
PHASES = ("migrate", "borders", "refresh", "steer", "fly")
WARM = 2
"""The first ticks compile, and strew."""


def spawn(world: Any, count: int, first: int = 0) -> Any:
    """Strew birds over a torus."""
    random = np.random.default_rng(first + 1)
    size = sqrt(count * pi * VISION**2 / NEAR)
    angles = random.random(count) * 2 * pi
    bird = {
        "place": (random.random((count, 2)) * size).astype(np.float32),
        "heading": np.stack([np.cos(angles), np.sin(angles)], axis=1),
    }
    return world.spawn(count, bird=bird, body={}, mood={"key": np.arange(count) + first})


class Watch:
    """Clock and CPU time of each phase, in ms."""

    def __init__(self) -> None:
        self.spent: dict[str, list[tuple[float, float]]] = {name: [] for name in PHASES}
        self._since = self._now()

    @staticmethod
    def _now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    def start(self) -> None:
        """Begin a tick."""
        self._since = self._now()

    def lap(self, phase: str) -> None:
        """Count what was spent since the last lap."""
        before, self._since = self._since, self._now()
        clock, cpu = (1e3 * (end - begin) for end, begin in zip(self._since, before, strict=True))
        self.spent[phase].append((clock, cpu))

    def medians(self) -> list[list[float]]:
        """Return clock and CPU of each phase and of whole ticks."""
        ticks = np.array([self.spent[name] for name in PHASES])[:, WARM:]
        with_sums = np.concatenate((ticks, ticks.sum(0)[None]))
        medians: list[list[float]] = np.median(with_sums, axis=1).tolist()
        return medians


def fly(folder: str, name: str, count: int, ticks: int) -> None:
    """Move the birds of this rank; rank 0 prints the times of the slower rank."""
    sys.path.insert(0, folder)
    package = import_module(name)
    with package.Shards(package.Yard(), timeout=600) as shards:
        world, bird, watch = shards.world, shards.world.bird, Watch()
        size = sqrt(count * pi * VISION**2 / NEAR)
        bird.wrap = (size, size)
        space = package.Blocks((0, 0), (size, size), shards.size, periodic=True)
        share = count // shards.size
        spawn(world, share, shards.rank * share)
        bird.data.place = np.random.default_rng(shards.rank).random((share, 2)) * size
        for _ in range(WARM + ticks):
            watch.start()
            shards.migrate(bird.data.entity, space.owner(bird.data.place))
            watch.lap("migrate")
            rows, ranks = space.borders(bird.data.place, VISION, shards.rank)
            watch.lap("borders")
            shards.refresh(bird.data.entity[rows], ranks)
            watch.lap("refresh")
            bird.steer(VISION)
            watch.lap("steer")
            bird.fly(1.0, size)
            watch.lap("fly")
        slower = shards.max([watch.medians()])
    if shards.rank == 0:
        print(json.dumps(slower.tolist()))


def spent(package: Any, n: int, count: int, ticks: int) -> Any:
    """Return the ms that some ranks spend on each phase and a tick: clock and CPU."""
    home = str(Path(package.__file__).resolve().parents[1])
    script = [sys.executable, __file__, "--fly", home, package.__name__, str(count), str(ticks)]
    return np.array(said(MPIEXEC, n, script))


def together(backend: str, package: Any, count: int, ticks: int, rounds: int) -> None:
    """Compare one rank with two, and with two that have twice as much to do."""
    runs = {"one rank": (1, count), "two ranks": (2, count), "two ranks, twice": (2, 2 * count)}
    best = {name: np.full((len(PHASES) + 1, 2), np.inf) for name in runs}
    for _ in range(rounds):
        for name, (n, birds) in runs.items():
            best[name] = np.minimum(best[name], spent(package, n, birds, ticks))
    print(f"\nA flock of {count:,}, {backend}, {machine()}; ms: by the clock, of CPU time\n")
    print(f"| | {' | '.join(runs)} |\n| --- |{' --- |' * len(runs)}")
    for phase, name in enumerate((*PHASES, "**tick**")):
        cells = (f"{each[phase][0]:.1f}, {each[phase][1]:.1f}" for each in best.values())
        print(f"| {name} | {' | '.join(cells)} |")
    alone, two, twice = (each[-1] for each in best.values())
    strong, weak = alone / two, alone / twice
    print(f"\nstrong scaling, one / two: {strong[0]:.2f} by the clock, {strong[1]:.2f} of CPU time")
    print(f"weak scaling, one / twice: {weak[0]:.2f} by the clock, {weak[1]:.2f} of CPU time")


def main() -> None:
    if sys.argv[1:2] == ["--fly"]:  # on a rank
        home, name, count, ticks = sys.argv[2:]
        fly(home, name, int(count), int(ticks))
        return
    options = parsed(__doc__, backend="numba", flock=1_000_000, ticks=6, rounds=3)
    with tempfile.TemporaryDirectory() as folder:
        package = built(Path(folder), options.backend, SCHEMAS / "shards.yaml")
        together(options.backend, package, options.flock, options.ticks, options.rounds)


if __name__ == "__main__":
    main()
