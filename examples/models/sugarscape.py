"""Sugarscape: two hills of sugar feed some ants, and the others starve."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _models import package, squares
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
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--side", type=int, default=50)
    parser.add_argument("--count", type=int, default=400, help="ants")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", type=Path, default=Path(__file__).with_suffix(".svg"))
    options = parser.parse_args(arguments)
    world = settled(package("sugarscape"), options.side, options.count, options.seed)
    ants = world.ant
    print("step   ants   sugar of each")
    for step in range(options.steps + 1):
        if step % max(1, options.steps // 5) == 0:
            print(f"{step:4}  {len(ants):5}   {ants.data.sugar.mean():13.1f}")
        if step < options.steps:
            world.step()
    colours = ["#f3ecc8", "#ecdf9a", "#e4cf63", "#d8b92c", "#b5482f"]
    cells = world.spot.data.limit.reshape(world.spot.grid.shape).copy()
    cells[tuple(world.spot.grid.coords_many(ants.data.cell).T)] = 5
    options.svg.write_text(squares(cells, colours), encoding="utf-8")


if __name__ == "__main__":
    main()
