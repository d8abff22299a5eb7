"""Entities that move between worlds, ghosts, and finding visitors: what one process does.

    python benchmarks/shards.py [--rows N] [--rounds N] [--backends NAME ...]

Moving goes out of one world and into another. For several processes there is shards_flock.py.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from _missing_contenders import MissingError
from _package import SCHEMAS, built
from _timing import Case, Prepare, Run, always, heading, machine, show
from shards_flock import spawn


class Mirror:
    """Rank 0 of two, to whom the other one sends back what it was sent."""

    rank, size = 0, 2

    def exchange(self, parts: Any) -> list[Any]:
        """Return what came: from the other rank, what went there; of its numbers, other ones."""
        said = bytes(parts[1])
        if b'"shard": 0' in said:
            return [parts[0], said.replace(b'"shard": 0', b'"shard": 1')]
        return [parts[0], said]


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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--backends", nargs="+", default=("numpy", "numba"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        packages = {}
        for name in options.backends:
            try:
                packages[name] = built(Path(folder), name, SCHEMAS / "shards.yaml")
            except MissingError as missing:
                print(f"{name} is left out: {missing}")
        alone(packages, options.rows, options.rounds)


if __name__ == "__main__":
    main()
