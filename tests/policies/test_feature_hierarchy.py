"""Hierarchies, in every surrounding of policies, and orphans that die."""

from __future__ import annotations

import time
import tracemalloc
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import HierarchyError, StaleInstanceError
from ecsgen_runtime.base.handles import NIL

from tests.support.runtime_names import patch_runtime
from tests.support.state_machines import machine_of, package_with_tests, run_machine
from tests.support.world_package import world_package

SURROUNDINGS = (
    "",
    "instances: many\npartition: {start: active}\n",
    "instances: many\ndestroy: callback\nrelease: true\nids: true\n",
    "destroy: manual\npartition: {start: inactive}\n",
    "lookup: hash\ndestroy: callback\nrelease: true\npartition: {start: active}\n",
    "lookup: hash\ninstances: many\nrelease: true\n",
    "lookup: hash\ninstances: many\ndestroy: manual\nids: true\n",
    "owner: none\nids: true\nrelease: true\n",
    "owner: none\nids: true\npartition: {start: active}\n",
)
"""Every pair of the hierarchy with another policy, and most triples."""
COMPONENTS = {
    f"{orphans.title()}{number}": f"{keys}hierarchy: {{orphans: {orphans}}}\n"
    for orphans in ("root", "destroy")
    for number, keys in enumerate(SURROUNDINGS)
}
FIELDS = "fields: {serial: i64, place: 'f32[3]'}\n"
FAMILIES = "---\n".join(
    ["world: Families\nentity: {min_free: 2}\n"]
    + [f"component: {name}\n{keys}{FIELDS}" for name, keys in COMPONENTS.items()]
)


@pytest.fixture(scope="module")
def package() -> ModuleType:
    """The package of all these components."""
    return package_with_tests(FAMILIES, "families")


@pytest.mark.hypothesis
@pytest.mark.parametrize(("few", "rounds"), [(True, 1), (False, 3), (True, 64)])
@pytest.mark.parametrize("name", COMPONENTS)
def test_a_manager_does_as_the_model(
    package: ModuleType, name: str, few: bool, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes the ways for few rows among many, and gives up on long lists after some rounds."""
    small_values = {"_DENSE": 0, "_MANY": 0} if few else {}
    patch_runtime(monkeypatch, package.__name__, MAX_STEPS=rounds, **small_values)
    run_machine(machine_of(package, name.lower()), rounds)


@pytest.mark.parametrize("k", [1, 30])
def test_new_parents_of_few_rows_copy_no_column(package: ModuleType, k: int) -> None:
    nodes = package.Root7Manager()
    nodes.create_many(100_000)
    nodes.set_parent_many(np.arange(1, 100_000), (np.arange(1, 100_000) - 1) // 2)
    nodes.set_parent_many([99_999], [1])  # what is imported or made once is there now
    tracemalloc.start()
    try:
        nodes.set_parent_many(np.arange(99_000, 99_000 + k), 0)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.fixture(params=["Root", "Destroy"])
def nodes(request: pytest.FixtureRequest, package: ModuleType) -> Any:
    """A manager of ten roots without owners, whose rows are 0 to 9."""
    manager = getattr(package, f"{request.param}7Manager")()
    manager.create_many(10, serial=np.arange(10))
    return manager


def links(manager: Any) -> list[list[int]]:
    return [manager.children(row).tolist() for row in range(len(manager))]


def test_only_the_final_state_can_be_a_cycle(nodes: Any) -> None:
    nodes.set_parent_many([1, 2], [0, 1])
    nodes.set_parent_many([0, 2, 1], [1, NIL, 2])  # upside down
    assert [nodes.parent(row) for row in (0, 1, 2)] == [1, 2, NIL]


def test_cycles_are_refused_and_change_nothing(nodes: Any) -> None:
    nodes.set_parent_many([1, 2, 3], [0, 1, 2])
    before, version = links(nodes), nodes.version
    for row, parent in ((0, 0), (0, 3), (1, 2), (9, 9)):
        with pytest.raises(HierarchyError, match=f"row {row} would become its own ancestor"):
            nodes.set_parent(row, parent)
    for rows, parents in (([0], [0]), ([0, 5], [3, 0]), ([5, 6], [6, 5]), ([0, 1, 2], [8, 2, 1])):
        with pytest.raises(HierarchyError, match="its own ancestor"):
            nodes.set_parent_many(rows, parents)
    assert (links(nodes), nodes.version) == (before, version)


def test_bad_rows_and_parents_change_nothing(nodes: Any) -> None:
    for row, parent in ((10, 0), (NIL, 0), (-1, 0), (0, 10), (0, -1)):
        with pytest.raises(StaleInstanceError):
            nodes.set_parent(row, parent)
        with pytest.raises(StaleInstanceError):
            nodes.set_parent_many([row], [parent])
        with pytest.raises(StaleInstanceError):
            nodes.set_parent_many([row], parent)
    with pytest.raises(StaleInstanceError, match="given twice"):
        nodes.set_parent_many([1, 2, 1], 0)
    with pytest.raises(ValueError, match="2 parents for 3 rows"):
        nodes.set_parent_many([1, 2, 3], [0, 0])
    with pytest.raises(ValueError, match="mask"):
        nodes.set_parent_many([True] * 9, 0)
    for parents in ([True] * 2, [0.0, 1.0], "ab", None):
        with pytest.raises((TypeError, ValueError)):
            nodes.set_parent_many([1, 2], parents)
    with pytest.raises(TypeError):
        nodes.set_parent(1, None)
    for accessor in (nodes.parent, nodes.children, nodes.first_child, nodes.next_sibling):
        with pytest.raises(StaleInstanceError):
            accessor(NIL)
    assert links(nodes) == [[]] * 10


def test_masks_numpy_numbers_and_own_columns_are_taken(nodes: Any) -> None:
    nodes.set_parent_many(nodes.data.serial > 6, np.uint32(0))
    nodes.set_parent(np.int64(1), np.uint8(7))
    assert nodes.parent(1) == 7
    parents = np.array([NIL, 0], object)
    nodes.set_parent_many(np.array([7, 2], np.uint64), parents)
    assert nodes.children(0).tolist() == [8, 9, 2]
    parents = nodes.data.parent
    nodes.set_parent_many(nodes.data.serial, parents)
    assert nodes.children(0).tolist() == [8, 9, 2]
    with pytest.raises(ValueError, match="read-only"):
        nodes.data.parent[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        nodes.levels()[0][0] = 1


@pytest.mark.parametrize("name", ["Root0", "Destroy0", "Root5", "Destroy5"])
def test_long_chains_and_wide_families(package: ModuleType, name: str) -> None:
    entities = package.EntityManager()
    manager = getattr(package, f"{name}Manager")(entities)
    es = entities.create_many(100_000)
    rows = manager.create_many(es, serial=np.arange(100_000))
    began = time.process_time()
    manager.set_parent_many(rows[1:], rows[:-1])  # a chain
    assert len(manager.levels()) == 100_000
    with pytest.raises(ValueError, match="ancestor"):
        manager.set_parent(0, 99_999)
    manager.destroy(5)
    destroys = manager.data.n == 5
    assert destroys == ("Destroy" in name)
    assert manager.levels()[3].tolist() == ([3] if destroys else [3, 9])
    manager.clear()
    rows = manager.create_many(es, serial=np.arange(100_000))
    manager.set_parent_many(rows[1:-1], 0)  # one large family
    manager.sort(-np.arange(100_000))
    assert manager.children(99_999).tolist() == list(range(99_998, 0, -1))
    manager.destroy(0)  # the parent moves into its place
    assert (manager.data.parent[1:] == 0).all()
    assert manager.remove(int(es[0])) == (99_999 if destroys else 1)
    assert time.process_time() - began < 10  # no loop per row or per level


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


@pytest.fixture(scope="module")
def orphans_package() -> ModuleType:
    return world_package(SCHEMA, "orphans")


@pytest.fixture
def world(orphans_package: ModuleType) -> Any:
    return orphans_package.Body()


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
    (scar,) = world.components(world.spawn(1, scar={})[0])
    assert [world.archetypes.has(e, scar) for e in es] == [1, 1, 0, 0]
    assert world.whole.n == 1
    assert len(world.skin) == 4  # that of the dead can be collected
    assert world.collect() == 2


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
    first_owner, other = world.spawn(2).tolist()
    buds = world.bud
    first = buds.create(first_owner)
    buds.create(other, parent=first)
    buds.create(first_owner)
    buds.create(first_owner)  # the first goes, and with it the other
    assert not world.entities.alive(other)
    assert world.entities.alive(first_owner)
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
