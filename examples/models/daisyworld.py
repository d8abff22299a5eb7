"""Daisyworld: while the sun grows hotter and hotter, daisies keep the ground as they like it."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from _models import curves, options, package

BARE = 0.4  # the albedo of ground without daisies
LIFETIME = 25
STRAYS = 0.01  # of the seeds become a daisy of the other colour


def planet(made: Any, side: int, seed: int) -> Any:
    """Return the world of a planet on which daisies of both colours grow on two cells of five."""
    world, rng = made.Daisyworld(ground=(side, side)), np.random.default_rng(seed)
    world.seed = seed
    cells = world.ground.id_of_many(rng.permutation(side * side)[: side * side * 2 // 5])
    ages = rng.integers(0, LIFETIME, len(cells))
    albedos = np.where(np.arange(len(cells)) % 2, 0.25, 0.75)
    world.spawn(len(cells), daisy={"cell": cells, "albedo": albedos, "age": ages})
    return world


def year(world: Any, sun: float) -> float:
    """Let a year pass under a sun of that luminosity; return how warm the ground is then."""
    world.step(sun=sun, bare=BARE, lifetime=LIFETIME, strays=STRAYS)
    return float(world.ground.warmth())


def without(sun: float) -> float:
    """Return how warm bare ground becomes under that sun."""
    return 72 * log((1 - BARE) * sun) + 80


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, __file__, arguments, side=30, first=0.6, last=2.6, steps=1000)
    world = planet(package("daisyworld"), chosen.side, chosen.seed)
    suns = np.linspace(chosen.first, chosen.last, chosen.steps + 1).tolist()
    warmth, bare = [], [max(without(sun), 0) for sun in suns]
    print("step   sun   daisies   white   degrees   without daisies")
    for step, sun in enumerate(suns):
        if step % max(1, chosen.steps // 10) == 0:
            counts = f"{len(world.daisy):7}   {world.daisy.white():5}"
            degrees = f"{world.ground.warmth():7.1f}   {without(sun):15.1f}"
            print(f"{step:4}   {sun:3.1f}   {counts}   {degrees}")
        warmth.append(max(year(world, sun), 0))
    chosen.svg.write_text(curves([bare, warmth], ["#999999", "#b5482f"]), encoding="utf-8")


if __name__ == "__main__":
    main()
