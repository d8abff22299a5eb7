"""Conway's Game of Life on a torus: the cells of examples/models/life/ live, all at once."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _models import package, squares


def soup(made: Any, side: int, share: float, seed: int) -> Any:
    """Return the world of a torus on which a share of the cells is alive."""
    world = made.World(cell=(side, side))
    world.cell.data.alive = np.random.default_rng(seed).random(side * side) < share
    return world


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--side", type=int, default=200)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", type=Path, default=Path(__file__).with_suffix(".svg"))
    options = parser.parse_args(arguments)
    cells = soup(package("life"), options.side, 0.3, options.seed).cell
    print("step   alive")
    for step in range(options.steps + 1):
        if step % max(1, options.steps // 5) == 0:
            print(f"{step:4}  {cells.living():6}")
        if step < options.steps:
            cells.live()
    alive = cells.data.alive.reshape(cells.grid.shape)
    options.svg.write_text(squares(alive, ["#1d2433"]), encoding="utf-8")


if __name__ == "__main__":
    main()
