"""Sugarscape: two hills of sugar feed some ants, and the others starve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _models import options, package, squares
from numpy.typing import NDArray


def hills(side: int) -> NDArray[np.int64]:
    """Return how much sugar may grow where: 4 on two hills, less around them."""
    x, y = np.mgrid[:side, :side] / side
    near = np.minimum(np.hypot(x - 0.3, y - 0.7), np.hypot(x - 0.7, y - 0.3))
    limit: NDArray[np.int64] = np.maximum(4 - (near / 0.1).astype(np.int64), 0)
    return limit


def settled(made: Any, side: int, count: int, seed: int) -> Any:
    """Return the world of a grid with two hills, on which as many ants stand anywhere."""
    world, rng = made.Sugarscape(spot=(side, side)), np.random.default_rng(seed)
    world.seed = seed
    world.spot.data.limit = hills(side).ravel()
    cells = world.spot.id_of_many(rng.permutation(side * side)[:count])
    sugar, need = rng.integers(5, 26, count), rng.integers(1, 5, count)
    ants = {"cell": cells, "sugar": sugar, "need": need, "vision": rng.integers(1, 6, count)}
    world.spawn(count, ant=ants)
    return world


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, __file__, arguments, side=50, count=400, steps=50)
    world = settled(package("sugarscape"), chosen.side, chosen.count, chosen.seed)
    ants = world.ant
    print("step   ants   sugar of each")
    for step in range(chosen.steps + 1):
        if step % max(1, chosen.steps // 5) == 0:
            print(f"{step:4}  {len(ants):5}   {ants.data.sugar.mean():13.1f}")
        if step < chosen.steps:
            world.step()
    colours = ["#f3ecc8", "#ecdf9a", "#e4cf63", "#d8b92c", "#b5482f"]
    cells = world.spot.data.limit.reshape(world.spot.grid.shape).copy()
    cells[tuple(world.spot.grid.coords_many(ants.data.cell).T)] = 5
    chosen.svg.write_text(squares(cells, colours), encoding="utf-8")


if __name__ == "__main__":
    main()
