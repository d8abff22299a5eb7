"""A flock over several processes: the same birds to the last bit, on however many ranks.

    make flock
    mpiexec -n 2 python examples/flock_shards.py --svg examples/flock.svg

The package is made from examples/flock_shards/ into build/flock. Birds live where they fly; each
looks around with a kernel that also sees those beyond the border. Some are spawned, some destroyed.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from importlib import import_module
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np

BUILD = Path(__file__).resolve().parents[1] / "build"
VISION, APART, SPEED = 10.0, 2.0, 1.0  # m, m, m per step
NEAR = 3.3  # others near each, at first
CHANCE, PLACE, TURN = range(3)  # streams of random numbers
COLOURS = ["#4269d0", "#ff725c", "#3ca951", "#a463f2", "#efb118", "#6cc5b0"]


class Flock:
    """The birds of this rank."""

    def __init__(self, package: Any, count: int, check: bool) -> None:
        self.draws = package.Draws
        self.size = sqrt(count * pi * VISION**2 / NEAR)
        self.world = package.Flock()
        self.boids = self.world.boid
        self.boids.wrap = (self.size, self.size)
        self.shards = package.Shards(self.world, timeout=60, check=check)
        ends = (0, 0), (self.size, self.size)
        self.space = package.Blocks(*ends, self.shards.size, periodic=True)
        if self.shards.rank == 0:
            keys = np.arange(1, count + 1, dtype=np.uint64)
            self.hatch(keys, self.draws.uniform(keys, 0, PLACE, 2) * self.size, 0)

    def hatch(self, keys: Any, places: Any, tick: int) -> None:
        """Spawn birds at places, with a heading by their key."""
        angles = self.draws.uniform(keys, tick, TURN) * 2 * pi
        headings = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        boid = {"key": keys, "position": places, "heading": headings}
        self.world.spawn(len(keys), boid=boid)

    def step(self, tick: int) -> None:
        """Migrate to the rank of each bird's place, look around, fly; spawn and destroy."""
        shards, boids, space = self.shards, self.boids, self.space
        shards.migrate(boids.data.entity, space.owner(boids.data.position))
        rows, ranks = space.borders(boids.data.position, VISION, shards.rank)
        shards.refresh(boids.data.entity[rows], ranks)
        boids.steer(VISION, APART)
        boids.fly(SPEED, self.size)
        chance = self.draws.uniform(boids.data.key, tick, CHANCE)
        parents, dying = chance < 0.002, boids.data.entity[chance > 0.998].copy()
        children = self.draws.child_keys(boids.data.key[parents], tick)
        self.hatch(children, boids.data.position[parents].copy(), tick)
        self.world.destroy_many(dying)
        self.world.collect()

    def gather(self) -> Any:
        """Migrate all birds to rank 0; return its columns, by key."""
        alive = self.boids.data.entity
        self.shards.migrate(alive, np.zeros(len(alive), int))
        data = self.boids.data
        order = data.key.argsort()
        return [column[order] for column in (data.key, data.position, data.heading)]


def digest(columns: Any) -> str:
    """Return what tells flocks apart."""
    hashed = hashlib.sha256()
    for column in columns:
        hashed.update(np.ascontiguousarray(column).tobytes())
    return hashed.hexdigest()


def picture(flock: Flock, places: Any, headings: Any) -> str:
    """Draw the birds, those of each rank in a colour of its own."""
    scale = 800 / flock.size
    owners = flock.space.owner(places)
    ends = np.concatenate([scale * places, 6 * headings], axis=1)
    paths = []
    for rank in range(flock.space.size):
        strokes = "".join(
            f"M{x:.0f} {y:.0f}l{u:.1f} {v:.1f}" for x, y, u, v in ends[owners == rank]
        )
        paths.append(f'<path stroke="{COLOURS[rank % len(COLOURS)]}" d="{strokes}"/>')
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 816 816">'
    style = '<g fill="none" stroke-width="2" stroke-linecap="round">'
    back = '<rect x="-8" y="-8" width="816" height="816" fill="#fff"/>'
    return "\n".join([head, back, style, *paths, "</g></svg>\n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=3000, help="birds at first")
    parser.add_argument("--steps", type=int, default=150, help="steps to fly")
    parser.add_argument("--check", action="store_true", help="compare neighbours over the border")
    parser.add_argument("--svg", type=Path, help="where to draw them")
    parser.add_argument("--package", type=Path, default=BUILD / "flock", help="the package")
    options = parser.parse_args()
    sys.path.insert(0, str(options.package.parent))
    flock = Flock(import_module(options.package.name), options.count, options.check)
    with flock.shards as shards:
        for tick in range(1, options.steps + 1):
            flock.step(tick)
        count = shards.count(len(flock.boids))
        mean = shards.sum(flock.boids.data.heading) / count
        columns = flock.gather()
    if shards.rank == 0:
        print(f"{count:,} birds on {shards.size} ranks, heading {mean[0]:.6f}, {mean[1]:.6f}")
        print(digest(columns))
        if options.svg:
            options.svg.write_text(picture(flock, *columns[1:]), encoding="utf-8")


if __name__ == "__main__":
    main()
