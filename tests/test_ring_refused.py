"""What a creation that is refused leaves of a ring: everything, the rows of the dead as well."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import pytest

from tests.world_package import world_package

SCHEMA = """
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
world: Rings
entity: {min_free: 0}
"""


@pytest.fixture(scope="module")
def package() -> ModuleType:
    return world_package(SCHEMA, "rings_refused")


def heirs(world: Any, es: Any) -> Any:
    """Let entities die, and return others with the same indices."""
    world.destroy_many(es)
    return world.spawn(len(es))


def state(manager: Any) -> tuple[Any, ...]:
    parents = [manager.parent(row) for row in range(len(manager))]
    return list(manager), manager.by_age().tolist(), parents, manager.version


def test_a_parent_that_would_go(package: ModuleType) -> None:
    world = package.Rings()
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


def test_rows_of_the_dead_make_room_with_all_below_them(package: ModuleType) -> None:
    world = package.Rings()
    m = world.twig
    es = world.spawn(4, twig={"f": range(4)})
    m.set_parent(3, 2)
    rows = m.create_many([*heirs(world, es[2:3]), *world.spawn(1)], f=[10, 11])
    assert m.data.f[m.by_age()].tolist() == [0, 1, 10, 11]
    assert rows.tolist() == [2, 3]


@pytest.mark.parametrize("spawns", [True, False])
def test_deaths_that_are_refused(package: ModuleType, spawns: bool) -> None:
    """An orphan would have to die, which a locked manager does not allow."""
    world = package.Rings()
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
