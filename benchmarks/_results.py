"""Figures of benchmarks that are drawn: kept as JSON, shown as tables of ns and of ratios."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from _timing import machine

OPTIONS: dict[str, Any] = {"without": (), "json": Path, "again": Path, "svg": Path}
"""Options of every benchmark that is drawn."""


@dataclass(frozen=True, slots=True)
class Results:
    """ns by contender and size: all rounds' best and median.

    Begun before the measuring, so that its own work is not in the load.
    """

    best: dict[str, dict[int, float]] = field(default_factory=dict)
    median: dict[str, dict[int, float]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    machine: str = field(default_factory=machine)

    def add(self, name: str, size: int, times: list[float]) -> None:
        self.best.setdefault(name, {})[size] = round(min(times), 4)
        self.median.setdefault(name, {})[size] = round(statistics.median(times), 4)

    def sizes(self) -> list[int]:
        return sorted({size for times in self.best.values() for size in times})

    @classmethod
    def from_json(cls, read: dict[str, Any]) -> Results:
        best, median = (
            {name: {int(size): ns for size, ns in row.items()} for name, row in times.items()}
            for times in (read["best"], read["median"])
        )
        return cls(best, median, read["skipped"], read["machine"])

    def times(self) -> str:
        """Return Markdown rows: best and median of every contender."""
        return rows(
            (name, [_time(best.get(size), self.median[name].get(size)) for size in self.sizes()])
            for name, best in self.best.items()
        )

    def compared(
        self,
        pairs: Iterable[tuple[str, str]],
        sign: str = "/",
        calculate: Callable[[float, float], str] = lambda a, b: f"{a / b:.2f}",
        notes: dict[tuple[str, str], str] | None = None,
    ) -> str:
        """Return Markdown rows: the best of the first by the best of the second of each pair."""
        known = [pair for pair in pairs if {*pair} <= self.best.keys()]
        return rows(
            (
                f"{of} {sign} {to}{(notes or {}).get((of, to), '')}",
                [
                    (
                        calculate(self.best[of][size], self.best[to][size])
                        if size in self.best[of] and size in self.best[to]
                        else ""
                    )
                    for size in self.sizes()
                ],
            )
            for of, to in known
        )


def rows(named: Iterable[tuple[str, list[str]]]) -> str:
    """Return Markdown rows."""
    return "\n".join(f"| {name} | {' | '.join(cells)} |" for name, cells in named)


def table(title: str, heads: list[str], *parts: str) -> str:
    """Return a Markdown table of rows, or nothing without any."""
    body = [part for part in parts if part]
    head = rows([(title, heads)])
    return "\n".join([head, "| --- " * (len(heads) + 1) + "|", *body]) if body else ""


def write(file: Path | None, results: Any, drawing: Path | None, draw: Callable[[], str]) -> None:
    """Write results, a dataclass, as JSON, and the plot of them, where files are given."""
    if file is not None:
        file.write_text(json.dumps(asdict(results), indent=1) + "\n", encoding="utf-8")
    if drawing is not None:
        drawing.write_text(draw(), encoding="utf-8", newline="\n")


def _time(best: float | None, median: float | None) -> str:
    return "" if best is None else f"{best:.3g} ({median:.3g})"
