"""Traffic on a ring road: jams come from nothing, and travel backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _models import options, package, squares


def ring(made: Any, side: int, count: int, seed: int) -> Any:
    """Return the world of a ring road on which as many cars stand anywhere."""
    world, rng = made.World(road=(side,)), np.random.default_rng(seed)
    world.seed = seed
    world.spawn(count, car={"cell": world.road.id_of_many(rng.permutation(side)[:count])})
    return world


def flow(world: Any) -> float:
    """Return how many cars pass a place in a step, on the average."""
    return float(world.car.mean_speed() * len(world.car) / len(world.road))


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(
        __doc__, __file__, arguments, side=120, count=30, fastest=5, dawdling=0.25, steps=120
    )
    world = ring(package("traffic"), chosen.side, chosen.count, chosen.seed)
    speeds = np.zeros((chosen.side, chosen.steps + 1), int)
    print("step   flow")
    for step in range(chosen.steps + 1):
        data = world.car.data
        speeds[world.road.grid.coords_many(data.cell)[:, 0], chosen.steps - step] = 1 + data.speed
        if step % max(1, chosen.steps // 5) == 0:
            print(f"{step:4}   {flow(world):4.2f}")
        if step < chosen.steps:
            world.car.drive(chosen.fastest, chosen.dawdling)
    slow = chosen.fastest // 2
    # Who stands, who is slow, and the others.
    colours = ["#b5482f", *["#efb118"] * slow, *["#4269d0"] * (chosen.fastest - slow)]
    chosen.svg.write_text(squares(speeds, colours), encoding="utf-8")


if __name__ == "__main__":
    main()
