"""Orders of turns other than row order and chance, on both backends, against plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.random_words import MASK, call_key, mix, row_stem, unit_number, word

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

SCHEMA = """\
component: Body
partition: {start: active}
fields: {at: "f32[2]", rank: i32, order: i64, drawn: f64, clock: entity, small: i8}
kernels:
  by_rank: {turns: {by: -rank}, steps: ["clock.Body.order += 1",
    "order = clock.Body.order", "drawn += random()"]}
  some: {turns: {random: many}, args: {many: i32}, steps: ["clock.Body.small += 1",
    "order = order * 100 + clock.Body.small", "drawn += random()"]}
  given:
    turns: given
    where: rank != 3
    args: {by: {type: f64, each: true}, at_: {type: "f32[2]", each: true}}
    steps:
      - clock.Body.order += 1
      - drawn += random() + by
      - at.x += at_.y
      - order = clock.Body.order
  none_drawn: {turns: {random: 4}, where: rank > 2, steps: ["clock.Body.order += 1"]}
---
component: Tag
instances: many
fields: {hits: i64}
kernels:
  hit: {turns: {random: 100}, steps: ["hits += 1"]}
---
component: Free
owner: none
fields: {x: f64, turn: i64}
---
component: Tile
lookup: direct
fields: {sum: f64, turn: i64}
kernels:
  own: {turns: given, args: {by: {type: f64, each: true}}, steps: [
    "turn = i64(by)", "sum += random()"]}
  flat: {args: {by: {type: f64, each: true}}, steps: [sum += by]}
---
world: Game
queries: {tagged: {all: [Body, Near]}}
schedule: {step: [tiles, Tile.own, values]}
kernels:
  tiles: {over: Tile, turns: given, args: {by: {type: f64, each: true}}, steps: [
    "Tile.turn = i64(by)", "Tile.sum += random()"]}
  values: {over: Tile, args: {by: {type: f64, each: true}}, steps: [Tile.sum += by]}
  by_place: {over: tagged, turns: {by: Body.at.x / Body.at.y}, where: Body.rank != 3, steps: [
    "Body.clock.Body.order += 1", "Body.order = Body.clock.Body.order"]}
  deaths:
    over: tagged
    turns: {random: 30}
    steps:
      - whom = choice(Body)
      - destroy(whom, where=random() < 0.2)
      - Body.clock.Body.order += 1
      - Body.drawn += random()
  given_deaths:
    over: Free
    turns: given
    steps: ["Free.turn += 1", "Free.x = Free.x * 2 + random()", "die(where=Free.turn > 2)"]
  unowned: {over: Free, turns: {random: 50}, steps: ["Free.turn += 1", "Free.x += random()",
    "die(where=Free.turn > 2)"]}
---
component: Near
fields: {k: i32}
"""
ROWS = 13


def filled(backend: Backend) -> Any:
    w = world_package(SCHEMA, f"turn_orders_{backend}", backend).World()
    ranks = np.arange(ROWS) * 5 % 7
    at = np.stack([np.arange(ROWS) % 5 - 2, np.arange(ROWS) % 3], axis=1)
    born = w.spawn(ROWS, body={"rank": ranks, "at": at}, near={})
    w.body.data.clock = w.spawn(1, body={})[0]
    w.tag.create_many(np.repeat(born, 2))
    w.free.create_many(9)
    w.body.deactivate_many([ROWS])
    w.seed = 5
    return w


def drawn_rows(name: str, rows: Iterable[int], turns: int) -> list[int]:
    """The row of each turn, as `choice` draws it."""
    key, rows = call_key(5, name, 0), list(rows)
    words = [word(row_stem(turn, key), 0) for turn in range(1, turns + 1)]
    return [rows[(drawn >> 32) * len(rows) >> 32] for drawn in words]


def number_of_turn(name: str, who: int, turn: int, number: int) -> float:
    who = mix(who ^ mix((turn + 0x9E3779B97F4A7C15) & MASK))
    return unit_number(word(row_stem(who, call_key(5, name, 0)), number))


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_least_key_is_first(backend: Backend) -> None:
    w = filled(backend)
    data, active = w.body.data, range(ROWS)
    ordered = sorted(active, key=lambda row: -data.rank[row])
    w.body.by_rank()
    assert [int(data.order[row]) for row in ordered] == [*range(1, ROWS + 1)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_equal_keys_are_in_row_order_among_given_rows(backend: Backend) -> None:
    w = filled(backend)
    data, turn_rows = w.body.data, [9, 2, 7, 0, 12, 5]
    w.body.by_rank(rows=turn_rows)
    ordered = sorted(sorted(turn_rows), key=lambda row: -data.rank[row])
    assert [int(data.order[row]) for row in ordered] == [*range(1, len(turn_rows) + 1)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_nan_is_last(backend: Backend) -> None:
    w = filled(backend)
    data = w.body.data
    with np.errstate(all="ignore"):
        keys = np.array(data.at[:ROWS, 0] / data.at[:ROWS, 1])
    runs = [row for row in range(ROWS) if data.rank[row] != 3]
    assert np.isnan(keys).any()
    w.by_place()
    ordered = sorted(runs, key=lambda row: (math.isnan(keys[row]), keys[row]))
    assert [int(data.order[row]) for row in ordered] == [*range(1, len(runs) + 1)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rows", [None, [7, 3, 11]])
def test_each_turn_draws_a_row_and_numbers_of_its_own(backend: Backend, rows: Any) -> None:
    w = filled(backend)
    data = w.body.data
    w.body.some(20, rows=rows)
    orders, drawn = np.zeros(ROWS, np.int64), np.zeros(ROWS)
    candidates = range(ROWS) if rows is None else rows
    for turn, row in enumerate(drawn_rows("Body.some", candidates, 20), 1):
        orders[row] = orders[row] * 100 + turn
        drawn[row] += number_of_turn("Body.some", int(data.entity[row]), turn, 0)
    assert data.order[:ROWS].tolist() == orders.tolist()
    assert data.drawn[:ROWS].tolist() == drawn.tolist()


@pytest.mark.parametrize("backend", BACKENDS)
def test_dead_rows_are_not_drawn(backend: Backend) -> None:
    w = filled(backend)
    w.entities.destroy_many(w.body.data.entity[[1, 4]])
    w.body.some(100)
    assert w.body.data.order[[1, 4]].tolist() == [0, 0]
    assert (w.body.data.drawn[[0, 2, 3]] > 0).all()
    w.tag.hit()
    assert w.tag.data.hits.sum() == 100
    assert w.tag.data.hits[[2, 3, 8, 9]].sum() == 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("turns", [0, -3])
def test_there_may_be_no_turns(backend: Backend, turns: int) -> None:
    w = filled(backend)
    w.body.some(turns)
    assert not w.body.data.order.any()
    w.body.some(5, rows=[])
    assert not w.body.data.order.any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_who_has_died_has_no_turn(backend: Backend) -> None:
    w = filled(backend)
    ids = [int(i) for i in w.free.id_of_many(range(9))]
    w.unowned()
    turns, drawn = [0] * 9, [0.0] * 9
    for turn, row in enumerate(drawn_rows("unowned", range(9), 50), 1):
        if turns[row] <= 2:
            turns[row] += 1
            drawn[row] += number_of_turn("unowned", ids[row], turn, 0)
    assert max(turns) == 3
    left = {ids[row]: drawn[row] for row in range(9) if turns[row] <= 2}
    assert dict(zip(w.free.id_of_many(range(len(w.free))), w.free.data.x, strict=True)) == left


@pytest.mark.parametrize("backend", BACKENDS)
def test_given_rows_have_turns_as_often_as_they_are_given(backend: Backend) -> None:
    w = filled(backend)
    data, turn_rows = w.body.data, [4, 9, ROWS, 4, 2, 9, 4]
    by, at = np.arange(7) * 0.5, np.arange(14).reshape(7, 2)
    drawn, x, order = np.zeros(ROWS), data.at[:ROWS, 0].copy(), np.zeros(ROWS, np.int64)
    for turn, row in enumerate(turn_rows, 1):
        if row == ROWS or data.rank[row] == 3:  # inactive, or it does not pass
            continue
        number = number_of_turn("Body.given", int(data.entity[row]), turn, 0)
        drawn[row] += number + by[turn - 1]
        x[row] += at[turn - 1, 1]
        order[row] = order.max() + 1
    w.body.given(by, at, rows=turn_rows)
    assert data.drawn[:ROWS].tolist() == drawn.tolist()
    assert data.at[:ROWS, 0].tolist() == x.tolist()
    assert data.order[:ROWS].tolist() == order.tolist()


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_rows_given_is_row_order(backend: Backend) -> None:
    w = filled(backend)
    runs = [row for row in range(ROWS) if w.body.data.rank[row] != 3]
    w.body.given(0.0, (0.0, 0.0))
    assert [int(w.body.data.order[row]) for row in runs] == [*range(1, len(runs) + 1)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_given_rows_that_have_died_have_no_turn(backend: Backend) -> None:
    w = filled(backend)
    ids, turn_rows = [int(i) for i in w.free.id_of_many(range(9))], [1, 5, 1, 1, 2, 1, 5, 1]
    turns, x = [0] * 9, [0.0] * 9
    for turn, row in enumerate(turn_rows, 1):
        if turns[row] <= 2:
            turns[row] += 1
            x[row] = x[row] * 2 + number_of_turn("given_deaths", ids[row], turn, 0)
    w.given_deaths(rows=turn_rows)
    left = {ids[row]: x[row] for row in range(9) if turns[row] <= 2}
    assert len(left) == 8
    assert dict(zip(w.free.id_of_many(range(8)), w.free.data.x, strict=True)) == left


@pytest.mark.parametrize("backend", BACKENDS)
def test_holes_have_no_turns_and_no_values(backend: Backend) -> None:
    w = filled(backend)
    entities = w.entities.create_many(9)[[1, 3, 8]]
    w.tile.create_many(entities)
    rows = w.tile.lookup_many(entities)
    w.tile.own([1, 2, 3])
    drawn = [number_of_turn("Tile.own", int(e), turn, 0) for turn, e in enumerate(entities, 1)]
    assert w.tile.data.turn[rows].tolist() == [1, 2, 3]
    assert w.tile.data.sum[rows].tolist() == drawn
    w.tiles([4, 5, 6])
    drawn_next = [number_of_turn("tiles", int(e), turn, 0) for turn, e in enumerate(entities, 1)]
    sums = [a + b for a, b in zip(drawn, drawn_next, strict=True)]
    assert w.tile.data.turn[rows].tolist() == [4, 5, 6]
    w.values([0.5, 1.5, 2.5])
    sums = [number + by for number, by in zip(sums, (0.5, 1.5, 2.5), strict=True)]
    assert w.tile.data.sum[rows].tolist() == sums
    w.step(by=[7, 8, 9])
    assert w.tile.data.turn[rows].tolist() == [7, 8, 9]
    w.tile.flat(np.ones(w.tile.data.n))
    for kernel in (w.tiles, w.values, w.tile.own):
        with pytest.raises(ValueError, match="by"):
            kernel(np.ones(w.tile.data.n))


def test_both_backends_give_the_same_bits() -> None:
    worlds = [filled(backend) for backend in BACKENDS]
    for w in worlds:
        w.deaths()
        w.body.none_drawn()
        w.body.some(9)
        w.unowned()
    first, other = worlds
    assert len(first.body) == len(other.body) < ROWS + 1
    for name in ("order", "drawn", "entity"):
        assert getattr(first.body.data, name).tobytes() == getattr(other.body.data, name).tobytes()
    assert first.free.data.x.tobytes() == other.free.data.x.tobytes()
