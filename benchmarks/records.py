"""What recording costs, beside what it is made of, in one process and one run.

    python benchmarks/records.py [--rows ROWS ...] [--rounds N] [--backends NAME ...]

A line of ten reductions beside the same ten reductions called one by one; lines of rows beside
copies of their columns; a Parquet file of these beside pyarrow's own writing of the table.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _missing_contenders import MissingError
from _package import SCHEMAS, built
from _timing import Case, Prepare, Run, always, heading, machine, show

OURS = ("the record",)
ROWS = (1_000, 100_000)
WORK = 2_000_000
"""Rows that a round goes through."""
REDUCTIONS = ("total", "warm", "mean", "born", "least", "most", "adults", "fat", "some", "rest")


def farm(package: Any, rows: int) -> Any:
    """Return a world with so many sheep."""
    world, random = package.Farm(), np.random.default_rng(1)
    floats = {name: random.random(rows) for name in ("energy", "age", "weight")}
    whole = {"lambs": random.integers(0, 9, rows), "woolly": random.random(rows) < 0.5}
    world.spawn(rows, sheep={**floats, **whole})
    return world


def ten_reductions(world: Any, backend: str, rows: int, work: int) -> Case:
    """Return a line, and the reductions."""
    times = max(1, work // rows)
    table, sheep = world.records.numbers, world.sheep

    def record() -> None:
        for _ in range(times):
            table.write()

    def calls() -> None:
        for _ in range(times):
            for name in REDUCTIONS:
                getattr(sheep, name)()

    prepared = {"the record": always(record), "the reductions": always(calls)}
    return Case(f"{backend}, ten reductions of {rows:,} rows", times, prepared)


def lines_of_rows(world: Any, rows: int, work: int) -> Case:
    """Return lines of all rows, and copies of as many columns of the same types."""
    times = max(1, work // rows)
    table, data = world.records.herd, world.sheep.data
    ticks = np.full(rows, world.tick)

    def record() -> Run:
        table.clear()

        def run() -> None:
            for _ in range(times):
                table.write()

        return run

    def copies() -> Run:
        kept: list[Any] = []
        columns = [ticks, data.entity, data.energy, data.age, data.weight, data.lambs, data.woolly]

        def run() -> None:
            for _ in range(times):
                kept.append([column.copy() for column in columns])

        return run

    return Case(f"lines of {rows:,} rows", times, {"the record": record, "copies": copies})


def files(world: Any, rows: int, folder: Path) -> Case:
    """Return a file of lines of rows, and pyarrow's."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingError("pyarrow is not installed (pip install pyarrow)") from None
    table, numbers = world.records.herd, itertools.count()

    def record() -> Run:
        world.records.close()
        table.clear()
        table.write()
        world.records.open(folder / f"{rows}_{next(numbers)}", lines=2**40)
        flush: Run = world.records.flush
        return flush

    def by_pyarrow() -> Run:
        table.clear()
        table.write()
        whole, path = table.to_arrow(), folder / f"{next(numbers)}.parquet"
        return lambda: pq.write_table(whole, path)

    contenders: dict[str, Prepare] = {"the record": record, "pyarrow": by_pyarrow}
    return Case(f"a Parquet file of {rows:,} rows", 1, contenders)


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
                package = built(Path(folder), backend, SCHEMAS / "records.yaml")
            except MissingError as missing:
                print(f"| {backend}: {missing} |")
                continue
            for rows in options.rows:
                world = farm(package, rows)
                show(ten_reductions(world, backend, rows, options.work), options.rounds, OURS)
        for rows in options.rows:
            world = farm(package, rows)
            show(lines_of_rows(world, rows, options.work), options.rounds, OURS)
            try:
                show(files(world, rows, Path(folder)), options.rounds, OURS)
            except MissingError as missing:
                print(f"| {missing} |")


if __name__ == "__main__":
    main()
