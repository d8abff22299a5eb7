"""Archetype chunks of several sizes beside whole arrays: a system, and structural changes.

    python benchmarks/archetypes.py [--rows N] [--rounds N]

The system is `v += a * dt; p += v * dt` over f32[3] columns. Changes run at the default chunk size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from _arguments import parsed
from _package import SCHEMAS, built
from _timing import Case, Prepare, Run, loop, table

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
    runs: dict[str, Run] = {"whole arrays": whole(rows)}
    for name, size in SIZES.items():
        runs[f"chunks of {name}"] = chunked(package, filled(package, size, rows))
    return Case.of("v += a * dt; p += v * dt", rows, runs)


def changes(package: Any, rows: int) -> Iterator[Case]:
    """Yield the cases of structural changes, at the default size."""
    tenth = np.random.default_rng(0).permutation(rows)[: rows // 10]

    def create() -> Run:
        world = package.World()
        return lambda: world.archetypes.create([package.Motion, package.Fuel], rows)

    def changed(change: Callable[[Any, Any], object]) -> Prepare:
        def prepare() -> Run:
            world = filled(package, SIZES["256 KiB"], rows)
            entities = world.entities.live()[tenth]
            return lambda: change(world, entities)

        return prepare

    yield Case("create", rows, {"chunks": create})
    bulk: dict[str, Callable[[Any, Any], object]] = {
        "add_many": lambda world, es: world.archetypes.add_many(es, package.Marked),
        "remove_many": lambda world, es: world.archetypes.remove_many(es, package.Fuel),
        "destroy_many": lambda world, es: world.destroy_many(es),
    }
    for name, change in bulk.items():
        yield Case(f"{name}, a random 10 %", len(tenth), {"chunks": changed(change)})


def one_row(package: Any, calls: int) -> Iterator[Case]:
    """Yield the cases of calls for one entity."""
    world = filled(package, SIZES["256 KiB"], 1000)
    store = world.archetypes
    entity = int(world.entities.live()[500])

    names = {"add": store.add, "remove": store.remove, "get": store.get, "entity": entity}
    kinds = {"Marked": package.Marked, "Fuel": package.Fuel}
    statements = {
        "add and remove": "add(entity, Marked); remove(entity, Marked)",
        "get": "get(entity, Fuel)",
    }
    for name, statement in statements.items():
        run = loop(statement, range(calls), **names, **kinds)
        yield Case.of(f"{name}, one row", calls, {"chunks": run})


def main() -> None:
    options = parsed(__doc__, rows=1_000_000, rounds=15)
    with TemporaryDirectory() as folder:
        package = built(Path(folder), "numpy", SCHEMAS / "archetypes.yaml")
        table(
            [system(package, options.rows)], options.rounds, [f"chunks of {size}" for size in SIZES]
        )
        print()
        cases = *changes(package, options.rows), *one_row(package, 2000)
        table(cases, options.rounds, ())


if __name__ == "__main__":
    main()
