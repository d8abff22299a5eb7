"""A flock: each boid looks at those near it, on a torus.

    python benchmarks/neighbours.py [--rows N …] [--near N …] [--rounds N] [--backends NAME …]

The kernel `Boid.steer` beside the same loop in C, cells and all, and beside scipy's cKDTree with
numpy by hand. Ratios of best times within one run, ours / it: below 1, ecsgen is faster.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
from collections.abc import Sequence
from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from _missing import MissingError, library
from _native import compiled, pointer_to
from _package import ROOT, built
from _timing import Case, Prepare, always, heading, machine, show
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
VISION, APART = 10.0, 2.0
OURS = ("numpy", "numba")

Flock = tuple[NDArray[np.float32], NDArray[np.float32], float]
"""Places and headings, shape (n, 2), and the size of the torus."""


def flock(rows: int, near: float) -> Flock:
    """Return boids strewn so that each has so many others near it."""
    random = np.random.default_rng(1)
    size = sqrt(rows * pi * VISION**2 / near)
    angles = random.random(rows) * 2 * pi
    headings = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places = (random.random((rows, 2)) * size).astype(np.float32)
    return np.minimum(places, np.float32(size * 0.999999)), headings.astype(np.float32), size


def generated(package: Any, made: Flock) -> tuple[Any, Prepare]:
    """Return a manager with the flock, and what steers it."""
    places, headings, size = made
    entities = package.EntityManager()
    manager = package.BoidManager(entities)
    manager.wrap = (size, size)
    manager.create_many(entities.create_many(len(places)), position=places, heading=headings)
    return manager, always(lambda: manager.steer(VISION, APART))


def native(folder: Path, made: Flock) -> tuple[NDArray[np.float32], Prepare]:
    """Return headings, and the loop in C that steers them."""
    floats = pointer_to(np.float32)
    kinds = (ctypes.c_int64, floats, floats, floats, ctypes.c_float, ctypes.c_float)
    function = compiled(folder, HERE / "neighbours.c", *kinds)
    places, headings, size = made[0].copy(), made[1].copy(), np.full(2, made[2], np.float32)
    run = always(lambda: function(len(places), places, headings, size, VISION, APART))
    return headings, run


def tree(made: Flock) -> tuple[NDArray[np.float32], Prepare]:
    """Return headings, and what steers them with a tree of all places and numpy by hand."""
    spatial = library("scipy.spatial")
    places, headings, size = made[0], made[1].copy(), made[2]

    def added(rows: NDArray[np.intp], values: NDArray[Any]) -> NDArray[np.float32]:
        sums = [np.bincount(rows, weights=each, minlength=len(places)) for each in values.T]
        return np.stack(sums, axis=1).astype(np.float32)

    def run() -> None:
        found = spatial.cKDTree(places, boxsize=size).query_pairs(VISION, output_type="ndarray")
        who = np.concatenate([found[:, 0], found[:, 1]])
        other = np.concatenate([found[:, 1], found[:, 0]])
        offset = places[other] - places[who]
        offset -= np.float32(size) * np.rint(offset / np.float32(size))
        close = np.einsum("ij,ij->i", offset, offset) < APART**2
        turn = added(who, offset) * np.float32(0.03)
        turn -= added(who[close], offset[close]) * np.float32(0.015)
        turn += added(who, headings[other]) * np.float32(0.05)
        counts = np.maximum(np.bincount(who, minlength=len(places)), 1).astype(np.float32)
        headings[...] += turn / counts[:, None]
        headings[...] /= np.sqrt(np.einsum("ij,ij->i", headings, headings))[:, None]

    return headings, always(run)


def contenders(folder: Path, made: Flock, backends: Sequence[str]) -> dict[str, Prepare]:
    """Return all that can take part; each has steered once, to the same result."""
    found: dict[str, Prepare] = {}
    expected: NDArray[np.float32] | None = None
    for name in (*backends, "C", "cKDTree and numpy by hand"):
        try:
            if name in backends:
                package = built(folder, name, ROOT / "schemas" / "boid.yaml")
                manager, found[name] = generated(package, made)
                headings = manager.data.heading
            else:
                headings, found[name] = native(folder, made) if name == "C" else tree(made)
        except MissingError as reason:
            print(f"{name} is missing: {reason}")
            continue
        found[name]()()
        expected = np.array(headings) if expected is None else expected
        assert np.allclose(headings, expected, atol=1e-3), name
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--near", type=float, nargs="+", default=[3.3, 31.0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--backends", nargs="+", default=OURS)
    options = parser.parse_args()
    print(machine())
    print(heading(OURS))
    with tempfile.TemporaryDirectory() as folder:
        for near in options.near:
            for rows in options.rows:
                found = contenders(Path(folder), flock(rows, near), options.backends)
                show(Case(f"{near:g} others near each of", rows, found), options.rounds, OURS)


if __name__ == "__main__":
    main()
