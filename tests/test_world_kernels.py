"""Kernels of the world, against loops over entities and the one-row accessors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.world_package import world_package

SCHEMA = """
world: Game
groups:
  bodies: [Position, Velocity]
queries:
  movers: {all: [Place, Speed], none: [Frozen], optional: [Drag]}
  lone: {all: [Place]}
kernels:
  drift:
    over: bodies
    args: {dt: {type: f32, unit: s}}
    steps: ["Position.value += Velocity.value * dt"]
  move:
    over: movers
    args: {dt: f32, limit: f64}
    where: "Place.far < limit"
    steps:
      - place_at = Place.at + Speed.way * dt
      - Place.at = place_at
      - Speed.way.x *= 0.5
      - Place.far = f64(place_at.y) + Speed.turn[0, 1]
      - Speed.hits += 1
  halve: {over: lone, steps: ["Place.at *= 0.5"]}
---
component: Position
fields: {value: {type: "f32[3]", unit: m}}
---
component: Velocity
lookup: hash
fields: {value: "f32[3]"}
---
component: Place
lookup: direct
fields: {at: "f32[3]", far: f64}
---
component: Speed
instances: many
fields: {way: {type: "f32[3]", split: true}, turn: {type: "f32[2,2]", default: 2}, hits: i32}
---
component: Drag
---
component: Frozen
"""


def filled(count: int, seed: int) -> Any:
    """A world whose query has holes, and whose managers are in different orders."""
    world, random = world_package(SCHEMA, "kernel_game").Game(), np.random.default_rng(seed)
    es = world.spawn(count, place={"at": random.random((count, 3)), "far": random.random(count)})
    world.speed.create_many(es, way=random.random((count, 3)), turn=random.random((count, 2, 2)))
    world.position.create_many(es, value=random.random((count, 3)))
    if seed:
        world.speed.create_many(es[::3])
        world.speed.reorder(random.permutation(len(world.speed)))
        world.frozen.create_many(es[::4])
        world.velocity.create_many(random.permutation(es)[: count // 2], value=random.random(3))
        world.destroy_many(es[5:9])
    else:
        world.velocity.create_many(es, value=random.random((count, 3)))
    return world


def state(world: Any) -> list[Any]:
    speed = world.speed.data
    return [
        *(world.place.data.at.tolist(), world.place.data.far.tolist()),
        *(speed.way_x.tolist(), speed.way_y.tolist(), speed.way_z.tolist()),
        *(speed.turn.tolist(), speed.hits.tolist(), world.position.data.value.tolist()),
    ]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("count", [0, 1, 3, 40, 5000])
def test_over_a_query(count: int, seed: int) -> None:
    world, twin = filled(count, seed), filled(count, seed)
    dt, limit = np.float32(0.1), 0.6
    for _, place, speed in ((r.entity, r.place, r.speed) for r in twin.movers):
        if twin.place.far(place) < limit:
            way: NDArray[np.float32] = np.array(twin.speed.way(speed), np.float32)
            at = np.array(twin.place.at(place), np.float32) + way * dt
            way[0] *= np.float32(0.5)
            twin.place.set_at(place, at)
            twin.speed.set_way(speed, way)
            turned = float(np.float64(at[1]) + np.float64(twin.speed.turn(speed)[0][1]))
            twin.place.set_far(place, turned)
            twin.speed.set_hits(speed, twin.speed.hits(speed) + 1)
    world.move(0.1, limit)
    assert state(world) == state(twin)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("count", [0, 1, 40, 5000])
def test_over_a_group(count: int, seed: int) -> None:
    world, twin = filled(count, seed), filled(count, seed)
    twin.bodies.position.value += twin.bodies.velocity.value * np.float32(0.25)
    world.drift(0.25)
    assert state(world) == state(twin)
    version = world.position.version
    with world.position.locked():
        world.drift(0.25)
    assert world.position.version == version


def test_of_one_component() -> None:
    world, twin = filled(40, 1), filled(40, 1)
    alive = twin.lone.rows().place
    twin.place.data.at[alive] *= np.float32(0.5)
    world.halve()
    assert state(world) == state(twin)


def test_arguments_are_checked() -> None:
    world = filled(3, 0)
    before = state(world)
    with pytest.raises(TypeError, match=r"Game\.move\.dt"):
        world.move("fast", 1.0)
    with pytest.raises(TypeError):
        world.move(True, 1.0)
    with pytest.raises(OverflowError):
        world.drift(1e39)
    assert state(world) == before


def test_no_view_is_kept(recwarn: pytest.WarningsRecorder) -> None:
    world = filled(64, 0)
    world.drift(0.1)
    world.move(0.1, 1.0)
    world.spawn(100, position={}, velocity={}, place={}, speed={})
    assert not list(recwarn)
