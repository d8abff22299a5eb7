"""Spawns of unowned rows, of several kinds in one kernel."""

from __future__ import annotations

from typing import Any

import pytest
from ecsgen_runtime.base.errors import DuplicateValueError

from ecsgen.config import BACKENDS, Backend
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
def test_each_kind_has_its_own_rows(backend: Backend) -> None:
    world = world_package(SCHEMA, f"nobodys_{backend}", backend).World()
    world.spawn(4, tree={"age": [0, 1, 2, 3]})
    world.autumn()
    assert world.nut.data.of.tolist() == [2, 3]
    assert world.leaf.data.of.tolist() == [0, 1, 2, 3]


MIXED = """\
component: Plain
fields: {a: i64}
---
component: Note
owner: none
fields: {key: {type: i64, unique: true}}
---
component: Told
release: true
fields: {x: i64}
---
component: One
fields: {key: {type: i64, unique: true}}
---
world: Mixed
kernels:
  both: {over: Plain, steps: ["spawn(Plain(a=1))", "spawn(Note(key=7))"]}
  tell: {over: Plain, steps: ["spawn(Told(), One(key=1))", die(where=Plain.a > 5)]}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_if_one_is_refused_none_is_born(backend: Backend) -> None:
    """Entities and what is nobody's; nothing is released, and no version counts."""
    world = world_package(MIXED, f"mixed_{backend}", backend).Mixed()
    world.spawn(2, plain={"a": [1, 9]})
    world.note.create(key=7)
    released: list[Any] = []
    world.told.on_release(released.append)
    for kernel, left in ((world.both, 2), (world.tell, 1)):
        with pytest.raises(DuplicateValueError):
            kernel()
        assert (len(world.plain), len(world.entities), world.told.version) == (left, left, 0)
    assert not released
