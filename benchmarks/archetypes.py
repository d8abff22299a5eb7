"""Archetype chunks of several sizes beside whole arrays: a system, and structural changes.

    python benchmarks/archetypes.py [--rows N] [--rounds N]

The system is `v += a * dt; p += v * dt` over f32[3] columns. Changes run at the default chunk size.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from _package import SCHEMAS, built
from _timing import Case, Prepare, always, heading, show

SIZES = {"16 KiB": 1 << 14, "256 KiB": 1 << 18, "1 MiB": 1 << 20}
DT = np.float32(0.01)


def filled(package: Any, size: int, rows: int) -> Any:
    """Return a world with rows of two components in chunks of a size."""
    with patch.object(package.archetypes, "CHUNK_BYTES", size):
        world = package.World()
    world.archetypes.create([package.Motion, package.Fuel], rows, motion={"acceleration": 1})
    return world


def whole(rows: int) -> Callable[[], None]:
    """Return the system over plain arrays."""
    position, velocity = np.zeros((2, rows, 3), np.float32)
    acceleration = np.ones((rows, 3), np.float32)

    def step() -> None:
        nonlocal position, velocity
        velocity += acceleration * DT
        position += velocity * DT

    return step


def chunked(package: Any, world: Any) -> Callable[[], None]:
    """Return the system over chunks, as users write it."""

    def step() -> None:
        for chunk in world.archetypes.chunks(all=[package.Motion]):
            motion = chunk.motion
            motion.velocity += motion.acceleration * DT
            motion.position += motion.velocity * DT

    return step


def system(package: Any, rows: int) -> Case:
    """Return the case of the system."""
    runs = {
        f"chunks of {name}": always(chunked(package, filled(package, size, rows)))
        for name, size in SIZES.items()
    }
    ours = runs.pop("chunks of 256 KiB")
    return Case(
        "v += a * dt; p += v * dt",
        rows,
        {"chunks of 256 KiB": ours, "whole arrays": always(whole(rows)), **runs},
    )


def changes(package: Any, rows: int) -> list[Case]:
    """Return the cases of structural changes, at the default size."""
    size = SIZES["256 KiB"]
    some = rows // 10
    order = np.random.default_rng(0).permutation(rows)[:some]

    def create() -> Callable[[], object]:
        world = package.World()
        return lambda: world.archetypes.create([package.Motion, package.Fuel], rows)

    def add() -> Callable[[], object]:
        world = filled(package, size, rows)
        es = world.entities.live()[order]
        return lambda: world.archetypes.add_many(es, package.Marked)

    def remove() -> Callable[[], object]:
        world = filled(package, size, rows)
        es = world.entities.live()[order]
        return lambda: world.archetypes.remove_many(es, package.Fuel)

    def destroy() -> Callable[[], object]:
        world = filled(package, size, rows)
        es = world.entities.live()[order]
        return lambda: world.destroy_many(es)

    bulk: dict[str, tuple[int, Prepare]] = {
        "create": (rows, create),
        "add_many, a random 10 %": (some, add),
        "remove_many, a random 10 %": (some, remove),
        "destroy_many, a random 10 %": (some, destroy),
    }
    return [Case(name, count, {"chunks": run}) for name, (count, run) in bulk.items()]


def one_row(package: Any, calls: int) -> list[Case]:
    """Return the cases of calls for one entity."""
    world = filled(package, SIZES["256 KiB"], 1000)
    store = world.archetypes
    entity = int(world.entities.live()[500])

    def toggle() -> None:
        for _ in range(calls):
            store.add(entity, package.Marked)
            store.remove(entity, package.Marked)

    def get() -> None:
        for _ in range(calls):
            store.get(entity, package.Fuel)

    def write() -> None:
        for _ in range(calls):
            store.set(entity, package.Fuel, amount=2.0)

    runs = {"add and remove": toggle, "get": get, "set": write}
    return [Case(f"{name}, one row", calls, {"chunks": always(run)}) for name, run in runs.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        package = built(Path(folder), "numpy", SCHEMAS / "archetypes.yaml")
        ours = ("chunks",)
        print(heading(ours))
        show(system(package, given.rows), given.rounds, ours)
        for case in [*changes(package, given.rows), *one_row(package, 2000)]:
            show(case, given.rounds, ours)


if __name__ == "__main__":
    main()
