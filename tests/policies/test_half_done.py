"""Callbacks that change things while a creation is half done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.held import snapshot
from tests.support.world_package import world_package

SCHEMA = """
component: Held
fields: {x: i64, thing: object}
release: true
---
component: Slab
fields: {x: i64}
lookup: direct
release: true
---
component: Lots
fields: {x: i64}
instances: many
release: true
---
component: Flat
fields: {x: i64}
release: true
---
component: Chunked
fields: {x: i64}
---
world: Half
entity: {min_free: 0}
archetypes: {chunk: 1024, components: [Chunked]}
"""
package = world_package(SCHEMA, "half_done")
KINDS = ["held", "slab", "lots"]


def world() -> Any:
    return package.Half()


def displaced(w: Any, kind: str, count: int = 3) -> list[int]:
    """Return new entities that have the indices of dead ones with rows."""
    m = getattr(w, kind)
    old = w.entities.create_many(count)
    m.create_many(old, x=range(count))
    w.entities.destroy_many(old)
    new: list[int] = w.entities.create_many(count).tolist()
    assert len(w.entities) >= count
    return new


def create(m: Any, entities: list[int], many: bool) -> None:
    if many:
        m.create_many(entities, x=7)
    else:
        m.create(entities[0], x=7)


def agree(m: Any) -> None:
    """Rows, owners and map agree, and nobody has two where one is allowed."""
    owners = [e for e in m.data.entity.tolist() if e]
    if not hasattr(m, "first"):
        assert len(set(owners)) == len(owners)
    for row, owner in enumerate(m.data.entity.tolist()):
        if owner:
            assert row in [*m.instances(owner)] if hasattr(m, "first") else m.lookup(owner) == row
    assert not m._is_locked()
    assert m._dispatch.depth == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("many", [False, True])
def test_things_are_created_elsewhere_for_the_new_entity(kind: str, many: bool) -> None:
    w = world()
    new = displaced(w, kind)
    m = getattr(w, kind)

    def callback(rows: Any) -> None:
        w.flat.create(new[0])
        w.archetypes.add(new[0], package.Chunked)

    subscription = m.on_release(callback)
    del subscription
    create(m, new[:1], many)
    assert w.flat.has(new[0])
    assert w.archetypes.has(new[0], package.Chunked)
    assert m.has(new[0])
    agree(m)
    agree(w.flat)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("many", [False, True])
def test_the_same_component_cannot_be_created_meanwhile(kind: str, many: bool) -> None:
    w = world()
    new = displaced(w, kind)
    m = getattr(w, kind)
    m.on_release(lambda rows: m.create(new[0]))
    with pytest.raises(ExceptionGroup) as caught:
        create(m, new[:1], many)
    assert [type(e).__name__ for e in caught.value.exceptions] == ["StructureLockedError"]
    assert m.has(new[0])
    agree(m)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("many", [False, True])
def test_the_new_entity_is_destroyed_when_it_is_done(kind: str, many: bool) -> None:
    w = world()
    new = displaced(w, kind)
    m = getattr(w, kind)
    m.on_release(lambda rows: w.entities.destroy(new[0]))
    create(m, new[:1], many)
    assert not w.entities.alive(new[0])
    agree(m)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("many", [False, True])
def test_rooms_elsewhere_shrink_and_grow(kind: str, many: bool) -> None:
    w = world()
    new = displaced(w, kind)
    m = getattr(w, kind)
    w.flat.create_many(w.entities.create_many(100))

    def callback(rows: Any) -> None:
        w.flat.clear()
        w.flat.shrink_to_fit()
        w.flat.reserve(1000)
        w.entities.create_many(500)

    m.on_release(callback)
    create(m, new, many)
    assert m.has(new[0])
    agree(m)
    agree(w.flat)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("many", [False, True])
def test_what_all_of_them_raise_comes_in_one_flat_group_behind_everything(
    kind: str, many: bool
) -> None:
    w = world()
    new = displaced(w, kind)
    m = getattr(w, kind)
    doomed = w.entities.create()
    w.flat.create(doomed)

    def fail(rows: Any) -> None:
        w.entities.destroy(doomed)
        raise ValueError

    m.on_release(fail)
    w.flat.on_release(fail)
    w.entities.on_destroy(lambda es: 1 / 0)
    m.on_release(lambda rows: w.flat.remove(doomed))
    with pytest.raises(ExceptionGroup) as caught:
        create(m, new[:1], many)
    kinds = [type(e) for e in caught.value.exceptions]
    assert kinds == [ValueError, ValueError, ZeroDivisionError]
    assert m.has(new[0])
    assert m.lookup(new[0]) == m.require(new[0])
    assert not w.entities.alive(doomed)
    agree(m)
    agree(w.flat)


@pytest.mark.parametrize("kind", KINDS)
def test_owners_that_are_another_managers_column_are_copied(kind: str) -> None:
    w = world()
    new = displaced(w, kind)
    w.flat.create_many(new)
    m = getattr(w, kind)
    m.on_release(lambda rows: w.flat.destroy_many([0]) if len(w.flat) == 3 else None)
    m.create_many(w.flat.data.entity, x=w.flat.data.x)
    assert sorted(m.data.entity[m.data.entity > 0].tolist()) == sorted(new)
    agree(m)


@pytest.mark.parametrize("kind", KINDS)
def test_arguments_that_a_callback_writes_are_copied(kind: str) -> None:
    w = world()
    new = displaced(w, kind)
    owners, values = np.array(new, np.uint64), np.arange(10, 13)
    m = getattr(w, kind)

    def callback(rows: Any) -> None:
        owners[:] = owners[::-1].copy()
        values[:] = 0

    m.on_release(callback)
    m.create_many(owners, x=values)
    assert [m.x(m.require(e)) for e in new] == [10, 11, 12]
    agree(m)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_callbacks_are_given_are_read_only(kind: str) -> None:
    w = world()
    m = getattr(w, kind)
    m.create_many(w.entities.create_many(9))
    kept = []

    def callback(rows: Any) -> None:
        kept.append(rows)
        rows += 1

    m.on_release(callback)
    given = np.array([1, 4])
    with pytest.raises(ExceptionGroup):
        m.destroy_many(given)
    with pytest.raises(ExceptionGroup):
        m.destroy(m.data._used_rows()[0])
    assert given.tolist() == [1, 4]
    assert not np.shares_memory(kept[0], given)
    assert len(m) == 6
    assert snapshot(m)
    agree(m)
