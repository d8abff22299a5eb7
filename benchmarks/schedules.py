"""A schedule of five kernels beside the five calls, in one process and one run.

    python benchmarks/schedules.py [--rows ROWS ...] [--rounds N] [--backends NAME ...]

The kernels share a pass, so a block of rows goes through all five while it is in the cache.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _arguments import BACKENDS, parsed
from _package import SCHEMAS, packages
from _timing import Case, table

OURS = ("the schedule",)
ROWS = (1_000, 10_000, 100_000, 1_000_000)
WORK = 2_000_000
"""Rows that a round goes through."""


def case(package: Any, backend: str, rows: int, work: int) -> Case:
    """Return the schedule and the calls, each on a world of its own."""
    worlds = [package.Frame(), package.Frame()]
    for world in worlds:
        random = np.random.default_rng(1)
        world.spawn(rows, mass={})
        for column in (world.mass.data.at, world.mass.data.speed, world.mass.data.force):
            column[...] = random.standard_normal(column.shape)
    scheduled, called = worlds
    times = max(1, work // rows)

    def schedule() -> None:
        for _ in range(times):
            scheduled.step(k=0.99, dt=0.01)

    def calls() -> None:
        mass = called.mass
        for _ in range(times):
            mass.drag(0.99)
            mass.accelerate(0.01)
            mass.move(0.01)
            mass.bounce()
            mass.measure()

    runs = {"the schedule": schedule, "the calls": calls}
    return Case.of(f"{backend}, {rows:,} rows", times * rows, runs)


def main() -> None:
    options = parsed(__doc__, rows=ROWS, rounds=15, work=WORK, backends=BACKENDS)
    with TemporaryDirectory() as folder:
        built = packages(Path(folder), options.backends, SCHEMAS / "frame.yaml")
        cases = (
            case(package, backend, rows, options.work)
            for backend, package in built.items()
            for rows in options.rows
        )
        table(cases, options.rounds, OURS)


if __name__ == "__main__":
    main()
