"""Rows that were chosen among all, and what becomes of them later in the same turn."""

from __future__ import annotations

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

SCHEMA = """\
component: Kid
fields: {mate: entity, coins: i64, seen: i64}
kernels:
  give:
    turns: random
    steps: [whom = choice(Kid), other = whom, whom.Kid.coins += 1, other.Kid.coins += 10]
  change:
    turns: random
    steps: [whom = choice(Kid), whom = mate, whom.Kid.coins += 100]
---
world: Town
kernels:
  play:
    over: Kid
    turns: random
    steps:
      - whom = choice(Kid)
      - destroy(whom, where=random() < 0.3)
      - whom.Kid.coins += 1
      - Kid.seen += 1 if exists(whom) else 0
"""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dead", [0, 4])
def test_messages_reach_who_was_chosen(backend: Backend, dead: int) -> None:
    world = world_package(SCHEMA, f"chosen_{backend}", backend).World()
    born = world.spawn(20, kid={})
    world.entities.destroy_many(born[:dead])
    world.kid.give()
    coins = world.kid.data.coins
    assert coins.sum() == 11 * (20 - dead)
    assert (coins % 11 == 0).all()
    assert coins[:dead].tolist() == [0] * dead


@pytest.mark.parametrize("backend", BACKENDS)
def test_another_may_take_the_name(backend: Backend) -> None:
    world = world_package(SCHEMA, f"chosen_{backend}", backend).World()
    born = world.spawn(20, kid={})
    world.kid.data.mate = born[3]
    world.kid.change()
    assert world.kid.data.coins.tolist() == [2000 if row == 3 else 0 for row in range(20)]


def test_those_destroyed_since_are_not_there() -> None:
    states = []
    for backend in BACKENDS:
        world = world_package(SCHEMA, f"chosen_{backend}", backend).World()
        world.spawn(40, kid={"coins": np.arange(40)})
        for _ in range(3):
            world.play()
        data = world.kid.data
        states.append((data.entity.tolist(), data.coins.tolist(), data.seen.tolist()))
    assert states[0] == states[1]
    assert 0 < len(states[0][0]) < 40
