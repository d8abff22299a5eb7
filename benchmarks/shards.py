"""Entities that move between worlds, ghosts, and a flock over one process and over two.

    python benchmarks/shards.py [--rows N] [--rounds N] [--flock N] [--ticks N]

First what one process does for itself: moving (out of one world, into another), refreshing ghosts,
finding natives and visitors. Then `mpiexec`: a flock on one rank and on two, and twice the flock
on two (weak scaling). Two ranks need two idle cores: look at the load. The CPU time of the slower
rank, which sleeps while it waits, tells what to expect of those.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from _missing import MissingError
from _package import SCHEMAS, built
from _timing import Case, Prepare, Run, always, heading, machine, show

VISION, NEAR = 10.0, 3.3
MPIEXEC = Path(sys.executable).parent / "mpiexec"
QUIET = {
    "HYDRA_IFACE": "lo",
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "10",
    "OMP_NUM_THREADS": "1",
}


class Mirror:
    """Rank 0 of two, to whom the other one sends back what it was sent."""

    rank, size = 0, 2

    def exchange(self, parts: Any) -> list[Any]:
        """Return what came: from the other rank, what went there; of its numbers, other ones."""
        said = bytes(parts[1])
        if b'"shard": 0' in said:
            return [parts[0], said.replace(b'"shard": 0', b'"shard": 1')]
        return [parts[0], said]


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


def moving(package: Any, rows: int, some: int) -> Prepare:
    """Return what lets some of so many go from one world to another; then from there back."""
    worlds = package.Yard(0), package.Yard(1)
    for world in worlds:
        spawn(world, rows)
    random, ways = np.random.default_rng(1), [worlds, worlds[::-1]]

    def prepare() -> Run:
        here, there = ways[0]
        ways.reverse()
        es = random.permutation(here.entities.live())[:some].copy()
        return lambda: there.absorb(here.extract(es))

    return prepare


def refreshing(package: Any, rows: int, some: int) -> Prepare:
    """Return what sends the values of ghosts, and takes as many."""
    shards = package.Shards(package.Yard(), Mirror())
    es = spawn(shards.world, rows)
    shards.refresh(np.random.default_rng(1).permutation(es)[:some], 1)
    return always(shards.refresh)


def finding(package: Any, rows: int, is_visitor: bool) -> Prepare:
    """Return what looks up all birds, made here or elsewhere."""
    home, away = package.Yard(0), package.Yard(1)
    es = np.random.default_rng(1).permutation(spawn(home, rows))
    if is_visitor:
        away.absorb(home.extract(es))
    bird = (away if is_visitor else home).bird
    return always(lambda: bird.lookup_many(es))


def alone(packages: dict[str, Any], rows: int, rounds: int) -> None:
    """Measure what a process does for itself."""
    print(f"{machine()}\n\n{heading(())}")
    for some in (min(5000, rows), min(500, rows)):
        made = {name: moving(each, rows, some) for name, each in packages.items()}
        show(Case("moving", some, made), rounds, ())
    some = min(20_000, rows)
    made = {name: refreshing(each, rows, some) for name, each in packages.items()}
    show(Case("refresh, a ghost out and one in", some, made), rounds, ())
    made = {
        f"{name}, {'visitors' if visits else 'natives'}": finding(each, rows, visits)
        for name, each in packages.items()
        for visits in (False, True)
    }
    show(Case("lookup_many", rows, made), rounds, ())


# --- several processes --------------------------------------------------------------------


def fly(folder: str, name: str, count: int, ticks: int) -> None:
    """Let the birds of this rank fly; rank 0 prints the seconds of a tick on the slower rank, the
    best of all ticks: by the clock, and CPU time."""
    sys.path.insert(0, folder)
    package = import_module(name)
    with package.Shards(package.Yard(), timeout=600) as shards:
        world, bird = shards.world, shards.world.bird
        size = sqrt(count * pi * VISION**2 / NEAR)
        bird.wrap = (size, size)
        space = package.Blocks((0, 0), (size, size), shards.size, periodic=True)
        share = count // shards.size
        spawn(world, share, shards.rank * share)
        bird.data.place = np.random.default_rng(shards.rank).random((share, 2)) * size
        best = [float("inf")] * 2
        for tick in range(ticks + 2):
            began = time.perf_counter(), time.process_time()
            shards.migrate(bird.data.entity, space.owner(bird.data.place))
            rows, ranks = space.borders(bird.data.place, VISION, shards.rank)
            shards.refresh(bird.data.entity[rows], ranks)
            bird.steer(VISION)
            bird.fly(1.0, size)
            ended = time.perf_counter(), time.process_time()
            took = shards.max([[end - begin for end, begin in zip(ended, began, strict=True)]])
            if tick > 1:  # the first ones compile, and strew
                best = np.minimum(best, took).tolist()
    if shards.rank == 0:
        print(*best)


def ranks(package: Any, n: int, count: int, ticks: int) -> list[float]:
    """Return the seconds that a tick takes on some ranks: by the clock, and CPU time."""
    home = str(Path(package.__file__).resolve().parents[1])
    script = [sys.executable, __file__, "--fly", home, package.__name__, str(count), str(ticks)]
    done = subprocess.run(
        [str(MPIEXEC), "-n", str(n), *script],
        env={**os.environ, **QUIET},
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(text) for text in done.stdout.split()]


def together(backend: str, package: Any, count: int, ticks: int, rounds: int) -> None:
    """Compare one rank with two."""
    runs = {"one rank": (1, count), "two ranks": (2, count), "two ranks, twice": (2, 2 * count)}
    best = {name: np.full(2, np.inf) for name in runs}
    for _ in range(rounds):
        for name, (n, birds) in runs.items():
            best[name] = np.minimum(best[name], ranks(package, n, birds, ticks))
    print(f"\nA flock of {count:,}, {backend}, {machine()}; ms of a tick, the best\n")
    print("| | by the clock | CPU |\n| --- | --- | --- |")
    one, two, twice = best.values()
    for name, ms in ((name, 1e3 * seconds) for name, seconds in best.items()):
        print(f"| {name} | {ms[0]:.1f} | {ms[1]:.1f} |")
    for name, ratio in (("one / two", one / two), ("one / twice", one / twice)):
        print(f"| {name} | {ratio[0]:.2f} | {ratio[1]:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--flock", type=int, default=1_000_000)
    parser.add_argument("--ticks", type=int, default=6)
    parser.add_argument("--backends", nargs="+", default=("numpy", "numba"))
    parser.add_argument("--fly", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fly:
        home, name, count, ticks = options.fly
        fly(home, name, int(count), int(ticks))
        return
    with tempfile.TemporaryDirectory() as folder:
        packages = {}
        for name in options.backends:
            try:
                packages[name] = built(Path(folder), name, SCHEMAS / "shards.yaml")
            except MissingError as missing:
                print(f"{name} is left out: {missing}")
        alone(packages, options.rows, options.rounds)
        *_, (name, package) = packages.items()
        together(name, package, options.flock, options.ticks, min(3, options.rounds))


if __name__ == "__main__":
    main()
