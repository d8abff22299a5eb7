"""Kernels of the world over one component: its rows, whatever policies it has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import Backend
from tests.support.world_package import world_package

SCHEMA = """
world: Game
groups: {pairs: [Left, Right]}
kernels:
  age: {over: Effect, args: {dt: f32}, steps: ["Effect.left -= dt", "Effect.bearer = entity"]}
  glow: {over: Sprite, args: {by: f32}, steps: ["Sprite.light += by"]}
  walk: {over: Crew, steps: ["Crew.steps += 1"]}
  rise: {over: Place, steps: ["Place.height = sqrt(Place.height) + 1"]}
  aim:
    over: Effect
    args: {whom: entity, at: id<Sprite>, others: "entity[2]"}
    where: entity != whom
    steps: ["Effect.bearer = whom", "Effect.sprite = at", "Effect.last = others[1]"]
  mark: {over: pairs, steps: ["Right.owner = entity", "Left.is_first = entity == Left.lead"]}
  shine: {over: Sprite, steps: ["Sprite.light = f32(random())"]}
  chance: {over: pairs, steps: ["Right.luck = random()"]}
---
component: Effect
instances: many
ids: true
fields: {left: f32, bearer: entity, last: entity, sprite: id<Sprite>}
kernels:
  own: {args: {e: entity}, where: entity == e, steps: ["bearer = entity", "left += 1"]}
---
component: Sprite
owner: none
fields: {light: f32}
---
component: Crew
partition: {start: active}
fields: {steps: i32}
---
component: Place
lookup: direct
fields: {height: f32}
---
component: Left
fields: {lead: entity, is_first: bool}
---
component: Right
fields: {owner: entity, luck: f64}
"""


@pytest.fixture(scope="module", params=["numpy", "numba"])
def game(request: pytest.FixtureRequest) -> Any:
    if request.param == "numba":
        pytest.importorskip("numba")
    backend: Backend = request.param
    return world_package(SCHEMA, f"over_components_{backend}", backend)


@pytest.mark.parametrize("count", [0, 1, 5, 3000])
def test_every_instance_of_many(game: Any, count: int) -> None:
    """Those of dead entities, too, until they are collected."""
    world = game.Game()
    es = world.spawn(count)
    world.effect.create_many(np.concatenate((es, es[::2], es)), left=3)
    world.destroy_many(es[1:3])
    version = world.effect.version
    world.age(0.5)
    assert (world.effect.data.left == 2.5).all()
    assert (world.effect.data.bearer == world.effect.data.entity).all()
    world.collect()
    world.age(0.5)
    assert len(world.effect) == (0 if not count else 3) or (world.effect.data.left == 2).all()
    assert count < 2 or world.effect.version > version


def test_rows_of_nobody(game: Any) -> None:
    world = game.Game()
    world.sprite.create_many(4, light=[1, 2, 3, 4])
    world.glow(0.5)
    assert world.sprite.data.light.tolist() == [1.5, 2.5, 3.5, 4.5]
    world.shine()
    assert len({*world.sprite.data.light.tolist()}) == 4


def test_active_rows(game: Any) -> None:
    world = game.Game()
    es = world.spawn(6, crew={})
    world.crew.deactivate_many(world.crew.lookup_many(es[1::2]))
    world.walk()
    world.crew.activate(world.crew.lookup(es[1]))
    world.walk()
    steps = [world.crew.steps(world.crew.lookup(e)) for e in es]
    assert steps == [2, 1, 2, 0, 2, 0]


def test_holes_are_quiet(game: Any) -> None:
    """What lies in rows that are not in use has no part in it."""
    world = game.Game()
    es = world.spawn(6, place={"height": [-1, 4, 9, 16, 25, 36]})
    world.place.remove(es[0])
    world.rise()
    assert world.place.data.height[1:].tolist() == [3, 4, 5, 6, 7]


def test_handles_as_arguments(game: Any) -> None:
    world = game.Game()
    es = world.spawn(3, effect={})
    sprite = world.sprite.create()
    world.aim(es[1], np.uint64(sprite), [0, 2**64 - 1])
    assert world.effect.data.bearer.tolist() == [es[1], 0, es[1]]
    assert world.effect.data.sprite.tolist() == [sprite, 0, sprite]
    assert world.effect.data.last.tolist() == [2**64 - 1, 0, 2**64 - 1]
    world.effect.own(int(es[2]))
    assert world.effect.data.left.tolist() == [0, 0, 1]
    for wrong, error in ((2**64, OverflowError), (-1, OverflowError), (1.0, TypeError)):
        with pytest.raises(error, match="aim"):
            world.aim(wrong, sprite, [0, 0])
        with pytest.raises(error, match="aim"):
            world.aim(0, wrong, [0, 0])


def test_the_owner_in_a_group(game: Any) -> None:
    world = game.Game()
    es = world.spawn(5, left={}, right={})
    world.left.data.lead = es[2]
    world.mark()
    world.chance()
    assert world.right.data.owner.tolist() == world.pairs.right.entity.tolist()
    assert world.left.data.is_first.sum() == 1
    assert len({*world.right.data.luck.tolist()}) == 5
