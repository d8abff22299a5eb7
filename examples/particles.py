"""A fountain of a million short-lived particles: spawn, simulate, kill and collect, frame by frame.

As many are spawned per frame as are destroyed, so the number alive stays where it is. Every step is
a bulk call on the managers or an operation on their columns; no Python code runs per particle.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import _path  # noqa: F401  (must come before `generated`)
import numpy as np

from generated import World

FRAME = 1 / 60
GRAVITY = -9.81
LONGEST = 2.0  # seconds of life; the shortest is none at all, so the mean is one
EMITTERS = np.array([[-6.0, 0.0], [0.0, 0.0], [6.0, 0.0]], np.float32)
COLOURS = np.array([[255, 120, 40, 255], [90, 170, 255, 255], [160, 255, 120, 255]], np.uint8)


class Fountain:
    """A world of particles with a fixed number alive on average."""

    def __init__(self, alive: int, seed: int = 1) -> None:
        self.world = World()
        self.rng = np.random.default_rng(seed)
        self.spawns_per_frame = max(1, round(alive * FRAME / (LONGEST / 2)))
        # In the steady state lives are left over as a triangle: many short ones, few long ones.
        self.emit(alive, LONGEST * (1.0 - np.sqrt(self.rng.random(alive))))

    def emit(self, count: int, life: np.typing.NDArray[np.float64]) -> None:
        """Spawn particles at the emitters with seconds to live, shape (count,)."""
        emitter = self.rng.integers(len(EMITTERS), size=count)
        velocity = self.rng.normal(0.0, 1.0, (count, 2))
        velocity[:, 1] += 10.0
        self.world.spawn(
            count,
            particle={
                "position": EMITTERS[emitter],
                "velocity": velocity,
                "life": life,
                "colour": COLOURS[emitter],
            },
        )

    def spawn(self) -> None:
        """Spawn one frame's particles."""
        self.emit(self.spawns_per_frame, self.rng.uniform(0.0, LONGEST, self.spawns_per_frame))

    def simulate(self) -> None:
        """Advance all particles by a frame, in place."""
        self.world.particle.simulate(FRAME, GRAVITY)

    def kill(self) -> None:
        """Destroy the entities whose life is over. Their rows stay until they are collected."""
        data = self.world.particle.data
        self.world.destroy_many(data.entity[data.life <= 0.0])

    def collect(self) -> None:
        """Remove the rows of the dead; the last rows move into the holes."""
        self.world.particle.collect()


def timed(step: Callable[[], None]) -> float:
    """Return the milliseconds that a step takes."""
    began = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - began)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1_000_000, help="particles alive")
    parser.add_argument("--frames", type=int, default=120, help="frames to measure")
    options = parser.parse_args(arguments)
    if options.count < 1 or options.frames < 1:
        parser.error("--count and --frames must be at least 1")

    fountain = Fountain(options.count)
    steps = (fountain.spawn, fountain.simulate, fountain.kill, fountain.collect)
    for step in steps * 3:  # warm-up: buffers grow to their final size
        step()
    frames = [[timed(step) for step in steps] for _ in range(options.frames)]

    particles = fountain.world.particle
    print(f"{len(particles):,} particles alive,", end=" ")
    print(f"{fountain.spawns_per_frame:,} spawned per frame,", end=" ")
    print(f"{particles.nbytes / 2**20:.1f} MiB\n\nms per frame      best    median")
    columns = [*zip(*frames, strict=True), [sum(frame) for frame in frames]]
    for name, column in zip(
        (*(step.__name__ for step in steps), "whole frame"), columns, strict=True
    ):
        print(f"{name:12} {min(column):9.3f} {statistics.median(column):9.3f}")


if __name__ == "__main__":
    main()
