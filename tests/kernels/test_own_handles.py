"""`self` in kernels: the row's own handle, on both backends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

SCHEMA = """\
component: Patch
grid: {shape: [70, 80], wrap: true}
fields: {me: id<Patch>, x: f64, y: f64, z: f64}
kernels:
  own: {steps: [me = self]}
  some:
    steps: ["x = 1 if exists(self) and self == cell_at(Patch, coords(self)) else -1", me = self]
  draw: {steps: [y = random()]}
  again: {steps: [z = random()]}
---
component: Coin
owner: none
fields: {me: id<Coin>, x: f64}
kernels:
  own: {steps: [me = self]}
  read: {steps: ["x = self.x + 1 if self == me else -1"]}
---
component: Sheep
fields: {me: entity, x: f64, self_made: f64}
kernels:
  own: {steps: [me = self, "x = 2 if entity == self else 0"]}
  given: {args: {self: f64}, steps: [x = self]}
---
world: Farm
kernels:
  mark: {over: Sheep, steps: ["self.Sheep.self_made += 1", Sheep.me = self]}
  coins: {over: Coin, steps: [Coin.me = self]}
  cells:
    over: Patch
    near: 1
    steps: [Patch.me = self, "k = count(other == self)", Patch.x = f64(k)]
  spend: {over: Coin, turns: rows, steps: ["destroy(self, where=Coin.x > 3)", Coin.me = self]}
schedule: {step: [Patch.draw, Patch.again]}
"""


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest) -> Any:
    backend: Backend = request.param
    world = world_package(SCHEMA, f"own_handles_{backend}", backend).Farm()
    world.seed = 3
    ids = world.coin.create_many(9, x=np.arange(9.0))
    for id in list(ids)[1:6:2]:
        world.coin.destroy(world.coin.resolve(id))
    world.coin.create_many(2, x=[20.0, 30.0])
    dead = world.entities.create_many(5)
    for entity in dead:
        world.entities.destroy(entity)
    world.sheep.create_many(world.entities.create_many(8))
    return world


def cells(world: Any) -> Any:
    return 2**32 + np.arange(len(world.patch), dtype=np.uint64)


@pytest.mark.parametrize("kernel", ["patch.own", "patch.some", "cells"])
def test_a_cell_is_its_id(world: Any, kernel: str) -> None:
    holder, _, name = f".{kernel}".rpartition(".")
    getattr(getattr(world, holder.strip(".")) if holder.strip(".") else world, name)()
    assert (world.patch.data.me == cells(world)).all()
    if kernel != "patch.own":
        assert (world.patch.data.x == (1 if kernel == "patch.some" else 0)).all()


def test_chosen_cells_are_their_ids(world: Any) -> None:
    rows = [4000, 3, 77]
    world.patch.own(rows=rows)
    assert (world.patch.data.me[rows] == cells(world)[rows]).all()
    assert np.count_nonzero(world.patch.data.me) == 3


def test_a_pass_of_kernels_draws_as_each_alone(world: Any) -> None:
    world.step()
    y, z = world.patch.data.y.copy(), world.patch.data.z.copy()
    package = type(world)
    alone = package()
    alone.seed = 3
    alone.patch.draw()
    alone.patch.again()
    assert y.tobytes() == alone.patch.data.y.tobytes()
    assert z.tobytes() == alone.patch.data.z.tobytes()


@pytest.mark.parametrize("kernel", ["own", "coins"])
def test_a_row_without_owner_is_its_id(world: Any, kernel: str) -> None:
    getattr(world if kernel == "coins" else world.coin, kernel)()
    coins = world.coin
    assert (coins.data.me == coins.id_of_many(np.arange(len(coins)))).all()
    if kernel == "own":
        before = coins.data.x.copy()
        coins.read()
        assert (coins.data.x == before + 1).all()


def test_a_chosen_row_without_owner_is_its_id(world: Any) -> None:
    world.coin.own(rows=[6, 2])
    world.seed = 3
    ids = world.coin.id_of_many(np.arange(len(world.coin)))
    assert (world.coin.data.me[[6, 2]] == ids[[6, 2]]).all()
    assert np.count_nonzero(world.coin.data.me) == 2


def test_a_row_destroys_itself_by_its_id(world: Any) -> None:
    coins_left = [x for x in world.coin.data.x if x <= 3]
    world.spend()
    assert sorted(world.coin.data.x) == sorted(coins_left)
    assert (world.coin.data.me == world.coin.id_of_many(np.arange(len(coins_left)))).all()


def test_a_row_with_owner_is_its_entity(world: Any) -> None:
    world.sheep.own()
    assert (world.sheep.data.me == world.sheep.data.entity).all()
    assert (world.sheep.data.x == 2).all()
    world.sheep.data.me[:] = 0
    world.mark()
    assert (world.sheep.data.me == world.sheep.data.entity).all()
    assert (world.sheep.data.self_made == 1).all()


def test_an_argument_of_that_name_goes_first(world: Any) -> None:
    world.sheep.given(2.5)
    assert (world.sheep.data.x == 2.5).all()
