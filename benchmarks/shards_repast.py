"""Agents that change ranks: `Shards.migrate` beside `move_agents` of Repast4Py.

    python benchmarks/shards_repast.py [--repast PYTHON] [--mpiexec FILE] [--rows N] [--some N]

Each of two ranks sends some of its agents, of 77 bytes, to the other one. Repast4Py is installed
from source and wants a compiler for the MPI that its mpi4py uses: PYTHON is that of an environment
which has both, FILE the mpiexec of the same MPI.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from _arguments import parsed
from _mpi_run import said

MOVES = 12
"""In each process; the first two are not counted."""


def by_repast(rows: int, count: int) -> tuple[Any, Callable[[], object]]:
    """Return the communicator, and a run that moves agents."""
    from mpi4py import MPI

    agent: Any = import_module("repast4py.core").Agent
    shared: Any = import_module("repast4py.context").SharedContext

    class Bird(agent):  # type: ignore[misc]
        """A bird with as many values as three components have."""

        def __init__(self, local: int, rank: int, values: Any) -> None:
            super().__init__(id=local, type=0, rank=rank)
            self.place, self.heading, self.size, self.mass, self.kind, self.key, self.age = values

        def save(self) -> Any:
            values = self.place, self.heading, self.size, self.mass, self.kind, self.key, self.age
            return self.uid, values

    def came(saved: Any) -> Bird:
        (local, _, rank), values = saved
        return Bird(local, rank, values)

    comm = MPI.COMM_WORLD
    context = shared(comm)
    for k in range(rows):
        values = (0.5 * k, 1.0), (0.0, 1.0), (1.0, 2.0), 3.0, 1, k, 7
        context.add(Bird(k, comm.rank, values))

    def move() -> None:
        leaving = [bird.uid for bird in islice(context.agents(shuffle=False), count)]
        context.move_agents([(uid, 1 - comm.rank) for uid in leaving], came)

    return comm, move


def by_ecsgen(folder: str, name: str, rows: int, count: int) -> tuple[Any, Callable[[], object]]:
    """Return the communicator, and a run that moves entities."""
    import numpy as np
    from mpi4py import MPI

    sys.path.insert(0, folder)
    package = import_module(name)
    shards = package.Shards(package.Yard(), timeout=600)
    shards.world.spawn(rows, bird={}, body={}, mood={})
    random = np.random.default_rng(shards.rank)

    def move() -> None:
        leaving = random.permutation(shards.world.entities.live())[:count]
        shards.migrate(leaving, np.full(count, 1 - shards.rank))

    return MPI.COMM_WORLD, move


def measured(comm: Any, move: Callable[[], object], count: int) -> None:
    """Print, on rank 0, the ns for each agent that goes and one that comes, best and median."""
    spent = []
    for _ in range(MOVES):
        comm.Barrier()
        since = time.perf_counter()
        move()
        spent.append(comm.allreduce(time.perf_counter() - since) / comm.size)
    spent = sorted(spent[2:])
    if comm.rank == 0:
        print(json.dumps([1e9 * spent[0] / count, 1e9 * spent[len(spent) // 2] / count]))


def of_two_ranks(mpiexec: str, python: str, *arguments: object) -> tuple[float, float]:
    """Return the best time and the median that rank 0 prints."""
    script = [python, __file__, "--ranks", *map(str, arguments)]
    best, median = said(mpiexec, 2, script)
    return best, median


def main() -> None:
    if sys.argv[1:2] == ["--ranks"]:  # on a rank
        *package, rows, count = sys.argv[2:]
        make: Callable[..., Any] = by_ecsgen if package else by_repast
        comm, move = make(*package, int(rows), int(count))
        measured(comm, move, int(count))
        return
    compare(parsed(__doc__, repast="", mpiexec="mpiexec", rows=20_000, some=5_000, rounds=3))


def compare(options: Namespace) -> None:
    """Run both in turns, and print what they took."""
    from _package import SCHEMAS, built
    from _timing import machine

    ours = str(Path(sys.executable).parent / "mpiexec"), sys.executable
    times: dict[str, list[tuple[float, float]]] = {"ecsgen, numpy": []}
    if options.repast:
        times["Repast4Py"] = []
    else:
        print("Repast4Py is left out: --repast says where it is installed")
    with tempfile.TemporaryDirectory() as folder:
        package = built(Path(folder), "numpy", SCHEMAS / "shards.yaml")
        home = Path(package.__file__).parents[1]
        for _ in range(options.rounds):
            amounts = options.rows, options.some
            times["ecsgen, numpy"].append(of_two_ranks(*ours, home, package.__name__, *amounts))
            if options.repast:
                theirs = of_two_ranks(options.mpiexec, options.repast, *amounts)
                times["Repast4Py"].append(theirs)
    print(f"{machine()}\n\n| {options.some:,} of {options.rows:,} agents | ns: best | median |")
    print("| --- | --- | --- |")
    for name, pairs in times.items():
        print(f"| {name} | {min(b for b, _ in pairs):.0f} | {min(m for _, m in pairs):.0f} |")
    if options.repast:
        (best, median), (b, m) = (min(pairs) for pairs in reversed(times.values()))
        print(
            f"\nRepast4Py / ecsgen: {best / b:.1f} of the best times, {median / m:.1f} of medians"
        )


if __name__ == "__main__":
    main()
