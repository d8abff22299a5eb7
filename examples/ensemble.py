"""Many runs of one model: parameters and seeds go in, rows of a table come out.

A run is a function of plain values that returns a dict, so it goes unchanged to whatever maps over
processes: here those of one machine; on many, `from mpi4py.futures import MPIPoolExecutor` in the
place of `ProcessPoolExecutor`, or `ray.util.multiprocessing.Pool`.
"""

from __future__ import annotations

import argparse
import itertools
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import _path  # noqa: F401  (must come before `generated`)
import numpy as np

from generated import Draws, World

FRAME = 0.1  # s


def run(gravity: float, seed: int) -> dict[str, Any]:
    """Throw stones upwards, and return when the last one is down again and how far one flew."""
    world = World()
    keys = np.arange(200, dtype=np.uint64)
    chance = Draws.uniform(keys, 0, 0, 2, seed=seed)
    upwards = np.stack((10 * chance[:, 0], 5 + 20 * chance[:, 1], 0 * keys), axis=1)
    world.spawn(len(keys), point_mass={"velocity": upwards, "acceleration": (0.0, -gravity, 0.0)})
    masses, ticks, farthest = world.point_mass, 0, 0.0
    while len(masses):
        masses.simulate(FRAME)
        ticks += 1
        down = masses.data.position[:, 1] <= 0
        if down.any():
            farthest = max(farthest, float(masses.data.position[down, 0].max()))
            world.destroy_many(masses.data.entity[down].copy())
            world.collect()
    return {"gravity": gravity, "seed": seed, "seconds": ticks * FRAME, "farthest": farthest}


def main() -> None:
    """Run all, in as many processes as there are cores, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    seeds = parser.parse_args().seeds
    parameters = [*itertools.product((1.62, 3.72, 9.81), range(seeds))]
    with ProcessPoolExecutor() as pool:
        rows = [*pool.map(run, *zip(*parameters, strict=True))]
    print(*rows[0], sep="\t")
    for row in rows:
        print(*(f"{value:g}" for value in row.values()), sep="\t")


if __name__ == "__main__":
    main()
