"""A schedule of five kernels beside the five calls, in one process and one run.

    python benchmarks/schedules.py [--rows ROWS ...] [--rounds N] [--backends NAME ...]

The kernels share a pass, so a block of rows goes through all five while it is in the cache.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _missing_contenders import MissingError
from _package import SCHEMAS, built
from _timing import Case, Run, always, heading, machine, show

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

    contenders: dict[str, Run] = {"the schedule": schedule, "the calls": calls}
    prepared = {name: always(run) for name, run in contenders.items()}
    return Case(f"{backend}, {rows:,} rows", times * rows, prepared)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--work", type=int, default=WORK)
    parser.add_argument("--backends", nargs="+", default=("numpy", "numba"))
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        print(f"{machine()}\n\n{heading(OURS)}")
        for backend in options.backends:
            try:
                package = built(Path(folder), backend, SCHEMAS / "frame.yaml")
            except MissingError as missing:
                print(f"| {backend}: {missing} |")
                continue
            for rows in options.rows:
                show(case(package, backend, rows, options.work), options.rounds, OURS)


if __name__ == "__main__":
    main()
