"""The cost of sweeps beside the model: runs of a millisecond.

    python benchmarks/sweeps.py [--runs N] [--workers N] [--rounds N]

The runs of a sweep come in turns with as many in processes that are there already, and with those
of a `ProcessPoolExecutor`. What a sweep takes longer is its overhead; to begin processes is a part
of it, and stands apart as well.
"""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from _arguments import parsed
from _timing import machine
from ecsgen_runtime import sweep

LENGTH = 0.001  # s, of a short run
IDEAL = "as many processes by hand, begun before"


def short(seed: int, number: int) -> dict[str, int]:
    """Work for as long as it says, by the clock: sleeping would be another matter."""
    until = time.perf_counter() + LENGTH
    while time.perf_counter() < until:
        pass
    return {"number_again": number}


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def share(runs: int, gate: Any) -> None:
    """Do some runs between two times at which all have come to a gate."""
    gate.wait()
    for number in range(runs):
        short(0, number)
    gate.wait()


def by_hand(runs: int, workers: int) -> float:
    """Return how long processes take that are there already, and that nobody talks to."""
    spawned = multiprocessing.get_context("spawn")
    gate = spawned.Barrier(workers + 1)
    processes = [
        spawned.Process(target=share, args=(runs // workers, gate)) for _ in range(workers)
    ]
    for process in processes:
        process.start()
    gate.wait()
    taken = seconds(gate.wait)
    for process in processes:
        process.join()
    return taken


def short_runs(runs: int, workers: int, rounds: int) -> None:
    """Print what a sweep takes longer than its runs."""
    parameters = {"number": range(runs)}

    def in_a_pool() -> None:
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            sweep(short, parameters, executor=pool, progress=False)

    def swept(**options: Any) -> Callable[[], float]:
        options = {"workers": workers, "progress": False, **options}
        return lambda: seconds(lambda: sweep(short, parameters, **options))

    with tempfile.TemporaryDirectory() as folder:
        files = iter(Path(folder) / str(number) for number in range(rounds))
        cases: dict[str, Callable[[], float]] = {
            IDEAL: lambda: by_hand(runs, workers),
            "a sweep of one run": lambda: seconds(
                lambda: sweep(short, {"number": [0]}, workers=1, progress=False)
            ),
            "a sweep": swept(),
            "a sweep with a file": lambda: swept(path=next(files))(),
            "a sweep in a ProcessPoolExecutor": lambda: seconds(in_a_pool),
        }
        times: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(rounds):
            for name, call in cases.items():
                times[name].append(call())
    print(f"| {runs:,} runs of 1 ms, {workers} processes | s: best | median | ms per run over it |")
    print("| --- | --- | --- | --- |")
    for name, taken in times.items():
        best, median = min(taken), statistics.median(taken)
        over = 1e3 * (median - statistics.median(times[IDEAL])) / runs
        shown = f"{over:.2f}" if "one run" not in name and name != IDEAL else ""
        print(f"| {name} | {best:.2f} | {median:.2f} | {shown} |")


def main() -> None:
    options = parsed(__doc__, runs=1000, workers=2, rounds=3)
    print(f"{machine()}\n")
    short_runs(options.runs, options.workers, options.rounds)


if __name__ == "__main__":
    main()
