"""Rings among others: spawns, groups, callbacks, growth, and entities that are their own oldest."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import pytest
from ecsgen_runtime.base.errors import CapacityError
from ecsgen_testing.subject import refuses

from tests.support.manager_state import wear_out
from tests.support.world_package import world_package

SCHEMA = """
component: Crowd
ring: 4
release: true
fields: {a: f64}
---
component: Line
ring: 3
fields: {b: f64}
---
component: Near
ring: 3
fields: {c: f64}
---
component: Trail
ring: 3
instances: many
fields: {d: f64}
---
component: Log
owner: none
ring: 2
release: true
hierarchy: {orphans: destroy}
fields: {e: f64}
---
component: Twig
ring: 4
hierarchy: {orphans: destroy}
fields: {f: f64}
---
component: Leaf
ring: 4
hierarchy: {orphans: die}
---
component: Acorn
fields: {g: f64}
---
component: Bell
destroy: callback
---
component: Exact
ring: 64
ids: true
growth: {reserve: 64}
---
component: Loop
owner: none
ring: 64
fields: {g: f64}
---
world: Rings
entity: {min_free: 0}
groups: {pair: [Line, Near]}
"""


@pytest.fixture(scope="module")
def package() -> ModuleType:
    return world_package(SCHEMA, "rings")


@pytest.fixture
def world(package: ModuleType) -> Any:
    return package.Rings()


@pytest.mark.parametrize("spawns", [True, False])
def test_all_that_are_too_many_go_at_once(world: Any, spawns: bool) -> None:
    """The next oldest one, too, though the descendant of the first would make room for all."""
    m = world.twig
    m.create_many(world.entities.create_many(4), f=range(4))
    m.set_parent(3, 0)
    if spawns:
        world.spawn(2, twig={"f": [10.0, 11.0]})
    else:
        m.create_many(world.entities.create_many(2), f=[10, 11])
    assert m.data.f[m.by_age()].tolist() == [2, 10, 11]


def test_a_spawn_evicts_the_oldest(world: Any) -> None:
    old = world.spawn(3, crowd={})
    new = world.spawn(2, crowd={}, line={})
    assert list(world.crowd.data.entity[world.crowd.by_age()]) == [*old[1:], *new]
    assert len(world.entities) == 5
    assert list(world.line) == new.tolist()


def test_a_spawn_of_too_many_creates_nothing(world: Any) -> None:
    world.spawn(3, crowd={}, line={})
    before = [(m.version, m.capacity) for m in (world.crowd, world.line, world.trail)]
    refuses(MemoryError, "LineManager: 4 instances", world.spawn, 4, trail={}, crowd={}, line={})
    assert [(m.version, m.capacity) for m in (world.crowd, world.line, world.trail)] == before
    assert len(world.entities) == 3


def test_callbacks_may_fill_a_ring_that_has_made_room(world: Any) -> None:
    world.spawn(4, crowd={})
    others = world.spawn(3)
    lines = world.line
    world.crowd.on_release(lambda rows: lines.create_many(others[~lines.has_many(others)][:2]))
    late = world.spawn(2, line={}, crowd={}, near={})
    assert len(lines) == 3
    assert lines.has_many(late).all()
    assert len(world.crowd) == 4


def test_rows_of_a_group_make_room(world: Any) -> None:
    es = world.spawn(3, line={"b": [0, 1, 2]}, near={"c": [0, 1, 2]})
    (new,) = world.spawn(1)
    row = world.near.create(new, c=3.0)
    assert (world.near.c(row), len(world.pair)) == (3.0, 2)
    assert not world.near.has(es[0])
    world.line.create(new, b=3.0)
    assert len(world.pair) == 3
    assert world.line.data.entity.tolist() == world.near.data.entity.tolist()


def test_an_entity_may_drive_itself_out(world: Any) -> None:
    first, other = world.spawn(2).tolist()
    trail = world.trail
    trail.create_many([first, other, first], d=[0, 1, 2])
    trail.create(first, d=3)
    assert [trail.d(row) for row in trail.instances(first)] == [2, 3]
    trail.create_many([first, first], d=[4, 5])
    assert [trail.d(row) for row in trail.instances(first)] == [3, 4, 5]
    assert not trail.has(other)


def test_the_oldest_takes_its_descendants_along(package: ModuleType) -> None:
    log = package.LogManager()
    parent, child = log.create(e=0), log.create(e=1)
    log.set_parent(log.resolve(child), log.resolve(parent))
    seen: list[int] = []
    log.on_release(lambda rows: seen.extend(rows.tolist()))
    new = log.create(e=2)
    assert seen == [0, 1]
    assert list(log) == [new]


def test_failing_callbacks_stop_no_creation(package: ModuleType) -> None:
    log = package.LogManager()
    log.create_many(2)

    def fail(rows: object) -> None:
        raise ZeroDivisionError

    log.on_release(fail)
    refuses(ExceptionGroup, log.create, e=7)
    refuses(ExceptionGroup, log.create_many, 1, e=8)
    assert log.data.e[log.by_age()].tolist() == [7, 8]


@pytest.mark.parametrize("count", [1, 3])
def test_worn_out_ids_make_no_room(package: ModuleType, count: int) -> None:
    loop = package.LoopManager()
    loop.create_many(64)
    worn: list[int] = []
    for _ in range(66 // count):
        rows = loop.by_age()[:count].tolist()
        wear_out(loop, rows)
        worn += loop.id_of_many(rows).tolist()
        loop.create() if count == 1 else loop.create_many(count)
    slots = {id & 0xFFFF_FFFF for id in loop}
    assert not slots & {id & 0xFFFF_FFFF for id in worn}
    assert (len(loop), loop.capacity) == (64, 192 if count == 1 else 256)


@pytest.mark.parametrize("count", [2, 32, 64])
def test_a_ring_that_is_nearly_full_does_not_grow(package: ModuleType, count: int) -> None:
    loop = package.LoopManager()
    loop.create_many(63)
    loop.create_many(count)
    assert (len(loop), loop.capacity) == (64, 64)


def test_a_ring_as_large_as_its_reserve(world: Any) -> None:
    es = world.spawn(64, exact={})
    buffer = world.exact.data.buffer
    (new,) = world.spawn(1)
    world.exact.create(new)
    world.exact.create_many(es[:1])
    world.spawn(64, exact={})
    assert len(world.exact) == world.exact.capacity == 64
    assert world.exact.data.buffer is buffer


def test_a_ring_that_doubles_does_not_outgrow_itself(world: Any) -> None:
    line = world.line
    for _ in range(100):
        world.spawn(3, line={})
    line.create_many(world.spawn(3))
    assert (len(line), line.capacity) == (3, 64)


def heirs(world: Any, es: Any) -> Any:
    """Destroy entities, and return others with the same indices."""
    world.destroy_many(es)
    return world.spawn(len(es))


def state(manager: Any) -> tuple[Any, ...]:
    parents = [manager.parent(row) for row in range(len(manager))]
    return list(manager), manager.by_age().tolist(), parents, manager.version


def test_a_parent_that_would_go(world: Any) -> None:
    m = world.twig
    es = world.spawn(4, twig={"f": range(4)})
    m.set_parent(3, 2)
    successors = heirs(world, es[:1])
    before = state(m)
    with pytest.raises(IndexError, match="row 1 can't be a parent, for it goes to make room"):
        m.create_many([*successors, *world.spawn(1)], parents=1)
    assert state(m) == before
    m.create_many([*successors, *world.spawn(1)], parents=3, f=[10, 11])
    assert m.data.f[m.by_age()].tolist() == [2, 3, 10, 11]


def test_rows_of_the_dead_make_room_with_all_below_them(world: Any) -> None:
    m = world.twig
    es = world.spawn(4, twig={"f": range(4)})
    m.set_parent(3, 2)
    rows = m.create_many([*heirs(world, es[2:3]), *world.spawn(1)], f=[10, 11])
    assert m.data.f[m.by_age()].tolist() == [0, 1, 10, 11]
    assert rows.tolist() == [2, 3]


@pytest.mark.parametrize("spawns", [True, False])
def test_deaths_that_are_refused(world: Any, spawns: bool) -> None:
    """An orphan would have to die, which a locked manager does not allow."""
    leaf, acorn = world.leaf, world.acorn
    es = world.spawn(4, leaf={}, acorn={})
    leaf.set_parent(2, 1)
    world.destroy(es[0])
    heirs = [] if spawns else world.spawn(2)
    before = state(leaf), list(acorn), len(world)
    create = partial(world.spawn, 2, acorn={}, leaf={})
    if not spawns:
        create = partial(leaf.create_many, heirs)
    with world.bell.locked(), pytest.raises(RuntimeError, match="BellManager"):
        create()
    assert (state(leaf), list(acorn), len(world)) == before
    leaf.create_many(world.spawn(2) if spawns else heirs)
    assert not world.entities.alive(es[2])


def test_a_kernel_that_spawns_more_than_stay_spawns_none() -> None:
    """As `create_many` of so many; those before are still there."""
    text = "component: Ping\nfields: {a: i64}\n---\ncomponent: Echo\nring: 3\nowner: none\n"
    text += "fields: {of: i64}\n---\nworld: Cave\nkernels: {shout: {over: Ping, steps: "
    text += '["spawn(Echo(of=Ping.a), where=Ping.a > 0)", Ping.a = 5]}}\n'
    cave = world_package(text, "ring_of_echoes").Cave()
    cave.spawn(4, ping={"a": [0, 1, 2, 3]})
    cave.echo.create(of=7)
    cave.shout()
    assert sorted(cave.echo.data.of.tolist()) == [1, 2, 3]
    refuses(CapacityError, "4 instances at once", cave.shout)
    assert sorted(cave.echo.data.of.tolist()) == [1, 2, 3]
    assert cave.ping.data.a.tolist() == [5] * 4
