"""Orphans that die, among others: groups, several managers, worlds that collect, rings."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from tests.support.world_package import world_package

SCHEMA = """
component: Limb
hierarchy: {orphans: die}
fields: {a: f64}
---
component: Skin
fields: {b: f64}
---
component: Nerve
destroy: callback
hierarchy: {orphans: die}
fields: {c: f64}
---
component: Bud
instances: many
destroy: callback
ring: 3
hierarchy: {orphans: die}
fields: {d: f64}
---
component: Scar
fields: {e: f64}
---
component: Leaf
ring: 4
ids: true
owner: none
partition: {start: active}
hierarchy: {orphans: root}
fields: {f: f64}
---
world: Body
groups: {whole: [Limb, Nerve]}
archetypes: {components: [Scar]}
entity: {min_free: 0}
"""
NIL = 0xFFFF_FFFF


@pytest.fixture(scope="module")
def package() -> ModuleType:
    return world_package(SCHEMA, "orphans")


@pytest.fixture
def world(package: ModuleType) -> Any:
    return package.Body()


def body(world: Any, manager: Any, n: int = 4, **components: Any) -> Any:
    """Return entities of which each is the child of the one before."""
    es = world.spawn(n, **components)
    rows = manager.lookup_many(es)
    manager.set_parent_many(rows, [NIL, *rows[:-1]])
    return es


def test_orphans_lose_all_their_components(world: Any) -> None:
    es = body(world, world.limb, limb={}, skin={}, nerve={}, scar={})
    world.limb.remove(es[1])
    assert world.entities.alive_many(es).tolist() == [True, True, False, False]
    assert sorted(world.nerve) == es[:2].tolist()
    assert [world.archetypes.has(e, type_of(world, "Scar")) for e in es] == [1, 1, 0, 0]
    assert world.whole.n == 1
    assert len(world.skin) == 4  # that of the dead can be collected
    assert world.collect() == 2


def type_of(world: Any, name: str) -> Any:
    """Return a row class by its name."""
    return next(row for row in world.components(world.spawn(1, scar={})[0]))


def test_a_collection_takes_what_died_of_it(world: Any) -> None:
    es = body(world, world.limb, limb={}, skin={})
    world.destroy(es[0])
    assert world.entities.alive_many(es).tolist() == [False, True, True, True]
    assert world.collect() == 8
    assert len(world.entities) == len(world.limb) == len(world.skin) == 0


def test_deaths_go_from_manager_to_manager(world: Any) -> None:
    es = body(world, world.nerve, 3, nerve={})
    others = world.spawn(2, limb={}, skin={})
    world.limb.create(es[2])
    world.limb.set_parent(world.limb.lookup(others[0]), world.limb.lookup(es[2]))
    world.destroy(es[0])
    assert world.entities.alive_many(es).tolist() == [False] * 3
    assert world.entities.alive_many(others).all()
    assert world.collect() == 3  # two limbs, and the skin of one
    assert world.entities.alive_many(others).tolist() == [False, True]


def test_noted_parents_take_their_children_along(world: Any) -> None:
    es = body(world, world.nerve, nerve={}, skin={})
    world.destroy_later(es[1:3])
    assert world.flush() == 2
    assert world.entities.alive_many(es).tolist() == [True, False, False, False]
    assert world.collect() == 3


def test_nobody_dies_while_a_manager_is_locked(world: Any) -> None:
    es = body(world, world.limb, limb={}, skin={})
    nerve = world.spawn(1, nerve={})
    world.destroy(es[0])
    with world.nerve.locked():
        for call in (world.collect, world.limb.collect, world.limb.clear):
            with pytest.raises(RuntimeError, match="NerveManager"):
                call()
        successor = world.entities.create()
        assert successor & 0xFFFF_FFFF == es[0] & 0xFFFF_FFFF
        with pytest.raises(RuntimeError, match="NerveManager"):
            world.limb.create(successor)
        with pytest.raises(RuntimeError, match="NerveManager"):
            world.limb.create_many([successor])
        assert len(world.limb) == 4
    assert world.entities.alive_many(es[1:]).all()
    assert world.limb.parent(world.limb.create(successor)) == NIL
    assert not world.entities.alive_many(es).any()
    assert world.entities.alive_many(nerve).all()


def test_the_oldest_take_their_children_along(world: Any) -> None:
    one, other = world.spawn(2).tolist()
    buds = world.bud
    first = buds.create(one)
    buds.create(other, parent=first)
    buds.create(one)
    buds.create(one)  # the first goes, and with it the other
    assert not world.entities.alive(other)
    assert world.entities.alive(one)
    assert len(buds) == 2


def test_a_parent_that_makes_room_is_refused(world: Any) -> None:
    leaves = world.leaf
    ids = leaves.create_many(4)
    version = leaves.version
    with pytest.raises(IndexError, match="make room"):
        leaves.create(parent=leaves.resolve(ids[0]))
    with pytest.raises(IndexError, match="make room"):
        leaves.create_many(2, parents=leaves.resolve_many(ids[1:3]))
    assert leaves.version == version
    child = leaves.resolve(leaves.create(parent=leaves.resolve(ids[3])))
    assert leaves.parent(child) == leaves.resolve(ids[3])
    new = leaves.create_many(2, parents=leaves.resolve(ids[3]))
    assert (
        leaves.children(leaves.resolve(ids[3])).tolist()[-2:] == leaves.resolve_many(new).tolist()
    )


def test_parents_are_followed_into_a_group(world: Any) -> None:
    es = world.spawn(6, limb={})
    world.nerve.create_many(es[[4, 5]])
    late = world.spawn(2, nerve={})
    parent = world.limb.lookup(es[0])
    row = world.limb.create(late[0], parent=parent)
    assert row == world.whole.n - 1
    assert world.limb.parent(row) == world.limb.lookup(es[0])
    parents = world.limb.lookup_many(es[[1]])
    (row,) = world.limb.create_many(late[1:], parents=parents)
    assert world.limb.parent(row) == world.limb.lookup(es[1])
    assert list(world.limb)[: world.whole.n] == list(world.nerve)[: world.whole.n]
