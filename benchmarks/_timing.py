"""Interleaved timing: each contender of a case runs once per round, on the same machine."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Run: TypeAlias = Callable[[], object]
"""What is timed."""

Prepare: TypeAlias = Callable[[], Run]
"""Makes a fresh run, untimed."""


@dataclass(frozen=True, slots=True)
class Case:
    """One operation, done `count` times per run by each contender."""

    name: str
    count: int
    contenders: Mapping[str, Prepare]


def measure(case: Case, rounds: int, warm_up: int = 1) -> dict[str, list[float]]:
    """Return the ns per operation of each round, by contender; the garbage collector is off.

    Time in which this process waits for a core that others have does not count. Whoever works on
    several cores at once is measured by the clock.
    """
    times: dict[str, list[float]] = {name: [] for name in case.contenders}
    for round_ in range(warm_up + rounds):
        for name, prepare in case.contenders.items():
            run = prepare()
            gc.disable()
            began, used = time.perf_counter(), time.process_time()
            run()
            elapsed = min(time.perf_counter() - began, time.process_time() - used)
            gc.enable()
            if round_ >= warm_up:
                times[name].append(1e9 * elapsed / case.count)
    return times


def always(run: Run) -> Prepare:
    """Prepare what may run any number of times."""
    return lambda: run


def machine() -> str:
    """Return how busy this machine is, for those who read figures later."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} cores{load}"


def heading(ours: Sequence[str]) -> str:
    """Return the column titles of `show`, as a Markdown table."""
    ratios = "".join(f" {name} / it |" for name in ours)
    return f"| | ns each: best | median |{ratios}\n| --- | --- | --- |{' --- |' * len(ours)}"


def show(case: Case, rounds: int, ours: Sequence[str]) -> None:
    """Measure a case; print best and median ns of each contender, and our best by its best."""
    times = measure(case, rounds)
    print(f"| **{case.name}**, {case.count:,} | | |{' |' * len(ours)}")
    for name, found in times.items():
        cells = [_ratio(times.get(our, []), found) if name not in ours else "" for our in ours]
        ratios = "".join(f" {cell} |" for cell in cells)
        print(f"| {name} | {min(found):.1f} | {statistics.median(found):.1f} |{ratios}", flush=True)


def _ratio(ours: list[float], theirs: list[float]) -> str:
    return f"{min(ours) / min(theirs):.2f}" if ours else ""
