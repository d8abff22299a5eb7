"""A network made anew, and sums over its links, beside numpy and numba by hand, with the goals.

    python benchmarks/network.py [--nodes N ...] [--links N] [--rounds N] [--backends NAME ...]

The goals, as ratios: made anew 0.5 of a stable argsort of its ends, a sum 1.3 of one by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _arguments import BACKENDS, parsed
from _missing_contenders import library
from _package import SCHEMAS, packages
from _timing import Case, table


def summed(me: Any, other: Any, x: Any, totals: Any) -> None:
    """Add what is at the other ends, link by link."""
    totals[:] = 0
    for k in range(len(me)):
        totals[me[k]] += x[other[k]]


def cases(backend: str, package: Any, nodes: int, links: int) -> Iterator[Case]:
    """Yield what is timed; the goal of each ratio stands in its name."""
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


def main() -> None:
    defaults = {"nodes": (100_000, 1_000_000), "links": 1_000_000, "rounds": 7}
    options = parsed(__doc__, **defaults, backends=BACKENDS)
    with TemporaryDirectory() as folder:
        built = packages(Path(folder), options.backends, SCHEMAS / "network.yaml").items()
        sizes = ((name, package, n) for n in options.nodes for name, package in built)
        measured = (case for size in sizes for case in cases(*size, options.links))
        table(measured, options.rounds, ["network"])


if __name__ == "__main__":
    main()
