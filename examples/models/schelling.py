"""Schelling's segregation: nobody wants it, and yet it comes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _models import package, squares


def town(made: Any, side: int, count: int, seed: int) -> Any:
    """Return the world of a town in which as many households of two groups live anywhere."""
    world, rng = made.World(lot=(side, side)), np.random.default_rng(seed)
    world.seed = seed
    lots = world.lot.id_of_many(rng.permutation(side * side)[:count])
    world.spawn(count, household={"lot": lots, "group": np.arange(count) % 2})
    return world


def alike(world: Any) -> float:
    """Return which share of all neighbours is of one's own group."""
    data = world.household.data
    starts, rows = world.household.near(data.lot, 1)
    who = np.arange(data.n).repeat(np.diff(starts))
    others = who != rows
    return float((data.group[who] == data.group[rows])[others].mean())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--side", type=int, default=40)
    parser.add_argument("--count", type=int, default=1000, help="households")
    parser.add_argument("--wanted", type=int, default=3, help="neighbours of the own group")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", type=Path, default=Path(__file__).with_suffix(".svg"))
    options = parser.parse_args(arguments)
    world = town(package("schelling"), options.side, options.count, options.seed)
    print("step   happy   alike")
    for step in range(options.steps + 1):
        if step % max(1, options.steps // 5) == 0:
            print(f"{step:4}  {world.household.content():6}   {alike(world):5.2f}")
        if step < options.steps:
            world.household.settle(1, options.wanted)
    groups = np.zeros(world.lot.grid.shape, int)
    data = world.household.data
    groups[tuple(world.lot.grid.coords_many(data.lot).T)] = 1 + data.group
    options.svg.write_text(squares(groups, ["#4269d0", "#efb118"]), encoding="utf-8")


if __name__ == "__main__":
    main()
