"""Hierarchies, in every surrounding of policies, and orphans that die."""

from __future__ import annotations

import time
import tracemalloc
from functools import partial
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import HierarchyError, StaleEntityError, StaleInstanceError
from ecsgen_runtime.base.handles import NIL
from ecsgen_testing.hierarchy import check_children
from ecsgen_testing.subject import refuses

import generated as g
from tests.support.entities_package import DespawnListener
from tests.support.manager_state import made, recreate
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
    for view in (nodes.data.parent, nodes.levels()[0]):
        refuses(ValueError, "read-only", view.fill, 1)


@pytest.mark.parametrize("name", ["Root0", "Destroy0", "Root5", "Destroy5"])
def test_long_chains_and_wide_families(package: ModuleType, name: str) -> None:
    entities = package.EntityManager()
    manager = getattr(package, f"{name}Manager")(entities)
    es = entities.create_many(100_000)
    rows = manager.create_many(es, serial=np.arange(100_000))
    began = time.process_time()
    manager.set_parent_many(rows[1:], rows[:-1])  # a chain
    assert len(manager.levels()) == 100_000
    refuses(ValueError, "ancestor", manager.set_parent, 0, 99_999)
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


def family(kind: Any, parents: list[int]) -> tuple[g.EntityManager, Any, Any]:
    """Return a manager whose row k has the k-th parent."""
    entities, m, es = made(kind, len(parents))
    m.set_parent_many(np.arange(len(parents)), parents)
    check_links(m, parents)
    return entities, m, es


def check_links(m: Any, parents: list[int]) -> None:
    """Check all links between rows whose children were attached in ascending order."""
    assert m.data.parent.tolist() == parents == [m.parent(row) for row in range(len(parents))]
    for row in range(len(parents)):
        children = [k for k, parent in enumerate(parents) if parent == row]
        check_children(m, row, children)
    assert m.roots().tolist() == [row for row, parent in enumerate(parents) if parent == NIL]


kin = pytest.mark.parametrize("kind", [g.KinManager, g.SceneNodeManager])


@kin
def test_parents_that_are_set(kind: Any) -> None:
    _, m, _ = family(kind, [NIL, 0, 0, 0])
    for row in (1, 2, 3):
        left = [other for other in m.children(0).tolist() if other != row]
        m.set_parent(row, NIL)
        check_children(m, 0, left)
        m.set_parent(row, 0)
        check_children(m, 0, [*left, row])
    version = m.version
    m.set_parent(1, 0)
    m.set_parent(0, NIL)
    m.set_parent_many([2, 1], 0)
    m.set_parent_many([2, 0], [0, NIL])
    m.set_parent_many([], [])
    assert m.version == version
    m.set_parent_many([2, 1], [1, 0])
    check_children(m, 1, [2])
    assert m.levels() is m.levels()
    m.set_parent_many([0, 2, 1], [1, NIL, 2])  # upside down
    assert [m.parent(row) for row in (0, 1, 2)] == [1, 2, NIL]


@kin
def test_parents_that_are_refused(kind: Any) -> None:
    _, m, _ = family(kind, [NIL, 0, 1, 2, *[NIL] * 6])
    before = m.version
    for row, parent in ((0, 0), (0, 3), (1, 2), (9, 9)):
        refuses(HierarchyError, f"row {row} would become its own", m.set_parent, row, parent)
    cycles: list[Any] = [([0], [0]), ([0, 5], [3, 0]), ([5, 6], [6, 5]), ([0, 1, 2], [8, 2, 1])]
    for rows, parents in (*cycles, ([3], 3)):
        refuses(HierarchyError, "its own ancestor", m.set_parent_many, rows, parents)
    for row, parent in ((10, 0), (NIL, 0), (-1, 0), (0, 10), (0, -1), (0, 2**32), (0, 2**70)):
        refuses(StaleInstanceError, m.set_parent, row, parent)
        refuses(StaleInstanceError, m.set_parent_many, [row], [parent])
        refuses(StaleInstanceError, m.set_parent_many, [row], parent)
    refuses(StaleInstanceError, "given twice", m.set_parent_many, [1, 2, 1], 0)
    refuses(ValueError, "2 parents for 3 rows", m.set_parent_many, [1, 2, 3], [0, 0])
    refuses(ValueError, "mask", m.set_parent_many, [True] * 9, 0)
    for wrong in ([True] * 2, [0.0, 1.0], "ab", None):
        refuses((TypeError, ValueError), m.set_parent_many, [1, 2], wrong)
    refuses(TypeError, m.set_parent, 1, None)
    reads = (m.parent, m.children, m.first_child, m.next_sibling, m.previous_sibling)
    for read in reads:
        refuses(StaleInstanceError, read, 10)
    check_links(m, [NIL, 0, 1, 2, *[NIL] * 6])
    assert m.version == before


@kin
@pytest.mark.parametrize("count", [2, 63, 64, 65, 200])
def test_the_last_row_moves_with_its_family(kind: Any, count: int) -> None:
    last = count + 1
    _, m, _ = made(kind, last + 1)
    m.set_parent_many(np.arange(1, last), last)
    m.destroy(0)
    check_links(m, [NIL, *[0] * count])
    m.set_parent(1, NIL)
    m.set_parent(1, 0)
    check_children(m, 0, [*range(2, last), 1])


@kin
@pytest.mark.parametrize("count", [7, 70])
def test_families_move_in_bulk(kind: Any, count: int) -> None:
    for removed in ([0], [0, 1]):
        _, m, _ = made(kind, count)
        m.set_parent_many([2, 4, 3], count - 1)
        m.destroy_many(removed)
        check_children(m, len(removed) - 1, [2, 4, 3])
        assert [m.parent(row) for row in (2, 4, 3)] == [len(removed) - 1] * 3
        assert len(m.roots()) == len(m) - 3
    _, m, _ = made(kind, 3)
    m.set_parent(1, 2)
    m.destroy_many([0, 1])
    check_links(m, [NIL])
    _, m, _ = made(kind, 60)
    m.set_parent_many(range(10, 20), range(10))
    m.set_parent_many(range(20, 40), range(40, 60))
    m.destroy_many(range(20))
    above = m.data.parent[20:40].tolist()
    assert sorted(above) == list(range(20))
    for child, parent in enumerate(above, 20):
        check_children(m, parent, [child])


@kin
@pytest.mark.parametrize("total", [60, 400])  # whose descendants are looked for in two ways
def test_parents_go_with_children_that_are_named_too(kind: Any, total: int) -> None:
    _, m, es = made(kind, total)
    m.set_parent_many(range(10, 30), range(20))
    m.set_parent_many(range(total - 20, total), range(30, 50))  # who come to where others went
    count = m.remove_many(es[:20])
    assert sorted(m) == es[count:].tolist()
    parents = [m.parent(m.lookup(entity)) for entity in es[total - 20 :]]
    assert parents == [m.lookup(entity) for entity in es[30:50]]


@kin
def test_new_rows_have_parents_that_are_in_use(kind: Any) -> None:
    entities, m, es = family(kind, [NIL, 0])
    version = m.version
    new, other, dead = entities.create_many(3).tolist()
    entities.destroy(dead)
    for parent in (-1, 2, 2**70):
        refuses(StaleInstanceError, m.create, new, parent=parent)
    for parents in (2, [0, 2], [-1, NIL], np.array([5, 0])):
        refuses(StaleInstanceError, m.create_many, [new, other], parents=parents)
    for wrong in (None, "0", 1.0):
        refuses(TypeError, m.create, new, parent=wrong)
        refuses(TypeError, m.create_many, [new, other], parents=wrong)
        refuses(StaleEntityError, m.create, dead, parent=wrong)
    refuses(ValueError, "parents", m.create_many, [new, other], parents=[0, 1, 0])
    refuses(TypeError, "mask", m.create_many, [new, other], parents=np.array([True, False]))
    assert (m.version, len(m)) == (version, 2)
    name = m.FIELDS[0].name
    refuses(TypeError, m.create, new, parent=0, **{name: "bad"})
    refuses(TypeError, m.create_many, [new, other], parents=0, **{name: "bad"})
    m.reorder([1, 0])  # no parent is tracked any more
    assert m.data.parent.tolist() == [1, NIL]
    entities, m, es = made(kind, 5)
    successors = recreate(entities, es[1:]).tolist()
    row = m.create(successors[0], parent=m.lookup(es[0]))
    assert m.parent(row) == m.lookup(es[0])


def test_parents_are_found_that_move_for_their_children(package: ModuleType) -> None:
    entities = package.EntityManager()
    m = package.Root4Manager(entities)
    m.create_many(entities.create_many(3))
    m.deactivate_many(range(3))
    for create in (m.create, lambda e, parent: m.create_many([e], parents=[parent])[0]):
        above = m.entity(m.n_active)
        row = create(entities.create(), parent=m.n_active)
        assert m.parent(row) == m.lookup(above)
    m.deactivate_many(range(5))
    above = m.entity(0)
    root, child = m.create_many(entities.create_many(2), parents=[NIL, 0]).tolist()
    assert (m.parent(root), m.parent(child)) == (NIL, m.lookup(above))


def test_orphans_that_become_roots_forget_their_siblings() -> None:
    _, m, es = made(g.KinManager, 6)
    m.set_parent_many([2, 5], [0, 3])
    m.destroy_many([0])
    rows = [m.lookup(es[k]) for k in (2, 3, 5)]
    assert [m.parent(row) for row in rows] == [NIL, NIL, rows[1]]
    check_children(m, rows[1], rows[2:])
    _, m, _ = made(g.KinManager, 6)
    m.set_parent_many([1, 2], 0)
    m.destroy(0)
    m.set_parent_many([1, 3], 4)
    assert [m.previous_sibling(row) for row in (1, 2)] == [NIL, NIL]
    m.set_parent_many([1, 3], NIL)
    assert (m.next_sibling(1), m.previous_sibling(3)) == (NIL, NIL)
    m.set_parent_many([2, 3], 4)
    assert [m.previous_sibling(row) for row in (1, 2)] == [NIL, NIL]


def test_who_moves_to_where_an_orphan_was_keeps_its_parent(package: ModuleType) -> None:
    m = package.Root8Manager()
    m.create_many(6)
    m.deactivate_many([4, 5])
    m.set_parent_many([3, 5], [0, 1])
    m.destroy_many([0])  # its child, the last active row, comes here, and the last row there
    assert m.data.parent.tolist() == [NIL, NIL, NIL, 1, NIL]
    check_children(m, 1, [3])


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
            refuses(RuntimeError, "NerveManager", call)
        successor = world.entities.create()
        assert successor & 0xFFFF_FFFF == es[0] & 0xFFFF_FFFF
        refuses(RuntimeError, "NerveManager", world.limb.create, successor)
        refuses(RuntimeError, "NerveManager", world.limb.create_many, [successor])
        assert len(world.limb) == 4
    assert world.entities.alive_many(es[1:]).all()
    assert world.limb.parent(world.limb.create(successor)) == NIL
    assert not world.entities.alive_many(es).any()
    assert world.entities.alive_many(nerve).all()


def test_who_may_not_die_keeps_all(world: Any) -> None:
    es = body(world, world.limb, 3, limb={})
    limbs, listener = world.limb, DespawnListener(world.entities)
    row = limbs.lookup(es[0])
    listener._locks = 1
    calls = (partial(limbs.destroy, row), partial(limbs.destroy_many, [row]), limbs.clear)
    for call in (*calls, partial(limbs.remove, es[0])):
        refuses(RuntimeError, "locked", call)
    assert len(limbs) == 3
    limbs.remove(es[2])  # no entity dies of this
    listener._locks = 0
    limbs.remove(es[0])
    assert world.entities.alive_many(es).tolist() == [True, False, True]


def test_the_dead_die_of_nothing(world: Any) -> None:
    es = body(world, world.limb, 2, limb={})
    world.destroy(es[1])
    listener = DespawnListener(world.entities)
    listener._locks = 1
    world.limb.remove(es[0])
    assert (len(world.limb), listener.dead) == (0, [])


def test_in_callbacks_nobody_is_asked_yet(world: Any) -> None:
    es = body(world, world.limb, 2, limb={})
    other, listener = world.entities.create(), DespawnListener(world.entities)

    def remove(dead: Any) -> None:
        if other in dead:
            listener._locks = 1  # as while a manager notifies its callbacks
            world.limb.remove(es[0])
            listener._locks = 0

    world.entities.on_destroy(remove)
    world.destroy(other)
    assert world.entities.alive_many(es).tolist() == [True, False]


def test_a_parent_that_makes_room_is_refused(world: Any) -> None:
    leaves = world.leaf
    ids = leaves.create_many(4)
    version = leaves.version
    first, *others, last = leaves.resolve_many(ids).tolist()
    refuses(IndexError, "make room", leaves.create, parent=first)
    refuses(IndexError, "make room", leaves.create_many, 2, parents=others)
    assert leaves.version == version
    child = leaves.resolve(leaves.create(parent=last))
    assert leaves.parent(child) == leaves.resolve(ids[3])
    new = leaves.create_many(2, parents=leaves.resolve(ids[3]))
    children = leaves.children(leaves.resolve(ids[3])).tolist()
    assert children[-2:] == leaves.resolve_many(new).tolist()


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


def test_orphans_become_roots_where_rows_move_at_once(package: ModuleType) -> None:
    for seed in range(60):
        random, entities = Random(seed), package.EntityManager()
        count = random.randrange(4, 9)
        m, es = package.Root3Manager(entities), entities.create_many(count).tolist()
        m.create_many(es)
        above = {k: random.randrange(k) for k in range(1, count) if random.random() < 0.85}
        for k, parent in above.items():
            m.set_parent(k, parent)
        gone = sorted(random.sample(range(count), random.randrange(2, count)))
        m.destroy_many(gone)
        for k in {*range(count)} - {*gone}:
            stays = k in above and above[k] not in gone
            assert m.parent(m.lookup(es[k])) == (m.lookup(es[above[k]]) if stays else NIL)
