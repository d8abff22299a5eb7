"""Boids on a torus: they turn one after the other, and soon fly along with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _models import SIDE, frame, options, package


def flock(made: Any, count: int, size: float, seed: int) -> Any:
    """Return the world of boids that fly anywhere, on a torus of that size."""
    world, rng = made.World(), np.random.default_rng(seed)
    world.boid.wrap, world.seed = (size, size), seed
    way = rng.random(count) * 2 * np.pi
    headings = np.stack([np.cos(way), np.sin(way)], axis=1)
    world.spawn(count, boid={"place": rng.random((count, 2)) * size, "heading": headings})
    return world


def order(world: Any) -> float:
    """Return the length of the mean heading: 1 if all fly the same way, about 0 at first."""
    return float(np.linalg.norm(world.boid.data.heading.mean(axis=0)))


def picture(boids: Any) -> str:
    """Draw each boid as a stroke."""
    scale = SIDE / boids.wrap[0]
    ends = np.concatenate([scale * boids.data.place, 8 * boids.data.heading], axis=1)
    strokes = "".join(f"M{x:.0f} {y:.0f}l{u:.1f} {v:.1f}" for x, y, u, v in ends.tolist())
    return frame([f'<path stroke="#4269d0" stroke-width="2" d="{strokes}"/>'])


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = options(__doc__, __file__, arguments, count=400, size=150.0, vision=15.0, steps=200)
    world = flock(package("flocking"), chosen.count, chosen.size, chosen.seed)
    print("step   order")
    for step in range(chosen.steps + 1):
        if step % max(1, chosen.steps // 5) == 0:
            print(f"{step:4}   {order(world):5.2f}")
        if step < chosen.steps:
            world.boid.fly(chosen.vision, 1.0, chosen.size)
    chosen.svg.write_text(picture(world.boid), encoding="utf-8")


if __name__ == "__main__":
    main()
