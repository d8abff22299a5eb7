"""Loops over queries: they notice at the next step that rows may have moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.bulk import Sizes
from hypothesis import given
from hypothesis import strategies as st

from tests.support.queried_camp import COUNT, together
from tests.support.world_package import world_package

CHANGES: dict[str, Callable[[Any, int], object]] = {
    "an entity dies": lambda world, e: world.destroy(e),
    "rows move": lambda world, e: world.body.reorder(np.arange(len(world.body))[::-1]),
    "a component goes": lambda world, e: world.place.remove(e),
    "an optional one comes": lambda world, e: world.extra.create(e),
    "another entity comes": lambda world, e: world.spawn(1, place={}),
    "room is made": lambda world, e: world.place.reserve(1000),
}


WORN_OUT = """
world: Attic
entity: {index_bits: 16, generation_bits: 1}
queries: {olds: {all: [Old]}}
---
component: Old
fields: {age: i32}
"""
FOUR = """
world: Quartet
queries:
  one: {all: [A]}
  three: {all: [A, B, C]}
  four: {all: [A, B], optional: [C], none: [E], any: [D]}
---
component: A
---
component: B
---
component: C
---
component: D
---
component: E
"""


def steps_until(query: Any, step: int, change: Callable[[Any], object]) -> list[int]:
    """Return the entities that a loop sees if it changes something at a step."""
    seen: list[int] = []
    with pytest.raises(RuntimeError, match=r"iterate over list\(query\)"):
        seen.extend(changing(query, step, change))
    return seen


def changing(query: Any, step: int, change: Callable[[Any], object]) -> Iterator[int]:
    """Yield the entities of a query, and change something at a step."""
    for number, row in enumerate(query, 1):
        if number == step:
            change(row.entity)
        yield row.entity


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("step", [1, 3, COUNT])
@pytest.mark.parametrize("is_second", [False, True])
def test_loops_notice_changes_at_the_next_step(change: str, step: int, is_second: bool) -> None:
    world = together()
    if is_second:
        assert len(list(world.movers)) == COUNT
    entities = world.movers.rows().entity.tolist()
    seen = steps_until(world.movers, step, partial(CHANGES[change], world))
    assert seen == entities[:step]


def test_a_loop_that_began_before_a_change_does_not_begin_behind_it() -> None:
    world = together()
    loop = iter(world.movers)
    world.destroy(world.movers.rows().entity[0])
    assert len(world.movers) == COUNT - 1  # a new match, which the loop knows nothing of
    with pytest.raises(RuntimeError, match="iterate over list"):
        next(loop)


def test_entities_that_are_never_used_again_end_loops_too() -> None:
    world = world_package(WORN_OUT, "loops_worn_out").Attic()
    es = world.spawn(4, old={}).tolist()
    for _ in world.olds:
        world.entities.create()  # ends no loop
    assert steps_until(world.olds, 2, lambda _: world.destroy(es[3])) == es[:2]


def test_loops_over_one_to_four_members_notice_changes_of_each() -> None:
    world = world_package(FOUR, "loops_four").Quartet()
    parts = ("a", "b", "c", "d")
    for query, count in ((world.one, 1), (world.three, 3), (world.four, 4)):
        for name in parts[:count]:
            world.spawn(3, **{part: {} for part in parts})
            manager = getattr(world, name)
            assert len(list(query)) >= 3
            assert len(steps_until(query, 1, manager.remove)) == 1


def test_loops_over_many_notice_changes() -> None:
    world = together()
    with Sizes.of(kept=2, tuples=4):
        assert [tuple(row)[1:3] for row in world.movers] == [(k, k) for k in range(COUNT)]
        assert len(steps_until(world.movers, 5, world.destroy)) == 5


def test_loops_over_chunks_notice_changes() -> None:
    world = together()
    es = world.spawn(3, heat={}).tolist()
    heat = world.burning._ALL[0]
    assert steps_until(world.burning, 1, lambda e: world.archetypes.remove(e, heat)) == es[:1]
    assert [row.entity for row in world.burning] == [es[2], es[1]]
    assert steps_until(world.burning, 2, world.destroy) == [es[2], es[1]]


def test_loops_may_write_cells_and_create_entities() -> None:
    world = together()
    for _ in range(2):
        for e, place, body, _extra in world.movers:
            world.place.set_x(place, world.body.mass(body))
            assert world.entities.alive(e)
            world.movers.body.hp += 1
            world.entities.create()
    assert world.body.data.hp.tolist() == [12 + k for k in range(COUNT)]
    for row in list(world.movers):
        world.destroy(row.entity)
    assert len(world.movers) == 0


def test_the_last_step_may_be_the_last() -> None:
    world = together()
    for row in world.movers:
        world.destroy(row.entity)
        break
    assert len(world.movers) == COUNT - 1


@given(st.lists(st.integers(0, 4), max_size=12))
def test_matches_are_never_old(turns: list[int]) -> None:
    """Changes that cancel each other out in some count are changes all the same."""
    world = together()
    for turn in turns:
        entities = world.movers.rows().entity
        if turn == 0:
            serial = 1000 + world.body.version + world.place.version
            world.spawn(1, place={}, body={"serial": serial})
        elif turn == 1 and len(entities):
            world.destroy(entities[-1])
        elif turn == 2 and len(entities):
            world.body.remove(entities[0])
        elif turn == 3:
            world.collect()
        else:
            world.entities.create()
        alive = [e for e in world.entities if world.place.has(e) and world.body.has(e)]
        assert sorted(row.entity for row in world.movers) == sorted(alive)


def test_other_sizes_are_in_force_for_a_while() -> None:
    before = Sizes.kept, Sizes.tuples
    with suppress(ZeroDivisionError), Sizes.of(kept=2, tuples=4):
        assert (Sizes.kept, Sizes.tuples) == (2, 4)
        raise ZeroDivisionError
    assert (Sizes.kept, Sizes.tuples) == before
    with pytest.raises(AttributeError, match="keeping"), Sizes.of(kept=2, keeping=3):
        pass
    assert (Sizes.kept, Sizes.tuples) == before
