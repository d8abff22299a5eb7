"""Wolves and sheep: more sheep, then more wolves, then fewer sheep, then fewer wolves."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _models import curves, package


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
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--side", type=int, default=50)
    parser.add_argument("--sheep", type=int, default=240, help="at the beginning")
    parser.add_argument("--wolves", type=int, default=160, help="at the beginning")
    parser.add_argument("--days", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", type=Path, default=Path(__file__).with_suffix(".svg"))
    options = parser.parse_args(arguments)
    made = package("wolf_sheep")
    world = meadow(made, options.side, options.sheep, options.wolves, 20, options.seed)
    population = world.records.population
    population.write()
    for _ in range(options.days):
        day(world, 20, 0.2, 0.1)
        population.write()
    sheep, wolves = population.sheep.tolist(), population.wolves.tolist()
    print(" day   sheep   wolves")
    for number in range(0, options.days + 1, max(1, options.days // 10)):
        print(f"{number:4}  {sheep[number]:6}   {wolves[number]:6}")
    drawn = curves([sheep, wolves], ["#3f8f4f", "#b5482f"])
    options.svg.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
