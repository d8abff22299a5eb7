"""A flock: boids turn towards those near them, along with them, and away from those too near.

Nobody leads, and no Python code runs per boid: `steer` and `fly` are kernels of schemas/boid.yaml,
and each boid asks its neighbours on a torus. What comes of it is told by two numbers: how much a
boid's heading agrees with those near it, and how many these are.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from math import pi, sqrt

import _path  # noqa: F401  (must come before `generated`)
import numpy as np

from generated import World

VISION = 10.0  # m: how far a boid sees
APART = 2.0  # m: how near others may be
SPEED = 1.0  # m per step
NEAR = 3.3  # others near each, at first


class Flock:
    """A world of boids, strewn over a torus of a size that suits their number."""

    def __init__(self, count: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.world = World()
        self.boids = self.world.boid
        self.size = sqrt(count * pi * VISION**2 / NEAR)
        self.boids.wrap = (self.size, self.size)
        angles = rng.random(count) * 2 * pi
        headings = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        places = rng.random((count, 2)) * self.size
        self.world.spawn(count, boid={"position": places, "heading": headings})

    def step(self) -> None:
        """Let all boids look around, then fly."""
        self.boids.steer(VISION, APART)
        self.boids.fly(SPEED, self.size, self.size)

    def look(self) -> tuple[float, float]:
        """Return how much headings agree with those near them (1: they are the same), and how many
        others a boid has near it, on the average."""
        data = self.boids.data
        starts, rows = self.boids.near(data.position, VISION)
        count = len(data.position)
        who = np.arange(count).repeat(np.diff(starts))
        others = who != rows  # a point finds the boid that is there
        alike = np.einsum("ij,ij->i", data.heading[who[others]], data.heading[rows[others]])
        return float(alike.mean()), len(alike) / count


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=10_000, help="boids")
    parser.add_argument("--steps", type=int, default=200, help="steps to fly")
    options = parser.parse_args(arguments)
    flock = Flock(options.count)
    print("step   agreement   others near each")
    began = time.perf_counter()
    for step in range(options.steps + 1):
        if step % max(1, options.steps // 5) == 0:
            agreement, company = flock.look()
            print(f"{step:4}   {agreement:9.2f}   {company:16.1f}")
        if step < options.steps:
            flock.step()
    each = 1e9 * (time.perf_counter() - began) / (options.count * max(options.steps, 1))
    print(f"{options.count:,} boids, {each:.0f} ns for each in each step")


if __name__ == "__main__":
    main()
