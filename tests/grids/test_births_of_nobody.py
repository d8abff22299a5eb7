"""Births of rows that are nobody's, of several kinds in one kernel."""

from __future__ import annotations

import pytest

from ecsgen.config import BACKENDS
from tests.support.world_package import world_package

SCHEMA = """\
component: Tree
fields: {age: i64}
---
component: Nut
owner: none
fields: {of: i64}
---
component: Leaf
owner: none
fields: {of: i64}
---
world: Wood
kernels:
  autumn:
    over: Tree
    steps:
      - spawn(Nut(of=Tree.age), where=Tree.age >= 2)
      - spawn(Leaf(of=Tree.age))
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_kind_has_its_own_rows(backend: str) -> None:
    world = world_package(SCHEMA, f"nobodys_{backend}", backend).World()
    world.spawn(4, tree={"age": [0, 1, 2, 3]})
    world.autumn()
    assert world.nut.data.of.tolist() == [2, 3]
    assert world.leaf.data.of.tolist() == [0, 1, 2, 3]
