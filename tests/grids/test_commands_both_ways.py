"""Spawns and despawns by compiled loops, and step by step: the same entities, rows and versions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.world_package import world_package

SCHEMA = """\
component: Cell
grid: {shape: [6, 6], wrap: true}
fields: {}
---
component: Hare
on: cell
fields:
  cell: id<Cell>
  age: i64
  place: {type: "f32[3]", default: [1, 2, 3]}
  calm: {type: bool, default: true}
---
component: Mark
fields: {of: {type: u8, default: 7}}
---
component: Den
lookup: direct
fields: {age: i64}
---
world: Field
entity: {index_bits: 10, generation_bits: 4, min_free: 3}
kernels:
  live:
    over: Hare
    turns: random
    args: {young: f64, old: i64}
    steps:
      - Hare.age += 1
      - die(where=Hare.age > old or random() < 0.2)
      - born = random() < young
      - spawn(Hare(cell=Hare.cell, place=Hare.place * f32(Hare.age)), Mark(), where=born)
  end: {over: Hare, steps: [die(where=Hare.age > 3)]}
  spread: {over: Mark, steps: [spawn(Mark(of=Mark.of + 1)), die(where=Mark.of > 9)]}
  cave: {over: Den, steps: [Den.age += 1, die(where=Den.age > 1)]}
  fall: {over: Den, turns: random, steps: [Den.age += 1, die(where=Den.age > 1)]}
"""
ARGS = {"young": 0.3, "old": 6}


def found(world: Any) -> list[Any]:
    """Return columns, versions, living entities, and the indices that come next."""
    entities = world.entities
    free = entities.free_indices
    columns = [
        cells.tobytes()
        for manager in (world.hare, world.mark)
        for cells in manager.data.saved_columns().values()
    ]
    known = [manager.lookup_many(entities.live()).tolist() for manager in (world.hare, world.mark)]
    versions = [world.hare.version, world.mark.version]
    queue = free.first(free.count).tolist()
    return [columns, known, versions, entities.live().tolist(), queue, entities.n_retired]


def assert_alike(compiled: Any, plain: Any) -> None:
    assert found(compiled) == found(plain)


def populated(count: int = 20) -> list[Any]:
    """Worlds of compiled loops, and of Python."""
    both = [
        world_package(SCHEMA, f"commands_{backend}", backend).World()
        for backend in ("numba", "numpy")
    ]
    for world in both:
        world.seed = 3
        cells = world.cell.id_of_many(np.arange(count) % 36)
        world.spawn(count, hare={"cell": cells}, mark={})
    return both


def test_many_generations() -> None:
    """Indices are used again, and retired, rows move, maps and buffers grow."""
    both = populated()
    retired = 0
    for _ in range(120):
        for world in both:
            world.live(**ARGS)
            if len(world.hare) < 10:
                cells = world.cell.id_of_many([1, 2, 3])
                world.spawn(3, hare={"cell": cells}, mark={})
        assert_alike(*both)
        retired = both[0].entities.n_retired
    assert retired > 5


def test_several_kernels_take_part() -> None:
    both = populated()
    for number in range(12):
        for world in both:
            (world.live, world.end, world.spread)[number % 3](**(ARGS if number % 3 == 0 else {}))
        assert_alike(*both)


def test_rows_of_the_dead_are_in_the_way() -> None:
    """New entities reuse indices of dead ones, some of which nobody has collected."""
    both = populated()
    for world in both:
        world.entities.destroy_many(world.hare.data.entity[:12].copy())
        for _ in range(6):
            world.live(young=0.9, old=100)
    assert_alike(*both)


@pytest.mark.parametrize("held", ["hare", "mark"])
def test_locks(held: str) -> None:
    both = populated()
    for world in both:
        before = found(world)
        with getattr(world, held).locked(), pytest.raises(Exception, match="locked"):
            world.live(**ARGS)
        assert found(world)[:4] == before[:4]
        world.live(**ARGS)
    assert_alike(*both)


def test_callbacks_are_told() -> None:
    both, notified = populated(), list[list[int]]()
    for world in both:
        heard: list[int] = []
        world.live(**ARGS)
        notified.append(heard)
        world.entities.on_destroy(lambda gone, heard=heard: heard.extend(gone.tolist()))
        for _ in range(8):
            world.live(**ARGS)
    assert notified[0] == notified[1] != []
    assert_alike(*both)


def test_kernels_in_callbacks() -> None:
    """Notes of a call that has not ended are not those of another one."""
    both = populated()
    for world in both:
        subscription = world.entities.on_destroy(lambda gone, world=world: world.end())
        for _ in range(4):
            world.live(**ARGS)
        subscription.cancel()
        world.live(**ARGS)
    assert_alike(*both)


def test_no_index_is_left() -> None:
    both = populated(900)
    for world in both:
        with pytest.raises(world_package(SCHEMA, "commands_numpy", "numpy").CapacityError):
            world.live(young=0.5, old=100)
        world.live(young=0.0, old=100)
    assert_alike(*both)


def test_a_world_ends_with_its_last_reference() -> None:
    """A kernel's memory for its next call keeps no world alive."""
    from weakref import ref

    world = populated()[0]
    for _ in range(3):
        world.live(**ARGS)
    gone = ref(world)
    del world
    assert gone() is None


@pytest.mark.parametrize("kernel", ["cave", "fall"])
def test_rows_of_nobody_do_not_die(kernel: str) -> None:
    """Where an entity's index is the row there are rows between those of entities."""
    both = populated()
    for world in both:
        homes = world.hare.data.entity[[2, 5, 11]].copy()
        world.den.create_many(homes)
        getattr(world, kernel)()
        assert len(world.entities) == 20
        getattr(world, kernel)()
        assert len(world.entities) == 17
        assert not set(homes.tolist()) & set(world.entities.live().tolist())
    assert_alike(*both)
