"""Interleaved timing: each contender of a case runs once per round, on the same machine."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Run: TypeAlias = Callable[[], object]
"""What is timed."""

Prepare: TypeAlias = Callable[[], Run]
"""Makes a fresh run, untimed."""


@dataclass(frozen=True, slots=True)
class Case:
    """One operation, done `count` times per run by each contender, the first being ours."""

    name: str
    count: int
    contenders: Mapping[str, Prepare]


def measure(case: Case, rounds: int, warm_up: int = 1) -> dict[str, list[float]]:
    """Return the ns per operation of each round, by contender; the garbage collector is off."""
    times: dict[str, list[float]] = {name: [] for name in case.contenders}
    for round_ in range(warm_up + rounds):
        for name, prepare in case.contenders.items():
            run = prepare()
            gc.disable()
            began = time.perf_counter()
            run()
            elapsed = time.perf_counter() - began
            gc.enable()
            if round_ >= warm_up:
                times[name].append(1e9 * elapsed / case.count)
    return times


def always(run: Run) -> Prepare:
    """Prepare what may run any number of times."""
    return lambda: run


def heading() -> str:
    """Return the column titles of `show`, as a Markdown table."""
    return "| | ns each: best | median | ours / theirs |\n| --- | --- | --- | --- |"


def show(case: Case, rounds: int) -> None:
    """Measure a case and print best and median ns of each contender, and our best by theirs."""
    times = measure(case, rounds)
    first, *_ = times
    ours = min(times[first])
    print(f"| **{case.name}**, {case.count:,} | | | |")
    for name, found in times.items():
        ratio = "" if name == first else f"{ours / min(found):.2f}"
        print(
            f"| {name} | {min(found):.1f} | {statistics.median(found):.1f} | {ratio} |", flush=True
        )
