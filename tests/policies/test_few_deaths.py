"""A collection behind a few deaths removes what a sweep of everything does."""

from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.world_package import world_package

SCHEMA = """
world: Farm
groups: {pairs: [Left, Right]}
---
component: Plain
fields: {x: i32}
---
component: Rare
lookup: hash
ids: true
fields: {x: i32}
---
component: Direct
lookup: direct
fields: {x: i32}
---
component: Listed
instances: many
release: true
fields: {x: i32}
---
component: Left
fields: {x: i32}
---
component: Right
fields: {x: i32}
---
component: Split
partition: {start: active}
cold: indirect
fields: {x: i32, note: {type: i32, tags: [cold]}}
---
component: Node
hierarchy: {orphans: root}
fields: {x: i32}
---
component: Gone
destroy: callback
fields: {x: i32}
---
component: Kept
destroy: manual
fields: {x: i32}
"""
FAMILY = """
world: House
---
component: Node
hierarchy: {orphans: die}
"""
PARTS = ("plain", "rare", "direct", "listed", "left", "right", "split", "node", "gone", "kept")


def farm() -> Any:
    return world_package(SCHEMA, "few_deaths")


def error(name: str) -> type[Exception]:
    """Return an error class of the package."""
    farm()
    found: type[Exception] = getattr(importlib.import_module("few_deaths"), name)
    return found


def owners(world: Any) -> dict[str, Any]:
    """Return the rows of each manager, and how often it changed."""
    managers = {name: getattr(world, name) for name in world.MANAGERS}
    return {name: ([*m.data.entity.tolist()], m.version) for name, m in managers.items()}


Turn = st.tuples(
    st.sampled_from(["spawn", "later", "later", "destroy", "collect", "collect", "gc", "flush"]),
    st.lists(st.integers(0, 60), min_size=1, max_size=20),
)


@settings(deadline=None)
@given(st.lists(Turn, max_size=25), st.booleans())
def test_who_is_collected_is_who_a_sweep_finds(turns: list[Any], at_once: bool) -> None:
    one, other = farm().Farm(), farm().Farm()
    entities: list[int] = []
    for turn, numbers in turns:
        chosen = [entities[k % len(entities)] for k in numbers] if entities else []
        living = list(dict.fromkeys(filter(one.entities.alive, chosen)))
        if turn == "spawn":
            parts = {PARTS[k % len(PARTS)]: {"x": k} for k in numbers}
            entities += one.spawn(len(numbers), **parts).tolist()
            assert other.spawn(len(numbers), **parts).tolist() == entities[-len(numbers) :]
        for world in (one, other):
            if turn == "later" and chosen:
                for note in [chosen] if at_once else chosen:
                    world.destroy_later(note)
            elif turn == "destroy" and living:
                world.destroy_many(living)
            elif turn == "gc":
                world.gc()
            elif turn == "flush":
                world.flush()
        if turn == "collect":
            other.entities._clean = -1  # has it look at all rows
            assert one.collect() == other.collect()
            alive = one.entities.alive
            lazy = set(PARTS) - {"kept"}
            assert all(alive(e) for part in lazy for e in getattr(one, part).data.entity if e)
        assert owners(one) == owners(other)


def test_who_died_before_is_not_forgotten() -> None:
    world = farm().Farm()
    first, second, third = world.spawn(3, plain={}).tolist()
    assert world.collect() == 0
    world.destroy(first)
    world.destroy_later(second)
    assert world.collect() == 2
    world.destroy_later(third)
    world.flush()
    assert world.collect() == 1
    assert len(world.plain) == 0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))])
def test_copies_look_at_all_rows_again(copied: Any) -> None:
    world = farm().Farm()
    es = world.spawn(5, plain={}).tolist()
    world.destroy_many(es[:2])
    assert world.collect() == 2
    world.destroy(es[2])
    again = copied(world)
    for _ in range(again.entities._deaths + 3):
        again.destroy(again.entities.create())
    assert again.collect() == 1
    assert sorted(again.plain.data.entity.tolist()) == es[3:]


def test_locked_managers_refuse_as_ever() -> None:
    world = farm().Farm()
    entity = world.spawn(1, plain={})[0]
    world.collect()
    with world.rare.locked():
        with pytest.raises(error("StructureLockedError")):
            world.collect()
        world.destroy_later(entity)
        with pytest.raises(error("StructureLockedError")):
            world.collect()
    assert world.collect() in {0, 1}
    assert len(world.plain) == 0


def test_a_callback_that_destroys_leaves_its_rows_to_the_next_collection() -> None:
    world = farm().Farm()
    es = world.spawn(4, plain={}, listed={}).tolist()
    world.collect()
    world.listed.on_release(lambda rows: world.entities.alive(es[2]) and world.destroy(es[2]))
    world.destroy_later(es[0])
    assert world.collect() >= 2
    assert not world.entities.alive(es[2])
    world.collect()
    assert sorted(world.plain.data.entity.tolist()) == [es[1], es[3]]
    assert sorted(world.listed.data.entity.tolist()) == [es[1], es[3]]


@pytest.mark.parametrize("wrong", [-1, 2**70, 0])
def test_noted_numbers_that_are_nobody_do_no_harm(wrong: int) -> None:
    world = farm().Farm()
    entity = world.spawn(1, plain={})[0]
    world.destroy_later(wrong)
    world.destroy_later([wrong, entity, entity])
    assert world.flush() == 1
    with pytest.raises(error("StaleEntityError")):
        world.destroy_many([wrong])


def test_a_few_die_together_and_are_told_at_once() -> None:
    world = farm().Farm()
    es = world.spawn(4, plain={}, gone={}).tolist()
    heard: list[list[int]] = []
    world.entities.on_destroy(lambda entities: heard.append(entities.tolist()))
    world.destroy_later(es[2])
    world.destroy_later(es[:2])
    assert world.flush() == 3
    world.destroy_many([es[3], es[3]], repeats=True)
    assert heard == [[es[2], es[0], es[1]], [es[3]]]
    assert len(world.gone) == 0


@pytest.mark.parametrize("count", [1, 2, 64, 65, 66, 200])
@pytest.mark.parametrize("is_chain", [False, True])
def test_all_that_is_below_goes_however_many(count: int, is_chain: bool) -> None:
    world = world_package(FAMILY, "few_family").House()
    nodes = world.node
    es = world.spawn(count, node={})
    others = world.spawn(3, node={}).tolist()
    rows = nodes.lookup_many(es)
    if count > 1:
        nodes.set_parent_many(rows[1:], rows[:-1] if is_chain else rows[0])
    world.destroy(es[0])
    assert world.collect() == count
    assert not world.entities.alive_many(es).any()
    assert sorted(nodes.data.entity.tolist()) == others
