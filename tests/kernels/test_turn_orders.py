"""Turns of rows that a call gives, in which order and how often it likes, and turns of nobody; the
orders themselves are in `interpreted/turn_orders.yaml`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.reference.world_comparison import Match
from tests.support.world_package import world_package

SCHEMA = """\
component: Body
partition: {start: active}
fields: {rank: i32, order: i64, drawn: f64, clock: entity}
kernels:
  by_rank: {turns: {by: -rank}, steps: ["clock.Body.order += 1", "order = clock.Body.order"]}
  some: {turns: {random: many}, args: {many: i32}, steps: ["order += 1", "drawn += random()"]}
  given:
    turns: given
    where: rank != 3
    args: {by: {type: f64, each: true}}
    steps: ["clock.Body.order += 1", "drawn += random() + by", "order = clock.Body.order"]
---
component: Free
owner: none
fields: {x: f64, turn: i64}
---
component: Tile
lookup: direct
fields: {sum: f64, turn: i64}
kernels:
  own: {turns: given, args: {by: {type: f64, each: true}}, steps: ["turn = i64(by)"]}
  flat: {args: {by: {type: f64, each: true}}, steps: [sum += by]}
---
world: World
schedule: {step: [tiles, Tile.own, values]}
kernels:
  tiles: {over: Tile, turns: given, args: {by: {type: f64, each: true}}, steps: [
    "Tile.turn = i64(by)"]}
  values: {over: Tile, args: {by: {type: f64, each: true}}, steps: [Tile.sum += by]}
  given_deaths:
    over: Free
    turns: given
    steps: ["Free.turn += 1", "Free.x = Free.x * 2 + random()", "die(where=Free.turn > 2)"]
"""
ROWS = 13


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest) -> Any:
    """Bodies, of which the last one is inactive, and rows of nobody."""
    backend: Backend = request.param
    world = world_package(SCHEMA, f"turn_orders_{backend}", backend).World()
    born = world.spawn(ROWS + 1, body={"rank": np.arange(ROWS + 1) * 5 % 7})
    world.body.data.clock = born[ROWS]
    world.free.create_many(9)
    world.body.deactivate_many([ROWS])
    return world


def test_given_rows_have_turns_as_often_as_they_are_given(world: Any) -> None:
    match = Match(world, SCHEMA, 5)
    match.play("Body.given", rows=[4, 9, ROWS, 4, 2, 9, 4])
    match.play("given_deaths", rows=[1, 5, 1, 1, 2, 1, 5, 1])
    assert len(world.free) == 8


def test_of_given_rows_the_least_key_is_first(world: Any) -> None:
    Match(world, SCHEMA, 5).play("Body.by_rank", rows=[9, 2, 7, 0, 12, 5])
    assert world.body.data.order[[0, 2, 5, 7, 9, 12]].tolist() == [5, 3, 1, 6, 4, 2]


@pytest.mark.parametrize("rows", [None, [7, 3, 11]])
def test_each_turn_draws_a_row_and_numbers_of_its_own(world: Any, rows: Any) -> None:
    Match(world, SCHEMA, 5).play("Body.some", rows=rows, many=20)
    assert world.body.data.order.sum() == 20


@pytest.mark.parametrize(("turns", "rows"), [(0, None), (-3, None), (5, [])])
def test_there_may_be_no_turns(world: Any, turns: int, rows: Any) -> None:
    world.body.some(turns, rows=rows)
    assert not world.body.data.order.any()


def test_holes_have_no_turns_and_no_values(world: Any) -> None:
    entities = world.entities.create_many(9)[[1, 3, 8]]
    world.tile.create_many(entities)
    rows = world.tile.lookup_many(entities)
    for kernel in (world.tile.own, world.tiles, lambda values: world.step(by=values)):
        kernel([1, 2, 3])
        assert world.tile.data.turn[rows].tolist() == [1, 2, 3]
        world.tile.data.turn[:] = 0
    world.values([0.5, 1.5, 2.5])
    assert world.tile.data.sum[rows].tolist() == [1.5, 3.5, 5.5]
    world.tile.flat(np.ones(world.tile.data.n))
    for kernel in (world.tiles, world.values, world.tile.own):
        with pytest.raises(ValueError, match="by"):
            kernel(np.ones(world.tile.data.n))
