"""Searches by an index: made anew, found, and in turn with single writes, beside numpy.

    python benchmarks/index.py [--rows ROWS ...] [--rounds N]

A tenth as many values as rows. The goals stand beside the names, in ns.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _arguments import parsed
from _package import SCHEMAS, built
from _timing import Case, table

SEARCHES = 1000


def cases(package: Any, rows: int) -> Iterator[Case]:
    """Yield what is timed, each with its goal in its name."""
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


def main() -> None:
    options = parsed(__doc__, rows=(100_000, 1_000_000), rounds=7)
    with TemporaryDirectory() as folder:
        package = built(Path(folder), "numpy", SCHEMAS / "index.yaml")
        table(
            (case for rows in options.rows for case in cases(package, rows)),
            options.rounds,
            ["index"],
        )


if __name__ == "__main__":
    main()
