"""Six models of examples/models/ with numba and with numpy alone.

    python benchmarks/models.py [--only NAME ...] [--sizes NAME ...] [--steps N] [--rounds N]
        [--backends NAME ...]

Steps alone, compiled and warm; each round makes the model anew, untimed. Numpy's loops over agents
are plain Python.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _arguments import BACKENDS, parsed
from _package import ROOT, packages
from _timing import Case, stepping, table

from ecsgen.config import Backend

EXAMPLES = ROOT / "examples" / "models"
sys.path.insert(0, str(EXAMPLES))

import boltzmann  # noqa: E402  (the examples, which populate the worlds)
import flocking  # noqa: E402
import life  # noqa: E402
import schelling  # noqa: E402
import sugarscape  # noqa: E402
import wolf_sheep  # noqa: E402

Step = Callable[[], object]
SIZES: dict[tuple[str, str], tuple[Any, ...]] = {
    ("flocking", "small"): (200, 100.0, 5.0),
    ("flocking", "large"): (400, 150.0, 15.0),
    ("wolf_sheep", "small"): (25, 60, 40, 20, 0.2, 0.1),
    ("wolf_sheep", "large"): (100, 1000, 500, 10, 0.4, 0.2),
    ("schelling", "small"): (40, 1000, 1, 3),
    ("schelling", "large"): (100, 8000, 2, 8),
    ("life", "small"): (50,),
    ("life", "large"): (200,),
    ("boltzmann", "small"): (1000,),
    ("boltzmann", "large"): (100_000,),
    ("sugarscape", "small"): (50, 400),
    ("sugarscape", "large"): (200, 10_000),
}
"""The arguments of each model by size."""


def fly(package: Any, count: int, size: float, vision: float, seed: int) -> Step:
    boids = flocking.flock(package, count, size, seed).boid
    return lambda: boids.fly(vision, 1.0, size)


def roam(
    package: Any,
    side: int,
    sheep: int,
    wolves: int,
    regrowth: int,
    lambs: float,
    pups: float,
    seed: int,
) -> Step:
    kinds = {"sheep": sheep, "wolves": wolves}
    world = wolf_sheep.meadow(package, side=side, regrowth=regrowth, seed=seed, **kinds)
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


def cases(
    folder: Path, names: list[str], sizes: list[str], backends: list[Backend], steps: int
) -> Iterator[Case]:
    """Yield a case for each model and size."""
    for name in names:
        built = packages(folder, backends, EXAMPLES / name / f"{name}.yaml")
        for size in sizes:
            arguments = SIZES[name, size]
            runs = {
                str(backend): stepping(partial(OURS[name], package, *arguments, seed=1), steps)
                for backend, package in built.items()
            }
            yield Case(f"{name}, {size}, a step", steps, runs)


def main() -> None:
    options = parsed(
        __doc__, only=(*OURS,), sizes=("small", "large"), steps=10, rounds=3, backends=BACKENDS
    )
    with TemporaryDirectory() as folder:
        every = cases(Path(folder), options.only, options.sizes, options.backends, options.steps)
        table(every, options.rounds, ["numpy"])


if __name__ == "__main__":
    main()
