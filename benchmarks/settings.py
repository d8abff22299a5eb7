"""Calls of a kernel that reads settings, takes arguments, or has numbers, with the goal.

    python benchmarks/settings.py [--rows ROWS ...] [--rounds N] [--backends NAME ...]

The goal: a setting costs no more than an argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _arguments import BACKENDS, parsed
from _package import SCHEMAS, packages
from _timing import Case, loop, table

CALLS = 2000


def cases(packages_built: dict[str, Any], rows: int) -> Iterator[Case]:
    """Yield the calls of each backend; the goal of the ratio stands in the name."""
    for backend, package in packages_built.items():
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


def main() -> None:
    options = parsed(__doc__, rows=(10, 10_000), rounds=9, backends=BACKENDS)
    with TemporaryDirectory() as folder:
        built = packages(Path(folder), options.backends, SCHEMAS / "settings.yaml")
        measured = (case for rows in options.rows for case in cases(built, rows))
        table(measured, options.rounds, ["settings"])


if __name__ == "__main__":
    main()
