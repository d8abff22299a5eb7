"""A virus on a network: it spreads along the links, until too few can still catch it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _models import curves, options, package
from numpy.typing import NDArray


def network(made: Any, count: int, pairs: NDArray[Any], ill: NDArray[Any], seed: int) -> Any:
    """Return the world of a network: `count` nodes, those that know each other as pairs, shape
    (k, 2), and the first who are ill."""
    world = made.Network()
    world.seed = seed
    nodes = world.spawn(count, node={})
    world.link.create_many(len(pairs), a=nodes[pairs[:, 0]], b=nodes[pairs[:, 1]])
    world.node.data.state[ill] = made.State.ill
    return world


def anybody(count: int, degree: int, seed: int) -> NDArray[Any]:
    """Return pairs of which each node has `degree` on the average."""
    pairs = np.stack(np.triu_indices(count, 1), axis=1)
    return np.random.default_rng(seed).permutation(pairs)[: count * degree // 2]


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(
        __doc__, __file__, arguments, count=500, degree=6, catch=0.05, recover=0.05, steps=200
    )
    pairs = anybody(chosen.count, chosen.degree, chosen.seed)
    world = network(package("virus"), chosen.count, pairs, np.arange(3), chosen.seed)
    ill, immune = [], []
    print("step    ill   immune")
    for step in range(chosen.steps + 1):
        ill.append(world.node.ill())
        immune.append(world.node.immune())
        if step % max(1, chosen.steps // 5) == 0:
            print(f"{step:4}  {ill[-1]:5}   {immune[-1]:6}")
        world.spread(chosen.catch, 1.0, chosen.recover, 0.5)
    drawn = curves([ill, immune], ["#b5482f", "#3f8f4f"])
    chosen.svg.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
