"""Schelling's segregation: nobody wants it, and yet it comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _models import options, package, squares


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
    chosen = options(__doc__, __file__, arguments, side=40, count=1000, wanted=3, steps=20)
    world = town(package("schelling"), chosen.side, chosen.count, chosen.seed)
    print("step   happy   alike")
    for step in range(chosen.steps + 1):
        if step % max(1, chosen.steps // 5) == 0:
            print(f"{step:4}  {world.household.content():6}   {alike(world):5.2f}")
        if step < chosen.steps:
            world.household.settle(1, chosen.wanted)
    groups = np.zeros(world.lot.grid.shape, int)
    data = world.household.data
    groups[tuple(world.lot.grid.coords_many(data.lot).T)] = 1 + data.group
    chosen.svg.write_text(squares(groups, ["#4269d0", "#efb118"]), encoding="utf-8")


if __name__ == "__main__":
    main()
