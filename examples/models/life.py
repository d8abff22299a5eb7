"""Conway's Game of Life on a torus: the cells of examples/models/life/ live, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _models import options, package, squares


def soup(made: Any, side: int, share: float, seed: int) -> Any:
    """Return the world of a torus on which a share of the cells is alive."""
    world = made.World(cell=(side, side))
    world.cell.data.alive = np.random.default_rng(seed).random(side * side) < share
    return world


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, __file__, arguments, side=200, steps=500)
    cells = soup(package("life"), chosen.side, 0.3, chosen.seed).cell
    print("step   alive")
    for step in range(chosen.steps + 1):
        if step % max(1, chosen.steps // 5) == 0:
            print(f"{step:4}  {cells.living():6}")
        if step < chosen.steps:
            cells.live()
    alive = cells.data.alive.reshape(cells.grid.shape)
    chosen.svg.write_text(squares(alive, ["#1d2433"]), encoding="utf-8")


if __name__ == "__main__":
    main()
