"""Neighbourhoods without a radius: all rows of a component, group, query or grid, on both
backends, against plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

SCHEMA = """\
component: Store
space: {field: place, wrap: [10, 0]}
fields: {place: "f64[2]", price: f64, sold: i32, best: entity, far: f64, many: i64, heir: entity}
kernels:
  look:
    near: {rivals: {among: Store}}
    steps:
      - place += 1
      - best = nearest(rivals)
      - far = sum(rivals.distance, where=rivals.offset.x > 0)
      - many = count(rivals.price > price)
      - price = min(rivals.price, none=price)
  look_now:
    turns: rows
    near: {rivals: {among: Store}}
    steps:
      - place += 1
      - best = nearest(rivals)
      - far = sum(rivals.distance, where=rivals.offset.x > 0)
      - price = min(rivals.price, none=price) + 1
---
component: Buyer
instances: many
partition: {start: active}
fields: {money: f64, paid: f64, others: i64}
---
component: Thing
owner: none
ids: true
fields: {value: i64, rank: i64}
---
component: Land
grid: {shape: [4, 5]}
fields: {height: f64, rank: i64}
kernels:
  order: {near: {lands: {among: Land}}, steps: ["rank = count(lands.height < height)"]}
---
component: Cow
on: cell
fields: {cell: id<Land>, free: i64}
---
world: Market
groups: {both: [Cow, Wolf]}
queries: {rich: {all: [Store, Gold]}}
kernels:
  buy:
    over: Buyer
    near: {stores: {among: Store}}
    steps: |
      for stores in stores:
          if stores.Store.price < Buyer.money:
              Buyer.paid += stores.Store.price
              stores.Store.sold += 1
  meet: {over: Buyer, near: {all_: {among: Buyer}}, steps: ["Buyer.others = count(all_)"]}
  rank:
    over: Thing
    near: {all_: {among: Thing}}
    steps: ["Thing.rank = count(all_.Thing.value < Thing.value)"]
  graze:
    over: Cow
    near: {lands: {among: Land}}
    steps: ["Cow.free = count(not exists(lands.Cow))"]
  pick:
    over: Buyer
    near: {golden: {among: rich}}
    steps: ["Buyer.paid = max(golden.Gold.grams + golden.Store.price, none=-1)"]
  among_rich:
    over: rich
    near: {golden: {among: rich}}
    steps: ["Gold.grams = max(golden.Gold.grams, none=-1)"]
  fight:
    over: Store
    turns: rows
    near: {rivals: {among: Store}}
    steps: |
      foe = max_by(rivals, rivals.Store.price)
      Store.many = count(rivals)
      if Store.price > 0.5:
          destroy(foe)
---
component: Gold
fields: {grams: f64}
---
component: Wolf
fields: {age: i64}
"""


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest) -> Any:
    backend: Backend = request.param
    world = world_package(SCHEMA, f"everybody_{backend}", backend).Market()
    rng = np.random.default_rng(7)
    entities = world.entities.create_many(60)
    places = rng.uniform(-20, 20, (60, 2))
    places[7] = np.nan
    world.store.create_many(entities, place=places, price=rng.normal(size=60))
    world.buyer.create_many(entities[rng.integers(0, 60, 90)], money=rng.normal(size=90))
    world.gold.create_many(entities[10:40:3], grams=rng.normal(size=10))
    world.thing.create_many(30, value=rng.integers(0, 9, 30))
    world.land.data.height = rng.normal(size=20)
    cells = rng.integers(0, 20, 9).astype(np.uint64) + np.uint64(2**32)
    world.cow.create_many(entities[:9], cell=cells)
    world.buyer.deactivate_many([1, 5, 80])
    world.entities.destroy_many(entities[[3, 30]])
    return world


def living(world: Any, manager: Any) -> list[int]:
    alive = world.entities.alive_many(manager.data.entity)
    active = getattr(manager.data, "n_active", len(manager))
    return [row for row in range(active) if alive[row]]


def offset_of(position: Any, row: int, other: int) -> Any:
    offset = position[other] - position[row]
    if abs(offset[0]) > 5:
        offset[0] = offset[0] - 10 * np.rint(offset[0] / 10)
    return offset


@pytest.mark.parametrize("is_now", [False, True])
def test_rows_of_a_component_ask_all_others(world: Any, is_now: bool) -> None:
    data = world.store.data
    rows, entity = living(world, world.store), data.entity.tolist()
    position, price = data.place.copy(), data.price.copy()
    seen_place, seen_price = (position, price) if is_now else (position.copy(), price.copy())
    best, far, many = data.best.copy(), data.far.copy(), data.many.copy()
    for row in range(len(data.price)):
        position[row] += 1
        others = [other for other in rows if other != row]
        offsets = {other: offset_of(seen_place, row, other) for other in others}
        square = {k: o[0] * o[0] + o[1] * o[1] for k, o in offsets.items()}
        known = [other for other in others if square[other] == square[other]]
        best[row] = entity[min(known, key=square.__getitem__)] if known else 0
        far[row] = 0.0
        for other in others:
            if offsets[other][0] > 0:
                far[row] += np.sqrt(square[other])
        many[row] = sum(seen_price[other] > price[row] for other in others)
        price[row] = min(seen_price[other] for other in others) + (1 if is_now else 0)
    (world.store.look_now if is_now else world.store.look)()
    assert data.best.tolist() == best.tolist()
    assert data.far.tobytes() == far.tobytes()
    assert data.price.tobytes() == price.tobytes()
    assert is_now or data.many.tolist() == many.tolist()


def test_loops_send_to_everybody(world: Any) -> None:
    stores, buyers = world.store.data, world.buyer.data
    rows, sold, paid = living(world, world.store), stores.sold.copy(), buyers.paid.copy()
    entity, alive = stores.entity.tolist(), world.entities.alive_many(buyers.entity)
    for row in range(buyers.n_active):
        for other in rows:
            if entity[other] != buyers.entity[row] and stores.price[other] < buyers.money[row]:
                paid[row] += stores.price[other]
                sold[other] += alive[row]
    world.buy()
    assert buyers.paid.tobytes() == paid.tobytes()
    assert stores.sold.tolist() == sold.tolist()


def test_of_many_nobody_of_the_same_entity_is_asked(world: Any) -> None:
    buyers = world.buyer.data
    rows, entity = living(world, world.buyer), buyers.entity.tolist()
    counts = [sum(entity[o] != entity[row] for o in rows) for row in range(buyers.n_active)]
    world.meet()
    assert buyers.others[: buyers.n_active].tolist() == counts


def test_rows_without_owner_and_cells_ask_all_others(world: Any) -> None:
    value, height = world.thing.data.value.tolist(), world.land.data.height.tolist()
    world.rank()
    world.land.order()
    world.graze()
    assert world.thing.data.rank.tolist() == [sum(o < v for o in value) for v in value]
    assert world.land.data.rank.tolist() == [sum(o < h for o in height) for h in height]
    cows = living(world, world.cow)
    free = 20 - len({int(world.cow.data.cell[row]) for row in cows})
    assert world.cow.data.free.tolist() == [free] * len(world.cow)


def test_rows_of_a_query_are_asked(world: Any) -> None:
    gold, stores, buyers = world.gold.data, world.store.data, world.buyer.data
    price = dict(zip(stores.entity.tolist(), stores.price.tolist(), strict=True))
    grams = dict(zip(gold.entity.tolist(), gold.grams.tolist(), strict=True))
    alive = [e for e in grams if world.entities.alive(e)]
    paid = [
        max(grams[e] + price[e] for e in alive if e != buyer)
        for buyer in buyers.entity[: buyers.n_active].tolist()
    ]
    world.pick()
    assert buyers.paid[: buyers.n_active].tolist() == paid
    most = [max(grams[o] for o in alive if o != e) for e in gold.entity.tolist()]
    world.among_rich()
    assert gold.grams.tolist() == most


def test_in_turns_the_dead_are_not_asked(world: Any) -> None:
    data, world.seed = world.store.data, 3
    rows, entity, price = living(world, world.store), data.entity.tolist(), data.price.tolist()
    counts, gone = {}, set[int]()
    for row in rows:
        if row in gone:
            continue
        others = [other for other in rows if other != row and other not in gone]
        counts[entity[row]] = len(others)
        if price[row] > 0.5 and others:
            gone.add(max(others, key=price.__getitem__))
    world.fight()
    left = {int(data.entity[row]): int(data.many[row]) for row in living(world, world.store)}
    assert left == {e: n for e, n in counts.items() if e not in {entity[row] for row in gone}}


REACH = """\
component: Turret
space: {field: place, wrap: [10, 0]}
fields: {place: "f32[2]", reach: f64, seen: i64, far: f32}
kernels:
  look: {near: reach, steps: ["seen = count()", "far = max(distance, none=-1)"]}
  look_now:
    turns: rows
    near: {others: {radius: reach}}
    steps: |
      for others in others:
          far += others.distance
          seen += 1
      place += 0.5
      reach -= 1
---
component: Tower
fields: {height: f64, seen: i64}
---
component: Mine
instances: many
ids: true
space: {field: place}
fields: {place: "f32[2]", reach: f64, seen: i64, others: i64}
kernels:
  look: {near: {around: {radius: reach}, all_: {among: Mine}}, steps: [
    seen = count(around), others = count(all_)]}
---
world: Front
queries: {built: {all: [Turret, Tower]}}
kernels:
  watch:
    over: built
    near: {others: {radius: Tower.height, among: Turret}}
    steps: ["Tower.height = 0", "Tower.seen = count(others)"]
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_ask_within_their_own_reach(backend: Backend) -> None:
    world = world_package(REACH, f"reach_{backend}", backend).Front()
    rng, turrets, towers = np.random.default_rng(9), world.turret, world.tower
    entities = world.entities.create_many(70)
    places = rng.uniform(-9, 9, (70, 2)).astype(np.float32)
    places[5] = np.nan
    reach = rng.choice([0, 1, 3, -1, np.inf, np.nan, 8], 70)
    turrets.create_many(entities, place=places, reach=reach)
    towers.create_many(entities[::2], height=reach[::2])
    position, data = places.copy(), turrets.data

    def around(row: int, radius: float) -> list[Any]:
        """Return the distances to those in reach, in row order."""
        offsets = (offset_of(position, row, other) for other in range(70) if other != row)
        squares = [o[0] * o[0] + o[1] * o[1] for o in offsets]
        is_some = 0 <= radius < np.inf
        return [np.sqrt(s) for s in squares if is_some and s <= np.float32(radius) ** 2]

    met = [around(row, radius) for row, radius in enumerate(reach)]
    turrets.look()
    assert data.seen.tolist() == [len(each) for each in met]
    assert data.far.tolist() == [max(each, default=-1) for each in met]
    world.watch()
    assert towers.data.seen.tolist() == [len(each) for each in met[::2]]
    far, seen = data.far.copy(), data.seen.copy()
    for row in range(70):
        for distance in around(row, reach[row]):
            far[row] += distance
            seen[row] += 1
        position[row] += np.float32(0.5)
    turrets.look_now()
    assert data.far.tobytes() == far.tobytes()
    assert data.seen.tolist() == seen.tolist()
    assert data.reach.tobytes() == (reach - 1).tobytes()


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_many_a_reach_has_other_rows_of_the_same_entity(backend: Backend) -> None:
    world = world_package(REACH, f"reach_{backend}", backend).Front()
    mines = world.mine
    first, other = world.entities.create_many(2)
    mines.create_many([first, first, other], reach=1)
    mines.look()
    assert mines.data.seen.tolist() == [2, 2, 2]
    assert mines.data.others.tolist() == [1, 1, 2]
