"""The six models of examples/models/ with numba and with numpy alone, beside mesa.

    python benchmarks/models.py [--only NAME ...] [--sizes NAME ...] [--share N] [--rounds N]
        [--slow-rounds N] [--mesa PYTHON] [--without NAME ...]

Steps alone, compiled and warm; each round makes the model anew, untimed. The ratios say how many
times as long numpy and mesa take as numba. These two have rounds of their own, for they are slow:
numpy's loops are plain Python. mesa has an environment of its own: `python -m venv .venv-mesa`,
`.venv-mesa/bin/python -m pip install 'mesa>=3.2,<4'`; without it, it is left out. `--share N` does
the N-th part of the steps.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from _missing_contenders import MissingError
from _package import ROOT, built
from _timing import machine

EXAMPLES = ROOT / "examples" / "models"
sys.path.insert(0, str(EXAMPLES))

import boltzmann  # noqa: E402  (the examples, which populate the worlds)
import flocking  # noqa: E402
import life  # noqa: E402
import schelling  # noqa: E402
import sugarscape  # noqa: E402
import wolf_sheep  # noqa: E402

Step = Callable[[], object]
SIZES: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {
    ("flocking", "small"): (100, {"count": 200, "size": 100.0, "vision": 5.0}),
    ("flocking", "large"): (100, {"count": 400, "size": 150.0, "vision": 15.0}),
    ("wolf_sheep", "small"): (
        100,
        {"side": 25, "sheep": 60, "wolves": 40, "regrowth": 20, "lambs": 0.2, "pups": 0.1},
    ),
    ("wolf_sheep", "large"): (
        100,
        {"side": 100, "sheep": 1000, "wolves": 500, "regrowth": 10, "lambs": 0.4, "pups": 0.2},
    ),
    ("schelling", "small"): (20, {"side": 40, "count": 1000, "radius": 1, "wanted": 3}),
    ("schelling", "large"): (20, {"side": 100, "count": 8000, "radius": 2, "wanted": 8}),
    ("life", "small"): (100, {"side": 50}),
    ("life", "large"): (100, {"side": 200}),
    ("boltzmann", "small"): (100, {"count": 1000}),
    ("boltzmann", "large"): (10, {"count": 100_000}),
    ("sugarscape", "small"): (100, {"side": 50, "count": 400}),
    ("sugarscape", "large"): (10, {"side": 200, "count": 10_000}),
}
"""By model and size: how many steps, and of what."""


def fly(package: Any, count: int, size: float, vision: float, seed: int) -> Step:
    boids = flocking.flock(package, count, size, seed).boid
    return lambda: boids.fly(vision, 1.0, size)


def roam(package: Any, *, regrowth: int, lambs: float, pups: float, **others: int) -> Step:
    world = wolf_sheep.meadow(package, regrowth=regrowth, **others)
    return lambda: wolf_sheep.day(world, regrowth, lambs, pups)


def settle(package: Any, side: int, count: int, radius: int, wanted: int, seed: int) -> Step:
    households = schelling.town(package, side, count, seed).household
    return lambda: households.settle(radius, wanted)


def live(package: Any, side: int, seed: int) -> Step:
    step: Step = life.soup(package, side, 0.3, seed).cell.live
    return step


def give(package: Any, count: int, seed: int) -> Step:
    world = boltzmann.market(package, count, seed)

    def step() -> float:
        world.person.give()
        return boltzmann.gini(world)

    return step


def forage(package: Any, side: int, count: int, seed: int) -> Step:
    step: Step = sugarscape.settled(package, side, count, seed).step
    return step


OURS: dict[str, Callable[..., Step]] = {
    "flocking": fly,
    "wolf_sheep": roam,
    "schelling": settle,
    "life": live,
    "boltzmann": give,
    "sugarscape": forage,
}


def spent(step: Step, steps: int) -> float:
    """Return the ms of so many steps. Time in which others have the core does not count."""
    gc.disable()
    began, used = time.perf_counter(), time.process_time()
    for _ in range(steps):
        step()
    elapsed = min(time.perf_counter() - began, time.process_time() - used)
    gc.enable()
    return 1e3 * elapsed


def of_mesa(python: Path, name: str, arguments: Mapping[str, Any], steps: int) -> float:
    """Return the ms that a process with mesa measures."""
    if name == "sugarscape":
        limit = sugarscape.hills(arguments["side"]).ravel().tolist()
        arguments = {"limit": limit, **arguments}
    script = Path(__file__).with_name("_models_mesa.py")
    command = [str(python), str(script), name, json.dumps(arguments), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def makers(
    folder: Path, name: str, options: argparse.Namespace
) -> Iterator[tuple[str, Callable[..., Step]]]:
    """Yield each backend that can take part, and say which one is left out."""
    for backend in ("numba", "numpy"):
        if backend not in options.without:
            try:
                package = built(folder, backend, EXAMPLES / name / f"{name}.yaml")
            except MissingError as missing:
                print(f"{name}, {backend} is left out: {missing}")
            else:
                yield backend, partial(OURS[name], package)


def measured(
    folder: Path, name: str, size: str, options: argparse.Namespace
) -> dict[str, list[float]]:
    """Return the ms of each round, by contender."""
    steps, arguments = SIZES[name, size]
    steps = max(1, steps // options.share)
    makers_by_name = dict(makers(folder, name, options))
    times: dict[str, list[float]] = {backend: [] for backend in makers_by_name}
    for make in makers_by_name.values():
        spent(make(**arguments, seed=1), 2)
    for round_ in range(options.rounds):
        for backend, make in makers_by_name.items():
            if backend == "numba" or round_ < options.slow_rounds:
                times[backend].append(spent(make(**arguments, seed=round_), steps))
        if "mesa" not in options.without and round_ < options.slow_rounds:
            took = of_mesa(options.mesa, name, {**arguments, "seed": round_}, steps)
            times.setdefault("mesa", []).append(took)
    return times


def line(title: str, times: Mapping[str, list[float]]) -> str:
    """Return a row of the table: best and median of each, and ratios of the best and medians."""
    cells = [title]
    for contender in ("numba", "numpy", "mesa"):
        spent_ms = times.get(contender)
        cells.append(f"{min(spent_ms):.2f} / {median(spent_ms):.2f}" if spent_ms else "")
    for contender in ("numpy", "mesa"):
        a, b = times.get(contender), times.get("numba")
        cells.append(f"{min(a) / min(b):.3g} / {median(a) / median(b):.3g}" if a and b else "")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    names = [*dict.fromkeys(name for name, _ in SIZES)]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=names, choices=names)
    parser.add_argument("--sizes", nargs="+", default=["small", "large"])
    parser.add_argument("--share", type=int, default=1, help="of the steps: one N-th of them")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--slow-rounds", type=int, default=1, help="of numpy and mesa")
    parser.add_argument("--without", nargs="*", default=[], choices=["numba", "numpy", "mesa"])
    parser.add_argument("--mesa", type=Path, default=ROOT / ".venv-mesa" / "bin" / "python")
    options = parser.parse_args()
    if "mesa" not in options.without and not options.mesa.is_file():
        print(f"mesa is left out: there is no {options.mesa}; the head of this file says how")
        options.without.append("mesa")
    print(f"{machine()}\n\nms, best / median\n")
    print("| | steps | numba | numpy | mesa | numpy / numba | mesa / numba |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            for size in options.sizes:
                steps = max(1, SIZES[name, size][0] // options.share)
                times = measured(Path(folder), name, size, options)
                print(line(f"{name}, {size} | {steps}", times), flush=True)


if __name__ == "__main__":
    main()
