"""Kernels that read parents give the same whether rows are gathered at once or level by level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.bulk import Sizes
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.world_package import world_package

SCHEMA = """
world: Wood
---
component: Branch
hierarchy: {orphans: root}
partition: {start: active}
fields:
  own: f64
  weight: {type: f32, default: 2.0}
  place: "f64[2]"
  turn: {type: "f32[2,2]", split: true}
  whole: "f32[3,3]"
kernels:
  grow:
    steps:
      - place += parent.place * 2 + parent.own
      - own = parent.own + parent.weight * weight
  spin: {steps: [whole = parent.whole @ whole, turn = parent.turn * 2 + turn]}
  some: {where: own > 3, steps: [own = parent.own + 1]}
  every: {rows: all, steps: [weight = parent.weight + 1]}
"""
KERNELS = ("grow", "spin", "some", "every")


def wood(parents: list[int], idle: list[int]) -> Any:
    """Return a wood: the parent of each branch, or itself for roots; who is not active."""
    world = world_package(SCHEMA, "kernel_levels").Wood()
    draw = np.random.default_rng(len(parents))
    branches, n = world.branch, len(parents)
    es = world.spawn(n, branch={"own": np.arange(n), "place": draw.integers(0, 9, (n, 2))})
    branches.data.whole = draw.integers(-1, 2, (n, 3, 3))
    for row, turn in enumerate(draw.integers(0, 5, (n, 2, 2)).tolist()):
        branches.set_turn(row, turn)
    for row, parent in enumerate(parents):
        if parent < row:
            branches.set_parent(row, parent)
    branches.deactivate_many(branches.lookup_many(es[sorted(set(idle))]))
    return world


def ran(world: Any) -> bytes:
    for name in KERNELS:
        getattr(world.branch, name)()
        getattr(world.branch, name)()
    columns = (getattr(world.branch.data, name) for name in ("own", "weight", "place", "whole"))
    turns = [world.branch.turn(row) for row in range(len(world.branch))]
    return b"".join(column.tobytes() for column in columns) + repr(turns).encode()


Forest = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.tuples(*(st.integers(0, row) for row in range(n))),
        st.lists(st.integers(0, n - 1), max_size=3),
    )
)


@settings(deadline=None)
@given(Forest, st.sampled_from([1, 2, 4, 16]))
def test_at_once_is_as_level_by_level(forest: Any, size: int) -> None:
    parents, idle = forest
    one, other = wood(parents, idle), wood(parents, idle)
    at_once = ran(one)
    with Sizes.of(block_rows=(size, size)):
        assert ran(other) == at_once


@settings(deadline=None)
@given(Forest, st.sampled_from([1, 4, 1024]))
def test_rows_in_order_are_as_gathered(forest: Any, size: int) -> None:
    parents, idle = sorted(forest[0]), forest[1]
    one, other = wood(parents, idle), wood(parents, idle)
    with Sizes.of(block_rows=(size, size)), pytest.MonkeyPatch.context() as patch:
        where_they_are = ran(one)
        patch.setattr("ecsgen_runtime.kernels.levels.as_slice", lambda rows: rows)
        assert ran(other) == where_they_are


def test_children_see_what_their_parents_have_become() -> None:
    world = wood([0, 0, 1, 2, 2], [])
    world.branch.every()
    assert world.branch.data.weight.tolist() == [3.0, 4.0, 5.0, 6.0, 6.0]
    world.branch.every()
    assert world.branch.data.weight.tolist() == [3.0, 4.0, 5.0, 6.0, 6.0]


def test_parents_that_are_not_active_are_read_as_they_are() -> None:
    world = wood([0, 0, 1], [1])
    branches = world.branch
    e = world.entities
    branches.data.own = 10
    branches.some()
    own = {e.index(owner): branches.own(branches.lookup(owner)) for owner in branches}
    assert own == {0: 1.0, 1: 10.0, 2: 11.0}


def test_there_may_be_no_rows() -> None:
    world = world_package(SCHEMA, "kernel_levels").Wood()
    assert ran(world) == b"[]"
