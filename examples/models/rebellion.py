"""Civil violence: long quiet, then an outburst that fills the jails, then quiet again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _models import curves, options, package


def city(made: Any, side: int, seed: int) -> Any:
    """Return the world of a city in which 70 % of the places have a citizen, and 4 % police."""
    world, rng = made.City(street=(side, side)), np.random.default_rng(seed)
    world.seed = seed
    count = side * side * 74 // 100
    places = world.street.id_of_many(rng.permutation(side * side)[:count])
    police = np.arange(count) < side * side * 4 // 100
    moods = {"hardship": rng.random(count), "aversion": rng.random(count)}
    world.spawn(count, person={"cell": places, "police": police, **moods})
    return world


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(
        __doc__, __file__, arguments, side=20, vision=7, legitimacy=0.82, longest=30, steps=300
    )
    world = city(package("rebellion"), chosen.side, chosen.seed)
    rebelling, jailed = [], []
    print("step   rebelling   jailed")
    for step in range(chosen.steps + 1):
        rebelling.append(world.person.rebelling())
        jailed.append(world.person.jailed())
        if step % max(1, chosen.steps // 20) == 0:
            print(f"{step:4}   {rebelling[-1]:9}   {jailed[-1]:6}")
        world.act(chosen.vision, chosen.legitimacy, chosen.longest)
    drawn = curves([rebelling, jailed], ["#b5482f", "#999999"])
    chosen.svg.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
