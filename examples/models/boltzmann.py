"""Boltzmann wealth: all begin alike, each gives a coin to anybody, and few have most of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _models import curves, options, package


def market(made: Any, count: int, seed: int) -> Any:
    """Return the world of as many persons, who have a coin each."""
    world = made.World()
    world.seed = seed
    world.spawn(count, person={})
    return world


def gini(world: Any) -> float:
    """Return the Gini coefficient of what persons have."""
    counts = np.bincount(world.person.data.coins)  # how many have 0, 1, 2 … coins
    coins, n = np.arange(len(counts)), counts.sum()
    ranks = counts * (2 * counts.cumsum() - counts + 1)  # twice the sum of those that have so many
    return float(coins @ ranks / (n * (coins @ counts)) - (n + 1) / n)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, __file__, arguments, count=10_000, steps=100)
    world = market(package("boltzmann"), chosen.count, chosen.seed)
    print("step   without   most   Gini")
    for step in range(chosen.steps + 1):
        if step % max(1, chosen.steps // 5) == 0:
            poor, most = world.person.poor(), world.person.most()
            print(f"{step:4}  {poor:8}  {most:5}   {gini(world):4.2f}")
        if step < chosen.steps:
            world.person.give()
    wealth = np.bincount(world.person.data.coins)
    chosen.svg.write_text(curves([wealth.tolist()], ["#3f8f4f"]), encoding="utf-8")


if __name__ == "__main__":
    main()
