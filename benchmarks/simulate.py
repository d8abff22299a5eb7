"""A kernel of a schema beside C, numba, numpy, polars and objects, in one process and one run.

    python benchmarks/simulate.py [--rows ROWS ...] [--rounds N] [--work ROWS]
        [--without NAME ...] [--json FILE] [--svg FILE] [--again FILE]

`velocity += acceleration * dt; position += velocity * dt`, three f32 each. Every contender starts
from the same values, is checked to arrive at the same places, and runs once per round. Those that
keep an object per row stop at 100,000 rows: they take the same time per row anyhow, until memory
is full. Contenders not installed are named and left out, with `--without` those whose names have
one of these parts. `--work` is how many rows a run moves at least; `--again` reads the figures of
an earlier `--json`, and measures nothing.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import _simulate_contenders as c
from _arguments import parsed
from _missing_contenders import Contender, available
from _results import OPTIONS, Results, table, write
from _simulate_chart import chart
from _simulate_contenders import Make, Moving, Start
from _timing import Case, always, measure

ROWS = (1_000, 4_000, 16_000, 100_000, 300_000, 1_000_000, 4_000_000)
MOST_OBJECTS = 100_000
NUMPY, NUMBA = "generated, numpy", "generated, numba"
RATIOS = (
    (NUMPY, "numpy by hand"),
    (NUMPY, "numpy by hand, blocks"),
    (NUMBA, "gcc -O3 -march=native"),
    (NUMBA, "numba loop by hand"),
    ("numpy structured array", NUMPY),
    ("polars", NUMPY),
    ("esper", NUMPY),
    ("plain objects", NUMPY),
)
"""Each backend to the contenders that it is to come close to, then others to the numpy backend."""


def everybody(folder: Path) -> list[tuple[str, Callable[[], Make], float]]:
    """Return what makes each contender, and for how many rows."""
    inf = float("inf")
    return [
        (NUMPY, lambda: c.generated(folder, "numpy"), inf),
        ("numpy by hand", lambda: c.numpy_by_hand, inf),
        ("numpy by hand, blocks", lambda: c.numpy_in_blocks, inf),
        ("numpy structured array", lambda: c.structured, inf),
        (NUMBA, lambda: c.generated(folder, "numba"), inf),
        ("gcc -O3 -march=native", lambda: c.in_c(folder), inf),
        ("numba loop by hand", c.in_numba, inf),
        ("polars", c.in_polars, inf),
        ("esper", c.in_esper, MOST_OBJECTS),
        ("plain objects", lambda: c.objects, MOST_OBJECTS),
    ]


def checked(contender: Contender, start: Start) -> Moving:
    """Make a contender's data and see it arrive where it should."""
    moving: Moving = contender.make(start)
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


def times_of(contenders: list[Contender], rows: int, options: Namespace) -> dict[str, list[float]]:
    """Return the ns per row and step of each round."""
    start = Start.of(rows)
    steps = max(2, options.work // rows)
    runs = {
        contender.name: always(partial(checked(contender, start).run, steps))
        for contender in contenders
        if rows <= contender.limit
    }
    return measure(Case(f"{rows:,} rows", rows * steps, runs), options.rounds)


def measured(options: Namespace) -> Results:
    results = Results()
    with TemporaryDirectory() as folder:
        contenders = available(everybody(Path(folder)), options.without, results.skipped)
        for rows in options.rows:
            print(f"{rows:,} rows …", file=sys.stderr, flush=True)
            for name, times in times_of(contenders, rows, options).items():
                results.add(name, rows, times)
    return results


def main() -> None:
    options = parsed(__doc__, rows=ROWS, rounds=25, work=400_000, **OPTIONS)
    if options.again:
        results = Results.from_json(json.loads(options.again.read_text(encoding="utf-8")))
    else:
        results = measured(options)
    heads = [f"{rows:,}" for rows in results.sizes()]
    print(table("ns per row: best (median)", heads, results.times()))
    print(f"\n{table('best / best', heads, results.compared(RATIOS))}")
    write(options.json, results, options.svg, partial(chart, results))


if __name__ == "__main__":
    main()
