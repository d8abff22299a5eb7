"""Rows that a call names in any order, at once: births, and messages from loops over neighbours,
come in the order of the call, on both backends alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS
from tests.support.bytecode_cache import uncompiled
from tests.support.world_package import world_package

SCHEMA = """\
component: Node
space: {field: at}
fields: {age: i64, at: "f32[2]", last: i64}
kernels:
  tell:
    near: {radius: 30}
    steps: |
      for other in other:
          other.last = age
---
component: Egg
fields: {of: i64}
---
world: Nest
kernels:
  lay: {over: Node, near: 1.5, steps: ["spawn(Egg(of=Node.age))", "spawn(Egg(of=-Node.age))"]}
  lay_one: {over: Node, near: 1.5, steps: ["spawn(Egg(of=Node.age), where=count() >= 0)"]}
  lay_many:
    over: Node
    steps: |
      for i in range(2):
          spawn(Egg(of=Node.age))
          spawn(Egg(of=-Node.age))
"""


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest) -> Any:
    with uncompiled():
        package = world_package(SCHEMA, f"rows_in_any_order_{request.param}", request.param)
    world, rng = package.Nest(), np.random.default_rng(4)
    world.spawn(50, node={"age": np.arange(50), "at": rng.uniform(0, 20, (50, 2))})
    return world


ROWS = [30, 4, 49, 0, 17]


@pytest.mark.parametrize("rows", [ROWS, None])
def test_births_come_in_the_order_of_the_call(world: Any, rows: list[int] | None) -> None:
    running = rows or [*range(50)]
    for name, signs in (("lay", (1, -1)), ("lay_one", (1,)), ("lay_many", (1, -1, 1, -1))):
        world.egg.clear()
        getattr(world, name)(rows=rows)
        assert world.egg.data.of.tolist() == [sign * row for row in running for sign in signs]


@pytest.mark.parametrize("rows", [ROWS, None])
def test_the_last_message_of_the_call_stands(world: Any, rows: list[int] | None) -> None:
    world.node.tell(rows=rows)
    *_, other, last = rows or [*range(50)]
    wanted = [last] * 50
    wanted[last] = other
    assert world.node.data.last.tolist() == wanted
