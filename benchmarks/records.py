"""The cost of recording, beside that of its parts, in one process and one run.

    python benchmarks/records.py [--rows ROWS ...] [--rounds N] [--backends NAME ...]

A line of ten reductions beside the same ten reductions called one by one; lines of rows beside
copies of their columns; a Parquet file of these beside pyarrow's own writing of the table.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _arguments import BACKENDS, parsed
from _missing_contenders import MissingError, library
from _package import SCHEMAS, packages
from _timing import Case, Prepare, Run
from _timing import table as show_table

from ecsgen.config import Backend

OURS = ("the record",)
ROWS = (1_000, 100_000)
WORK = 2_000_000
"""Rows that a round goes through."""
REDUCTIONS = ("total", "warm", "mean", "born", "least", "most", "adults", "fat", "some", "rest")


def farm(package: Any, rows: int) -> Any:
    """Return a world with so many sheep."""
    world, random = package.Farm(), np.random.default_rng(1)
    floats = {name: random.random(rows) for name in ("energy", "age", "weight")}
    others = {"lambs": random.integers(0, 9, rows), "woolly": random.random(rows) < 0.5}
    world.spawn(rows, sheep={**floats, **others})
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

    runs = {"the record": record, "the reductions": calls}
    return Case.of(f"{backend}, ten reductions of {rows:,} rows", times, runs)


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
        copied: list[Any] = []
        columns = [ticks, data.entity, data.energy, data.age, data.weight, data.lambs, data.woolly]

        def run() -> None:
            for _ in range(times):
                copied.append([column.copy() for column in columns])

        return run

    return Case(f"lines of {rows:,} rows", times, {"the record": record, "copies": copies})


def files(world: Any, rows: int, folder: Path) -> Case:
    """Return a file of lines of rows, and pyarrow's."""
    pq = library("pyarrow.parquet")
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
        lines, path = table.to_arrow(), folder / f"{next(numbers)}.parquet"
        return lambda: pq.write_table(lines, path)

    contenders: dict[str, Prepare] = {"the record": record, "pyarrow": by_pyarrow}
    return Case(f"a Parquet file of {rows:,} rows", 1, contenders)


def cases(folder: Path, backends: list[Backend], sizes: list[int], work: int) -> Iterator[Case]:
    """Yield lines of reductions for each backend, and lines of rows and files for the last one."""
    built = packages(folder, backends, SCHEMAS / "records.yaml")
    for backend, package in built.items():
        for rows in sizes:
            yield ten_reductions(farm(package, rows), backend, rows, work)
    for rows in sizes:
        world = farm(package, rows)
        yield lines_of_rows(world, rows, work)
        try:
            yield files(world, rows, folder)
        except MissingError as missing:
            print(f"| {missing} |")


def main() -> None:
    options = parsed(__doc__, rows=ROWS, rounds=15, work=WORK, backends=BACKENDS)
    with TemporaryDirectory() as folder:
        every = cases(Path(folder), options.backends, options.rows, options.work)
        show_table(every, options.rounds, OURS)


if __name__ == "__main__":
    main()
