"""Boltzmann wealth: all begin alike, each gives a coin to anybody, and few have most of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _models import curves, package


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
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=10_000, help="persons")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", type=Path, default=Path(__file__).with_suffix(".svg"))
    options = parser.parse_args(arguments)
    world = market(package("boltzmann"), options.count, options.seed)
    print("step   without   most   Gini")
    for step in range(options.steps + 1):
        if step % max(1, options.steps // 5) == 0:
            poor, most = world.person.poor(), world.person.most()
            print(f"{step:4}  {poor:8}  {most:5}   {gini(world):4.2f}")
        if step < options.steps:
            world.person.give()
    wealth = np.bincount(world.person.data.coins)
    options.svg.write_text(curves([wealth.tolist()], ["#3f8f4f"]), encoding="utf-8")


if __name__ == "__main__":
    main()
