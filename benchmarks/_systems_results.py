"""What benchmarks/systems.py found: kept as JSON, shown as tables of ns and of ratios."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from _simulate_results import Results

SINGLE = "one component's kernel"
SINGLE_NUMBA = "one component's kernel, numba"
GROUP = "group"
GROUP_KERNEL = "group, kernel"
GROUP_NUMBA = "group, kernel, numba"
TOGETHER = "query, spawned together"
CREATED = "query, as created"
CREATED_KERNEL = "query, as created, kernel"
CREATED_NUMBA = "query, as created, kernel, numba"
SHUFFLED = "query, shuffled"
SHUFFLED_KERNEL = "query, shuffled, kernel"
SHUFFLED_NUMBA = "query, shuffled, kernel, numba"
UNITY = "chunks of 16 KiB"
DEFAULT = "chunks of 256 KiB"
LARGE = "chunks of 1 MiB"
UNITY_KERNEL, UNITY_NUMBA = f"{UNITY}, kernel", f"{UNITY}, kernel, numba"
DEFAULT_KERNEL, DEFAULT_NUMBA = f"{DEFAULT}, kernel", f"{DEFAULT}, kernel, numba"
LARGE_KERNEL, LARGE_NUMBA = f"{LARGE}, kernel", f"{LARGE}, kernel, numba"
POOLS = "pools by hand"
C = "C"
C_CREATED = "C over the query's rows, as created"
C_SHUFFLED = "C over the query's rows, shuffled"
C_AHEAD = "C over the query's rows, shuffled, fetched ahead"
ESPER = "esper"

RATIOS = (
    (GROUP_KERNEL, SINGLE),
    (GROUP_NUMBA, SINGLE_NUMBA),
    (GROUP, SINGLE),
    (DEFAULT, GROUP),
    (DEFAULT_KERNEL, GROUP_KERNEL),
    (DEFAULT_NUMBA, GROUP_NUMBA),
    (UNITY_NUMBA, GROUP_NUMBA),
    (GROUP, POOLS),
    (SINGLE, C),
)
# What is said beside a difference while nothing changes.
IN_ORDER, IN_NO_ORDER = "; wanted: 3", "; wanted: 8"
DIFFERENCES = (
    (TOGETHER, GROUP, IN_ORDER),
    (CREATED, GROUP, IN_ORDER),
    (CREATED_KERNEL, GROUP_KERNEL, IN_ORDER),
    (CREATED_NUMBA, GROUP_NUMBA, IN_ORDER),
    (C_CREATED, C, "; what memory takes"),
    (SHUFFLED, GROUP, IN_NO_ORDER),
    (SHUFFLED_KERNEL, GROUP_KERNEL, IN_NO_ORDER),
    (SHUFFLED_NUMBA, GROUP_NUMBA, IN_NO_ORDER),
    (C_SHUFFLED, C, "; what memory takes"),
    (C_AHEAD, C, "; the same"),
)


@dataclass(frozen=True, slots=True)
class Both:
    """ns per moving entity and frame, by contender and by how many percent of all move."""

    entities: int
    still: Results
    changing: Results

    def save(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> Both:
        read = json.loads(file.read_text(encoding="utf-8"))
        return cls(read["entities"], _results(read["still"]), _results(read["changing"]))


def _results(read: dict[str, Any]) -> Results:
    best, median = (
        {name: {int(share): ns for share, ns in times.items()} for name, times in found.items()}
        for found in (read["best"], read["median"])
    )
    return Results(best, median, read["skipped"], read["machine"])


def tables(both: Both) -> str:
    """Return Markdown: what each contender takes, then how that compares."""
    titles = (
        "no structural change",
        "1 % lose their velocity, 1 % get one, each frame",
    )
    parts = []
    for title, results in zip(titles, (both.still, both.changing), strict=True):
        shares = results.sizes()
        parts.append(_table(f"{title}; ns: best (median)", shares, _times(results, shares)))
        noted = results is both.still
        parts.append(_table("best and best", shares, _compared(results, shares, noted)))
    return "\n\n".join(part for part in parts if part)


def _table(title: str, shares: list[int], rows: Iterator[tuple[str, list[str]]]) -> str:
    lines = [f"| {name} | {' | '.join(cells)} |" for name, cells in rows]
    if not lines:
        return ""
    heads = " | ".join(f"{share} %" for share in shares)
    return "\n".join([f"| {title} | {heads} |", "| --- " * (len(shares) + 1) + "|", *lines])


def _times(results: Results, shares: list[int]) -> Iterator[tuple[str, list[str]]]:
    for name, best in results.best.items():
        median = results.median[name]
        yield name, [f"{best[share]:.3g} ({median[share]:.3g})" for share in shares]


def _compared(results: Results, shares: list[int], noted: bool) -> Iterator[tuple[str, list[str]]]:
    best = results.best
    for ours, theirs in RATIOS:
        if ours in best and theirs in best:
            yield f"{ours} / {theirs}", [f"{best[ours][s] / best[theirs][s]:.2f}" for s in shares]
    for ours, theirs, note in DIFFERENCES:
        if ours in best and theirs in best:
            name = f"{ours} − {theirs}{note if noted else ''}"
            yield name, [f"{best[ours][s] - best[theirs][s]:.1f}" for s in shares]
