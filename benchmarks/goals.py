"""Searches by an index, a network, and settings: each beside its goal, which stands in its name.

    python benchmarks/goals.py [--sizes N ...] [--links N] [--rounds N] [--backends NAME ...]

Searches by an index, of a tenth as many values as rows: made anew, found, and in turn with single
writes, in ns. A network made anew, beside a stable argsort of its ends, and sums over its links,
beside numpy and numba by hand. Calls of a kernel that reads settings, takes arguments, or has
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _arguments import BACKENDS, parsed
from _missing_contenders import library
from _package import SCHEMAS, built, packages
from _timing import Case, loop, table

SEARCHES = 1000
CALLS = 2000


def searches(package: Any, rows: int) -> Iterator[Case]:
    """Yield searches by an index."""
    world, random = package.Town(), np.random.default_rng(1)
    teams = random.integers(0, rows // 10, rows).astype(np.int32)
    world.spawn(rows, unit={"team": teams})
    units = world.unit
    wanted = random.integers(0, rows // 10, SEARCHES).tolist()

    def anew() -> None:
        units.data.team = teams
        units.rows_of_team(3)

    def found() -> None:
        for team in wanted:
            units.rows_of_team(team)

    def in_turn() -> None:
        for row, team in enumerate(wanted[: len(units)]):
            units.set_team(row, team)
            units.rows_of_team(team)

    anew()
    assert units.rows_of_team(3).tolist() == np.flatnonzero(teams == 3).tolist()
    contenders = {"index": anew, "argsort": lambda: teams.argsort()}
    yield Case.of(f"{rows:,} rows made anew (2.5 x argsort)", 1, contenders)
    yield Case.of(f"{rows:,} rows: rows_of_team (3,000)", SEARCHES, {"index": found})
    yield Case.of(f"{rows:,} rows: set_team, rows_of_team (50,000)", SEARCHES, {"index": in_turn})


def summed(me: Any, other: Any, x: Any, totals: Any) -> None:
    """Add what is at the other ends, link by link."""
    totals[:] = 0
    for k in range(len(me)):
        totals[me[k]] += x[other[k]]


def networks(backend: str, package: Any, nodes: int, links: int) -> Iterator[Case]:
    """Yield a network made anew, and sums over its links."""
    world, random = package.Net(), np.random.default_rng(1)
    es = world.spawn(nodes, node={"x": random.random(nodes)})
    ends = random.integers(0, nodes, (links, 2))
    ends[:, 1] = np.where(ends[:, 0] == ends[:, 1], (ends[:, 1] + 1) % nodes, ends[:, 1])
    world.link.create_many(links, a=es[ends[:, 0]], b=es[ends[:, 1]])
    me, other = ends.reshape(-1), ends[:, ::-1].reshape(-1)

    columns = cycle((np.roll(es[ends[:, 0]], 1), es[ends[:, 0]]))

    def anew() -> None:
        world.link.data.a = next(columns)
        world.link.links_of(es[:1])

    def in_numpy() -> object:
        return np.bincount(me, world.node.data.x[other], nodes)

    compiled: Any = library("numba").njit(summed)
    totals = np.zeros(nodes)

    def in_numba() -> object:
        return compiled(me, other, world.node.data.x, totals)

    by_hand = in_numpy if backend == "numpy" else in_numba
    world.add()
    by_hand()
    sizes = f"{backend}, {nodes:,} nodes, {links:,} links"
    contenders = {"network": anew, "argsort": lambda: me.argsort(kind="stable")}
    yield Case.of(f"{sizes}: made anew (goal 0.5)", 2 * links, contenders)
    runs = {"network": world.add, "by hand": by_hand}
    yield Case.of(f"{sizes}: sum over links (goal 1.3)", 2 * links, runs)


def settings(backend: str, package: Any) -> Iterator[Case]:
    """Yield calls on few and on many rows."""
    for rows in (10, 10_000):
        world = package.Weather()
        world.spawn(rows, leaf={"v": 1})
        world.settings.dt, world.settings.wind = 0.5, 0.25
        leaves, calls = world.leaf, partial(loop, values=range(CALLS))
        runs = {
            "settings": calls("call()", call=leaves.settled),
            "arguments": calls("call(0.5, 0.25)", call=leaves.argued),
            "numbers": calls("call()", call=leaves.bare),
        }
        yield Case.of(f"{backend}, {rows} rows: settings / arguments (goal 1.00)", CALLS, runs)


def cases(folder: Path, options: Any) -> Iterator[Case]:
    """Yield what is timed."""
    package = built(folder, "numpy", SCHEMAS / "index.yaml")
    for rows in options.sizes:
        yield from searches(package, rows)
    for backend, package in packages(folder, options.backends, SCHEMAS / "network.yaml").items():
        for nodes in options.sizes:
            yield from networks(backend, package, nodes, options.links)
    for backend, package in packages(folder, options.backends, SCHEMAS / "settings.yaml").items():
        yield from settings(backend, package)


def main() -> None:
    defaults = {"sizes": (100_000, 1_000_000), "links": 1_000_000, "rounds": 7}
    options = parsed(__doc__, **defaults, backends=BACKENDS)
    with TemporaryDirectory() as folder:
        table(cases(Path(folder), options), options.rounds, ["index", "network", "settings"])


if __name__ == "__main__":
    main()
