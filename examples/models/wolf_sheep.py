"""Wolves and sheep: more sheep, then more wolves, then fewer sheep, then fewer wolves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _models import curves, options, package


def meadow(made: Any, side: int, sheep: int, wolves: int, regrowth: int, seed: int) -> Any:
    """Return the world of a meadow, half of it eaten, on which animals stand anywhere."""
    world, rng = made.Meadow(patch=(side, side)), np.random.default_rng(seed)
    world.seed = seed
    cells = world.patch.id_of_many(np.arange(side * side))
    world.patch.data.due = rng.integers(1 - regrowth, regrowth, side * side)
    world.spawn(sheep, sheep={"cell": rng.choice(cells, sheep), "energy": rng.random(sheep) * 10})
    world.spawn(wolves, wolf={"cell": rng.choice(cells, wolves), "energy": rng.random(wolves) * 26})
    return world


def day(world: Any, regrowth: int, lambs: float, pups: float) -> None:
    """Let sheep graze and wolves hunt, and time go on."""
    world.step(regrowth=regrowth, lambs=lambs, pups=pups)
    world.tick += 1


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, __file__, arguments, side=50, sheep=240, wolves=160, days=500)
    made = package("wolf_sheep")
    world = meadow(made, chosen.side, chosen.sheep, chosen.wolves, 20, chosen.seed)
    population = world.records.population
    population.write()
    for _ in range(chosen.days):
        day(world, 20, 0.2, 0.1)
        population.write()
    sheep, wolves = population.sheep.tolist(), population.wolves.tolist()
    print(" day   sheep   wolves")
    for number in range(0, chosen.days + 1, max(1, chosen.days // 10)):
        print(f"{number:4}  {sheep[number]:6}   {wolves[number]:6}")
    drawn = curves([sheep, wolves], ["#3f8f4f", "#b5482f"])
    chosen.svg.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
