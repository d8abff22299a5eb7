"""An epidemic on a network, watched: it spreads from house to house, and jumps along far links.

    make view MODEL=epidemic

Needs the inspector: pip install 'ecsgen[film]'. Open the URL that is printed, and press Play.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _watched import package, watch

from ecsgen.inspector import View

SIZE = 100.0
VIEW = View(map="person", color="state", charts=[["person.ill", "person.immune"]])


def make(
    seed: int = 1, count: int = 1500, far: float = 0.01, chance: float = 0.1
) -> tuple[Any, Callable[[], None]]:
    """Return a town, in which a share of the links goes far away, and what lets a day pass."""
    model, rng = package("epidemic"), np.random.default_rng(seed)
    world = model.Town()
    world.seed = seed
    homes = rng.random((count, 2)).astype(np.float32) * SIZE
    persons = world.spawn(count, person={"home": homes})
    starts, rows = world.person.near(homes, SIZE / count**0.5 * 1.3)
    person = np.arange(count).repeat(np.diff(starts))
    other = np.where(rng.random(len(rows)) < far, rng.integers(0, count, len(rows)), rows)
    apart = person != other
    links = {"one": persons[person[apart]], "other": persons[other[apart]]}
    world.link.create_many(apart.sum(), **links)
    middle = np.hypot(*(homes - SIZE / 2).T).argsort()[:10]
    world.person.data.state[middle] = model.State.ill

    def step() -> None:
        world.infect(chance)
        world.person.decide(0.1, 0.01)

    return world, step


if __name__ == "__main__":
    watch(__doc__, make, VIEW)
