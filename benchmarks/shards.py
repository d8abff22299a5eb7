"""Entities that move between worlds, ghosts, and finding visitors: what one process does.

    python benchmarks/shards.py [--rows N] [--rounds N] [--backends NAME ...]

Moving goes out of one world and into another. For several processes there is shards_flock.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _arguments import BACKENDS, parsed
from _package import SCHEMAS, packages
from _timing import Case, Prepare, Run, always, table
from shards_flock import spawn


class Mirror:
    """Rank 0 of two, to whom the other one sends back what it was sent."""

    rank, size = 0, 2

    def exchange(self, parts: Any) -> list[Any]:
        """Return what came: from the other rank, what went there; of its numbers, other ones."""
        sent = bytes(parts[1])
        return [parts[0], sent.replace(b'"shard": 0', b'"shard": 1')]


def moving(package: Any, rows: int, count: int) -> Prepare:
    """Return what lets some of so many go from one world to another; then from there back."""
    worlds = package.Yard(0), package.Yard(1)
    for world in worlds:
        spawn(world, rows)
    random, ways = np.random.default_rng(1), [worlds, worlds[::-1]]

    def prepare() -> Run:
        here, there = ways[0]
        ways.reverse()
        es = random.permutation(here.entities.live())[:count].copy()
        return lambda: there.absorb(here.extract(es))

    return prepare


def refreshing(package: Any, rows: int, count: int) -> Prepare:
    """Return what sends the values of ghosts, and takes as many."""
    shards = package.Shards(package.Yard(), Mirror())
    es = spawn(shards.world, rows)
    shards.refresh(np.random.default_rng(1).permutation(es)[:count], 1)
    return always(shards.refresh)


def finding(package: Any, rows: int, is_visitor: bool) -> Prepare:
    """Return what looks up all birds, made here or elsewhere."""
    home, away = package.Yard(0), package.Yard(1)
    es = np.random.default_rng(1).permutation(spawn(home, rows))
    if is_visitor:
        away.absorb(home.extract(es))
    bird = (away if is_visitor else home).bird
    return always(lambda: bird.lookup_many(es))


def cases(built: dict[str, Any], rows: int) -> Iterator[Case]:
    """Yield what a process does for itself."""
    for count in (min(5000, rows), min(500, rows)):
        yield Case(
            "moving", count, {b: moving(package, rows, count) for b, package in built.items()}
        )
    count = min(20_000, rows)
    refreshes = {b: refreshing(package, rows, count) for b, package in built.items()}
    yield Case("refresh, a ghost out and one in", count, refreshes)
    lookups = {
        f"{backend}, {'visitors' if is_visitor else 'natives'}": finding(package, rows, is_visitor)
        for backend, package in built.items()
        for is_visitor in (False, True)
    }
    yield Case("lookup_many", rows, lookups)


def main() -> None:
    options = parsed(__doc__, rows=100_000, rounds=40, backends=BACKENDS)
    with TemporaryDirectory() as folder:
        built = packages(Path(folder), options.backends, SCHEMAS / "shards.yaml")
        table(cases(built, options.rows), options.rounds, ())


if __name__ == "__main__":
    main()
