"""Words of the language beside what they are measured by: a loop by hand, a simpler question.

    python benchmarks/language.py [--rounds N] [--backends NAME ...]

Then battle royale, whose fighters have nine ways to behave, at its own size and ten times it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _arguments import BACKENDS, parsed
from _missing_contenders import library
from _package import SCHEMAS, packages
from _timing import Case, stepping, table


def hand_written(heat: Any, drift: Any) -> None:
    side = len(heat)
    for y in range(side):
        for x in range(side):
            total, mine = 0.0, heat[y, x]
            for across in (-1, 0, 1):
                for along in (-1, 0, 1):
                    theirs = heat[(y + across) % side, (x + along) % side]
                    if (across != 0 or along != 0) and theirs > mine:
                        total += theirs * across
                    elif across != 0 or along != 0:
                        total -= mine
            drift[y, x] = total


def fight(package: Any, count: int, seed: int) -> Any:
    world, places = package.Arena(), np.random.default_rng(seed).integers(1, 101, (count, 2))
    world.spawn(count, fighter={"at": places.astype(np.float64)})
    return world.fight


def wolves_on(package: Any, side: int) -> Any:
    """Return the manager of 300 rows on a grid of so many cells along each axis."""
    world, random = package.Wilds(ground=(side, side)), np.random.default_rng(1)
    seats = world.ground.grid.at_many(random.integers(0, side, (300, 2)))
    world.spawn(300, wolf={"seat": seats})
    return world.wolf


def cases(folder: Path, backends: list[Any]) -> Iterator[Case]:
    for backend, package in packages(folder, backends, SCHEMAS / "language.yaml").items():
        cells, random = package.CellManager(), np.random.default_rng(1)
        cells.data.alive[:] = random.random(len(cells)) < 0.4
        cells.data.heat[:] = random.random(len(cells))
        asked = "alike", "hotter", "pulled", "least", "evened"
        questions = {name: getattr(cells, name) for name in asked}
        yield Case.of(f"cells ask, {backend}", len(cells), questions)
        small, large = (wolves_on(package, side) for side in (100, 1000))
        grids = {"small grid": small.look, "100 times it": large.look, "farther": large.overlook}
        yield Case.of(f"300 on a grid look around, {backend}", 300, grids)
        if backend == "numba":
            data, hand = cells.data, library("numba").njit(hand_written)
            by_hand = partial(hand, data.heat.reshape(200, 200), data.drift.reshape(200, 200))
            runs = {"for other in other": cells.each, "by hand": by_hand}
            yield Case.of("cells do something for each other", len(cells), runs)
    for backend, package in packages(folder, backends, SCHEMAS / "royale.yaml").items():
        for count in (50, 500):
            royale = {backend: stepping(partial(fight, package, count, seed=1), 30)}
            yield Case(f"battle royale, {count} fighters, a step", 30, royale)


def main() -> None:
    options = parsed(__doc__, rounds=5, backends=BACKENDS)
    with TemporaryDirectory() as folder:
        table(
            cases(Path(folder), options.backends),
            options.rounds,
            ["alike", "by hand", "small grid"],
        )


if __name__ == "__main__":
    main()
