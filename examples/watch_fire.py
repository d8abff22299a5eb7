"""A fire in a wood, watched: fires run through what has grown, and leave room for more.

    make view MODEL=fire

Needs the inspector: pip install 'ecsgen[film]'. Open the URL that is printed, and press Play.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _watched import package, watch

from ecsgen.inspector import View

VIEW = View(map="wood", color="state", charts=[["wood.trees"], ["wood.fires"]])


def make(
    seed: int = 1, side: int = 120, growth: float = 0.02, lightning: float = 0.0001
) -> tuple[Any, Callable[[], None]]:
    """Return a world that is half wood, and what lets a step pass."""
    model = package("fire")
    world = model.World(wood=(side, side))
    world.seed = seed
    is_tree = np.random.default_rng(seed).random(side * side) < 0.5
    world.wood.data.state[is_tree] = model.State.tree

    def step() -> None:
        world.wood.burn(growth, lightning)

    return world, step


if __name__ == "__main__":
    watch(__doc__, make, VIEW)
