"""Interleaved timing: each contender of a case runs once per round, on the same machine."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

Run: TypeAlias = Callable[[], object]
"""The work that is timed."""

Prepare: TypeAlias = Callable[[], Run]
"""Makes a fresh run, untimed."""


@dataclass(frozen=True, slots=True)
class Case:
    """One operation, done `count` times per run by each contender."""

    name: str
    count: int
    contenders: Mapping[str, Prepare]

    @classmethod
    def of(cls, name: str, count: int, runs: Mapping[str, Run]) -> Case:
        """Make the case of runs that need no preparation between rounds."""
        return cls(name, count, {contender: always(run) for contender, run in runs.items()})


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


def loop(statement: str, values: Iterable[Any], **names: Any) -> Run:
    """Return a run that executes a statement for each `e` of some values, with local names."""
    scope: dict[str, Any] = {}
    parameters = ", ".join(("es", *names))
    exec(f"def run({parameters}):\n    for e in es:\n        {statement}\n", scope)
    return partial(scope["run"], values, **names)


def always(run: Run) -> Prepare:
    """Prepare what may run any number of times."""
    return lambda: run


def stepping(make: Callable[[], Run], steps: int) -> Prepare:
    """Prepare a new program and some steps of it; `make` returns its step."""

    def prepare() -> Run:
        step = make()

        def run() -> None:
            for _ in range(steps):
                step()

        return run

    return prepare


def machine() -> str:
    """Return how busy this machine is, for those who read figures later."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} cores{load}"


def heading(ours: Sequence[str]) -> str:
    """Return the column titles of `show`, as a Markdown table."""
    ratios = "".join(f" {name} / it |" for name in ours)
    return f"| | ns each: best | median |{ratios}\n| --- | --- | --- |{' --- |' * len(ours)}"


def table(cases: Iterable[Case], rounds: int, ours: Sequence[str]) -> None:
    """Measure cases when they are made, one after the other, and print them below a heading."""
    print(f"{machine()}\n\n{heading(ours)}")
    for case in cases:
        show(case, rounds, ours)


def show(case: Case, rounds: int, ours: Sequence[str]) -> None:
    """Measure a case; print best and median ns of each contender, and our best by its best."""
    times = measure(case, rounds)
    print(f"| **{case.name}**, {case.count:,} | | |{' |' * len(ours)}")
    for name, theirs in times.items():
        cells = [_ratio(times.get(our, []), theirs) if name not in ours else "" for our in ours]
        ratios = "".join(f" {cell} |" for cell in cells)
        median = statistics.median(theirs)
        print(f"| {name} | {min(theirs):.1f} | {median:.1f} |{ratios}", flush=True)


def _ratio(ours: list[float], theirs: list[float]) -> str:
    return f"{min(ours) / min(theirs):.2f}" if ours else ""
