"""Spawns, despawns and choices at once on numpy: blocks of rows, with the bits of loops."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.tables.bulk import Tuning

from tests.support.fault_injection import Events, is_broken, traced
from tests.support.world_package import load, sources, world_package

SCHEMA = """\
component: Sheep
fields: {energy: f32, pal: entity, at: "f32[2]", k: i64}
---
component: Spare
fields: {energy: f32}
---
component: Note
owner: none
fields: {x: i64}
---
component: Old
destroy: manual
fields: {age: i64}
---
world: Farm
queries: {both: {all: [Sheep, Spare]}}
kernels:
  plain: {over: Sheep, steps: [Sheep.energy -= 1.0]}
  dying: {over: Sheep, steps: [Sheep.energy -= 1.0, die(where=Sheep.energy < 0)]}
  breed:
    over: Sheep
    steps:
      - Sheep.energy -= 1.0
      - "spawn(Sheep(energy=2.5, at=Sheep.at), where=Sheep.energy < 0)"
  both_ways:
    over: Sheep
    where: random() < 0.7
    steps:
      - Sheep.k += 1
      - "spawn(Note(x=Sheep.k), where=random() < 0.3)"
      - "destroy(Sheep.pal, where=random() < 0.2)"
      - "Sheep.pal.Sheep.k += 2"
      - die(where=random() < 0.1)
      - "Sheep.pal.Sheep.k += 2"
      - "spawn(Sheep(pal=choice(Sheep)), Spare(), where=random() < 0.1)"
  asks: {over: Sheep, where: Sheep.energy > 1000, steps: [Sheep.pal = choice(Sheep)]}
  ask: {over: Sheep, steps: [Sheep.pal = choice(Sheep)]}
  notes: {over: Note, steps: [Note.x += 1, die(where=Note.x > 3), Note.x += 1]}
  aging: {over: Old, steps: [Old.age += 1, die(where=Old.age > 2), Old.age += 1]}
  pairs:
    over: both
    steps:
      - "die(where=random() < 0.2)"
      - "spawn(Note(x=1), where=random() < 0.2)"
      - Spare.energy += 1
  swap:
    over: Sheep
    steps: ["die(where=Sheep.energy < 1)", "spawn(Sheep(energy=9), where=Sheep.energy > 1)"]
  leave:
    over: Note
    args: {early: bool, at: "f32[2]"}
    steps:
      - "spawn(Sheep(at=at), where=early and Note.x > 0)"
      - "spawn(Sheep(at=at), where=early)"
      - die(where=early)
      - Note.x += 1
      - die()
"""
KERNELS = ("dying", "breed", "both_ways", "asks", "ask", "notes", "aging", "pairs")


def test_they_are_no_loops() -> None:
    texts = sources(load(SCHEMA))
    (text,) = (text for path, text in texts.items() if path.endswith("world.py"))
    assert not [name for name in KERNELS if f"def _{name}_kernel" in text]


def played(backend: Any, count: int) -> list[Any]:
    """All columns after each of many calls."""
    world = world_package(SCHEMA, f"at_once_{backend}", backend).World()
    entities = world.entities.create_many(count)
    at = np.arange(2 * count).reshape(-1, 2)
    world.sheep.create_many(entities, energy=at[:, 0] // 2 % 7 - 1.0, at=at)
    world.spare.create_many(entities[::3])
    world.note.create_many(count)
    world.old.create_many(entities[::2], age=np.arange(len(entities[::2])) % 3)
    world.entities.destroy_many(entities[5:9])
    world.seed = 5
    world.sheep.data.pal[:] = np.random.default_rng(1).permutation(entities)[: len(world.sheep)]
    states = []
    for _ in range(3):
        for kernel in KERNELS:
            getattr(world, kernel)()
            states += [
                (kernel, name, cells.tobytes())
                for manager in (world.sheep, world.spare, world.note, world.old)
                for name, cells in manager.data.saved_columns().items()
            ]
            states.append((kernel, len(world.entities), world.entities.create()))
    return states


@pytest.mark.parametrize("rows", [(16, 16), (1 << 10, 1 << 20)])
def test_they_leave_the_bits_of_loops(rows: tuple[int, int]) -> None:
    with Tuning.override(block_rows=rows):
        assert played("numpy", 200) == played("numba", 200)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_what_is_the_same_for_all_rows_counts_for_each(backend: Any) -> None:
    world = world_package(SCHEMA, f"at_once_{backend}", backend).World()
    world.note.create_many(3)
    world.leave(early=False, at=(1, 2))
    assert (len(world.note), len(world.sheep)) == (0, 0)
    world.note.create_many(3, x=[1, 0, 1])
    world.leave(early=True, at=(1, 2))
    assert (len(world.note), world.sheep.data.at.tolist()) == (0, [[1, 2]] * 5)


@pytest.mark.parametrize("kernel", ["dying", "breed", "notes"])
def test_where_nobody_dies_or_is_born_no_room_is_made(kernel: str) -> None:
    world = world_package(SCHEMA, "at_once_numpy", "numpy").World()
    world.sheep.create_many(world.entities.create_many(50_000), energy=100)
    world.note.create_many(50_000)
    getattr(world, kernel)()  # cuts the columns into blocks
    tracemalloc.start()
    getattr(world, kernel)()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000


@pytest.mark.parametrize("first", range(16))
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_deaths_and_births_that_fail_happen_all_or_break_what_they_change(
    error: Any, first: int
) -> None:
    package = world_package(SCHEMA, "at_once_failing", "numpy", runtime="vendored")

    def filled() -> Any:
        world = package.World()
        world.sheep.create_many(world.entities.create_many(6), energy=[1, 0, 3, 0, 2, 4])
        return world

    events, survived = Events(package="at_once_failing"), 0
    assert traced(events, filled().swap) is None
    for at in events.times()[first::16]:
        world = filled()
        failed = traced(Events(at, error, "at_once_failing"), world.swap)
        if not any(map(is_broken, (world.entities, world.sheep))):
            survived += 1
            assert len(world.entities) == len(world.sheep), at
            assert len(world.sheep) in (
                (6, 4, 7) if failed else (7,)
            ), at  # the two die first, then three are born
    assert survived
