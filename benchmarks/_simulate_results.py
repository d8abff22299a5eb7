"""What benchmarks/simulate.py found: kept as JSON, shown as tables of ratios."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from _timing import machine

NUMPY = "generated, numpy"
NUMBA = "generated, numba"
GCC = "gcc -O3 -march=native"
LOOP = "numba loop by hand"
BY_HAND = "numpy by hand"
IN_BLOCKS = "numpy by hand, blocks"
STRUCTURED = "numpy structured array"
POLARS = "polars"
ESPER = "esper"
OBJECTS = "plain objects"


@dataclass(frozen=True, slots=True)
class Results:
    """ns per row and step, by contender and number of rows: all rounds' best and median.

    Begun before the measuring, so that its own work is not in the load.
    """

    best: dict[str, dict[int, float]] = field(default_factory=dict)
    median: dict[str, dict[int, float]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    machine: str = field(default_factory=machine)

    def add(self, name: str, rows: int, times: list[float]) -> None:
        self.best.setdefault(name, {})[rows] = round(min(times), 4)
        self.median.setdefault(name, {})[rows] = round(statistics.median(times), 4)

    def sizes(self) -> list[int]:
        return sorted({rows for times in self.best.values() for rows in times})

    def save(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> Results:
        read = json.loads(file.read_text(encoding="utf-8"))
        best, median = (
            {name: {int(rows): ns for rows, ns in times.items()} for name, times in found.items()}
            for found in (read["best"], read["median"])
        )
        return cls(best, median, read["skipped"], read["machine"])


def tables(results: Results) -> str:
    """Return Markdown: ns of every contender, then the ratios that the generated kernels aim at."""
    sizes = results.sizes()
    head = [
        f"| {{}} | {' | '.join(f'{rows:,}' for rows in sizes)} |",
        "| --- " * (len(sizes) + 1) + "|",
    ]
    times = [
        _row(name, [_time(best.get(rows), results.median[name].get(rows)) for rows in sizes])
        for name, best in results.best.items()
    ]
    ratios = [_row(name, cells) for name, cells in _ratios(results)]
    lines = [head[0].format("ns per row: best (median)"), head[1], *times]
    if ratios:
        lines += ["", head[0].format("best / best"), head[1], *ratios]
    return "\n".join(lines)


def _row(name: str, cells: list[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _time(best: float | None, median: float | None) -> str:
    return "" if best is None else f"{best:.3g} ({median:.3g})"


def _ratios(results: Results) -> Iterator[tuple[str, list[str]]]:
    """Each backend to what it is to come close to, then everybody to the numpy backend."""
    for ours, theirs in ((NUMPY, BY_HAND), (NUMPY, IN_BLOCKS), (NUMBA, GCC), (NUMBA, LOOP)):
        if ours in results.best and theirs in results.best:
            yield f"{ours} / {theirs}", _shares(results, ours, theirs)
    if NUMPY in results.best:
        for name in (STRUCTURED, POLARS, ESPER, OBJECTS):
            if name in results.best:
                yield f"{name} / {NUMPY}", _shares(results, name, NUMPY)


def _shares(results: Results, of: str, to: str) -> list[str]:
    ours, theirs = results.best[of], results.best[to]
    return [
        f"{ours[rows] / theirs[rows]:.2f}" if rows in ours and rows in theirs else ""
        for rows in results.sizes()
    ]
