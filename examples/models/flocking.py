"""Boids on a torus: they turn one after the other, and soon fly along with each other."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _models import SIDE, frame, package


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
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=400, help="boids")
    parser.add_argument("--size", type=float, default=150.0, help="of the torus")
    parser.add_argument("--vision", type=float, default=15.0)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", type=Path, default=Path(__file__).with_suffix(".svg"))
    options = parser.parse_args(arguments)
    world = flock(package("flocking"), options.count, options.size, options.seed)
    print("step   order")
    for step in range(options.steps + 1):
        if step % max(1, options.steps // 5) == 0:
            print(f"{step:4}   {order(world):5.2f}")
        if step < options.steps:
            world.boid.fly(options.vision, 1.0, options.size)
    options.svg.write_text(picture(world.boid), encoding="utf-8")


if __name__ == "__main__":
    main()
