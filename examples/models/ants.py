"""Ants: none of them knows where food is, but the trails of those who found some do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _models import options, package, squares

PILES = (0.85, 0.5), (0.25, 0.2), (0.12, 0.88)
"""Where food is, on a square with sides of 1: near the nest, farther away, and farthest."""
EVAPORATED = 0.1  # of the trail, in a step


def colony(made: Any, side: int, count: int, seed: int) -> Any:
    """Return the world of a nest, from which as many ants set out, and of three piles of food."""
    world, rng = made.Colony(patch=(side, side)), np.random.default_rng(seed)
    world.seed = seed
    middle = side // 2
    x, y = np.mgrid[:side, :side]
    world.patch.data.nest = -np.hypot(x - middle, y - middle).ravel()
    piles = [np.hypot(x - side * a, y - side * b) < side / 14 for a, b in PILES]
    world.patch.data.food = 2 * np.any(piles, axis=0).ravel()
    headings = rng.random(count) * 2 * np.pi
    world.spawn(count, ant={"at": (middle, middle), "heading": headings})
    return world


def forage(world: Any, mark: float = 60.0) -> None:
    """Let a step pass. Ants with food mark their way with so much scent."""
    world.step(mark=mark, home=-len(world.patch) ** 0.5 / 14, evaporated=EVAPORATED)


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, __file__, arguments, side=71, count=125, steps=300)
    world = colony(package("ants"), chosen.side, chosen.count, chosen.seed)
    print("step   food left   ants with food")
    for step in range(chosen.steps + 1):
        if step % max(1, chosen.steps // 5) == 0:
            print(f"{step:4}   {world.patch.stored():9}   {world.ant.carrying():14}")
        if step < chosen.steps:
            forage(world)
    patches = world.patch.data
    shown = (patches.trail > 1).astype(int) + (patches.trail > 10)
    shown[patches.food > 0] = 3
    ants = np.rint(world.ant.data.at).astype(int)
    shown[np.ravel_multi_index(tuple(ants.T), world.patch.grid.shape)] = 4
    colours = ["#dbe7c9", "#a8cf8e", "#efb118", "#5b3a1e"]  # trails, food, ants
    drawn = squares(shown.reshape(world.patch.grid.shape), colours)
    chosen.svg.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
