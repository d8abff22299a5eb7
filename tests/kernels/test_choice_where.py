"""`choice(C, where=c)`: one of the rows for which a condition is true, against plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.random_words import call_key, row_stem, word

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

SCHEMA = """\
component: Person
fields: {coins: i64, whom: entity, home: id<Land>}
kernels:
  meet: {steps: ["whom = choice(Person, where=Person.coins > coins)"]}
  meet_now:
    turns: rows
    steps: ["whom = choice(Person, where=Person.coins > coins)", "coins += 1"]
---
component: Land
grid: {shape: [4, 5]}
fields: {height: f64}
---
component: Thing
owner: none
ids: true
fields: {value: i64}
---
world: Town
kernels:
  settle:
    over: Person
    args: {low: f64}
    steps:
      - mine = Person.coins
      - thing = choice(Thing, where=Thing.value == mine)
      - Person.home = choice(Land, where=Land.height > low)
      - Person.coins = thing.value * 100
"""


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest) -> Any:
    backend: Backend = request.param
    world = world_package(SCHEMA, f"choice_where_{backend}", backend).Town()
    rng = np.random.default_rng(8)
    entities = world.entities.create_many(50)
    world.person.create_many(entities, coins=rng.integers(0, 20, 50))
    world.thing.create_many(25, value=rng.integers(0, 20, 25))
    world.land.data.height = rng.normal(size=20)
    world.entities.destroy_many(entities[[3, 30]])
    world.seed = 9
    return world


def chosen(candidates: list[int], entity: int, key: int, number: int = 0) -> int:
    index = (word(row_stem(entity, key), number) >> 32) * len(candidates) >> 32
    return candidates[index] if candidates else 0


@pytest.mark.parametrize("name", ["meet", "meet_now"])
def test_rows_choose_among_rows_for_which_a_condition_is_true(world: Any, name: str) -> None:
    data, key = world.person.data, call_key(9, f"Person.{name}", 0)
    entity, coins = data.entity.tolist(), data.coins.tolist()
    alive, whom = world.entities.alive_many(data.entity), []
    for row, value in enumerate(entity):
        richer = [
            e for e, n, lives in zip(entity, coins, alive, strict=True) if lives and n > coins[row]
        ]
        whom.append(chosen(richer, value, key))
        coins[row] += name == "meet_now"
    getattr(world.person, name)()
    assert data.whom.tolist() == whom


def test_cells_and_rows_without_owner_are_chosen(world: Any) -> None:
    data, key = world.person.data, call_key(9, "settle", 0)
    value, height = world.thing.data.value.tolist(), world.land.data.height.tolist()
    high = [2**32 + cell for cell, h in enumerate(height) if h > 0.3]
    entity, coins = data.entity.tolist(), data.coins.tolist()
    homes = [chosen(high, field_value, key, 1) for field_value in entity]
    known = [n in value for n in coins]
    world.settle(0.3)
    assert data.home.tolist() == homes
    assert data.coins.tolist() == [100 * n if k else 0 for n, k in zip(coins, known, strict=True)]
