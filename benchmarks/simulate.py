"""A kernel of a schema beside C, numba, numpy, polars and objects, in one process and one run.

    python benchmarks/simulate.py [--rows ROWS ...] [--rounds N] [--without NAME ...]
                                  [--json FILE] [--svg FILE]

`velocity += acceleration * dt; position += velocity * dt`, three f32 each. Every contender starts
from the same values, is checked to arrive at the same places, and runs once per round. Those that
keep an object per row stop at 100,000 rows: they take the same time per row anyhow, until memory
is full. Contenders not installed are named and left out.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import _contenders
import _simulate_results as names
from _contenders import Make, Moving, Start
from _missing import MissingError
from _simulate_chart import chart
from _simulate_results import Results, tables
from _timing import Case, always, measure

ROWS = (1_000, 4_000, 16_000, 100_000, 300_000, 1_000_000, 4_000_000)
MOST_OBJECTS = 100_000


@dataclass(frozen=True, slots=True)
class Contender:
    """Makes the data of any number of rows up to a limit."""

    name: str
    make: Make
    limit: float


def contenders(
    folder: Path, without: Iterable[str], skipped: dict[str, str]
) -> Iterator[Contender]:
    """Find who can take part; of the others note why not."""
    c, inf = _contenders, float("inf")
    everybody: tuple[tuple[str, Callable[[], Make], float], ...] = (
        (names.NUMPY, lambda: c.generated(folder, "numpy"), inf),
        (names.BY_HAND, lambda: c.numpy_by_hand, inf),
        (names.IN_BLOCKS, lambda: c.numpy_in_blocks, inf),
        (names.STRUCTURED, lambda: c.structured, inf),
        (names.NUMBA, lambda: c.generated(folder, "numba"), inf),
        (names.GCC, lambda: c.in_c(folder), inf),
        (names.LOOP, c.in_numba, inf),
        (names.POLARS, c.in_polars, inf),
        (names.ESPER, c.in_esper, MOST_OBJECTS),
        (names.OBJECTS, lambda: c.objects, MOST_OBJECTS),
    )
    for name, prepare, limit in everybody:
        if any(word in name for word in without):
            skipped[name] = "not asked for"
            continue
        try:
            yield Contender(name, prepare(), limit)
        except MissingError as reason:
            skipped[name] = str(reason)


def checked(contender: Contender, start: Start) -> Moving:
    """Make a contender's data and see it arrive where it should."""
    moving = contender.make(start)
    steps = 3
    moving.run(steps)
    np.testing.assert_allclose(
        np.asarray(moving.position()),
        start.after(steps),
        rtol=1e-5,
        atol=1e-6,
        err_msg=contender.name,
    )
    return moving


def times_of(found: list[Contender], rows: int, options: Namespace) -> dict[str, list[float]]:
    """Return the ns per row and step of each round."""
    start = Start.of(rows)
    steps = max(2, options.work // rows)
    runs = {
        contender.name: always(partial(checked(contender, start).run, steps))
        for contender in found
        if rows <= contender.limit
    }
    return measure(Case(f"{rows:,} rows", rows * steps, runs), options.rounds)


def measured(options: Namespace) -> Results:
    results = Results()
    with TemporaryDirectory() as folder:
        found = list(contenders(Path(folder), options.without, results.skipped))
        for name, reason in results.skipped.items():
            print(f"{name} is left out: {reason}")
        for rows in options.rows:
            print(f"{rows:,} rows …", file=sys.stderr, flush=True)
            for name, times in times_of(found, rows, options).items():
                results.add(name, rows, times)
    return results


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--work", type=int, default=400_000, help="rows to move in a run, at least")
    parser.add_argument("--without", nargs="*", default=[], help="parts of contenders' names")
    parser.add_argument("--json", type=Path, help="write the figures")
    parser.add_argument("--again", type=Path, help="do not measure, read the figures from a file")
    parser.add_argument("--svg", type=Path, help="write the plot")
    options = parser.parse_args()
    results = Results.load(options.again) if options.again else measured(options)
    print(tables(results))
    if options.json is not None:
        results.save(options.json)
    if options.svg is not None:
        options.svg.write_text(chart(results), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
