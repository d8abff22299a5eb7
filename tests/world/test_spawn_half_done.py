"""Callbacks that change things while a spawn is half done."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tests.support.world_package import world_package

SCHEMA = """
component: Held
fields: {x: i64}
release: true
---
component: Slab
fields: {x: i64}
lookup: direct
release: true
---
component: Flat
fields: {x: i64}
release: true
---
component: Lots
fields: {x: i64}
instances: many
---
component: Aside
fields: {x: i64}
---
component: Chunked
fields: {x: i64}
---
component: Other
fields: {x: i64}
---
world: Half
entity: {min_free: 0}
groups: {pair: [Flat, Aside]}
archetypes: {chunk: 1024, components: [Chunked, Other]}
"""
package = world_package(SCHEMA, "spawn_half_done")
DuplicateInstanceError = import_module("spawn_half_done").DuplicateInstanceError
MANAGERS = ("held", "slab", "flat", "lots", "aside")
KINDS = ("held", "slab")


def displacing(kind: str, count: int = 2) -> Any:
    """Return a world in which as many new entities displace rows of dead ones."""
    w = package.Half()
    w.flat.create_many(w.entities.create_many(5), x=range(5))
    w.destroy_many(w.spawn(count, **{kind: {}}))
    return w


def during(w: Any, kind: str, callback: Callable[[list[int]], object]) -> None:
    """Call back once, with the entities that are about to be spawned, as rows make way."""
    old = set(w.entities)
    seen: list[Any] = []

    def called(_: Any) -> None:
        if not seen:
            seen.append(None)
            callback([e for e in w.entities if e not in old])

    getattr(w, kind).on_release(called)


def rows_of(w: Any, entity: int) -> dict[str, int]:
    """Return how many rows an entity has, wherever it has some."""
    found = {name: getattr(w, name).data.entity.tolist().count(entity) for name in MANAGERS}
    found["chunks"] = [e for c in w.archetypes.chunks() for e in c.entity.tolist()].count(entity)
    return {name: count for name, count in found.items() if count}


def check_failed(w: Any, spawn: Callable[[], object]) -> None:
    """A failing spawn leaves no rows of entities that never lived, and none of their handles."""
    alive = list(w.entities)
    with pytest.raises(DuplicateInstanceError):
        spawn()
    assert list(w.entities) == alive
    for new in w.entities.create_many(4).tolist():
        assert rows_of(w, new) == {}
        assert w.components(new) == ()
    assert w.entities.dispatch.depth == 0
    assert not any(getattr(w, name)._is_locked() for name in MANAGERS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["flat", "aside"])
def test_the_same_component_is_created_meanwhile(kind: str, name: str) -> None:
    w = displacing(kind)
    during(w, kind, lambda new: getattr(w, name).create(new[-1], x=9))
    check_failed(w, lambda: w.spawn(2, **{kind: {}, name: {"x": 1}, "lots": {}, "chunked": {}}))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", ["Chunked", "Other"])
def test_a_row_in_chunks_is_created_meanwhile(kind: str, row: str) -> None:
    w = displacing(kind)
    during(w, kind, lambda new: w.archetypes.add(new[0], getattr(package, row), x=9))
    check_failed(w, lambda: w.spawn(2, **{kind: {}, "chunked": {}, "lots": {}}))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_nobody_asked_for_go_with_a_failing_spawn(kind: str) -> None:
    w = displacing(kind)

    def create(new: list[int]) -> None:
        w.flat.create_many(new)
        w.lots.create_many([*new, *new])
        w.archetypes.add_many(new, package.Other)
        w.aside.create(new[0])

    during(w, kind, create)
    check_failed(w, lambda: w.spawn(2, **{kind: {}, "aside": {}}))
    assert w.flat.data.x.tolist() == list(range(5))


@pytest.mark.parametrize("kind", KINDS)
def test_other_components_are_created_meanwhile(kind: str) -> None:
    w = displacing(kind)

    def create(new: list[int]) -> None:
        w.lots.create_many(new, x=1)
        w.flat.create_many(new, x=2)
        w.archetypes.add_many(new, package.Other)

    during(w, kind, create)
    for e in w.spawn(2, **{kind: {}, "lots": {"x": 3}, "aside": {}}).tolist():
        assert rows_of(w, e) == {kind: 1, "lots": 2, "flat": 1, "aside": 1, "chunks": 1}
        assert [w.lots.x(row) for row in w.lots.instances(e)] == [1, 3]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_elsewhere_go_while_columns_are_views_of_them(kind: str) -> None:
    w = displacing(kind)
    w.lots.create_many(w.entities.live(), x=8)

    def clear(_: list[int]) -> None:
        w.flat.data.x[:] = -1
        w.flat.clear()
        w.lots.clear()

    during(w, kind, clear)
    x = w.flat.data.x[1:3]
    new = w.spawn(2, **{kind: {"x": x}, "lots": {"x": x}, "flat": {"x": x}, "chunked": {"x": x}})
    for k, e in enumerate(new.tolist(), 1):
        assert rows_of(w, e) == {kind: 1, "lots": 1, "flat": 1, "chunks": 1}
        assert w.archetypes.get(e, package.Chunked).x == k
        assert [getattr(w, m).x(getattr(w, m).require(e)) for m in (kind, "lots", "flat")] == 3 * [
            k
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_that_a_callback_writes_are_copied(kind: str) -> None:
    w = displacing(kind)
    x = np.array([3, 4])
    during(w, kind, lambda _: x.fill(-1))
    new = w.spawn(2, **{kind: {"x": x}, "aside": {"x": x}, "chunked": {"x": x}})
    assert x.tolist() == [-1, -1]
    assert [getattr(w, kind).x(getattr(w, kind).require(e)) for e in new] == [3, 4]
    assert [w.aside.x(w.aside.require(e)) for e in new] == [3, 4]
    assert [w.archetypes.get(e, package.Chunked).x for e in new] == [3, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_the_new_entities_are_destroyed_when_it_is_done(kind: str) -> None:
    w = displacing(kind)
    during(w, kind, lambda new: w.destroy_many(new))
    new = w.spawn(2, **{kind: {}, "aside": {}, "chunked": {}})
    assert not w.entities.alive_many(new).any()
    w.collect()
    for e in new.tolist():
        assert rows_of(w, e) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_spawn_inside_of_a_spawn(kind: str) -> None:
    w = displacing(kind)
    inner: list[Any] = []
    during(w, kind, lambda _: inner.append(w.spawn(3, aside={}, chunked={})))
    outer = w.spawn(2, **{kind: {}, "aside": {}, "chunked": {}})
    assert not np.isin(inner[0], outer).any()
    for e in outer.tolist():
        assert rows_of(w, e) == {kind: 1, "aside": 1, "chunks": 1}
    for e in inner[0].tolist():
        assert rows_of(w, e) == {"aside": 1, "chunks": 1}


def test_a_broken_manager_does_not_keep_a_failing_spawn_from_taking_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    w = package.Half()

    def fail(self: Any, *_: Any) -> None:
        self._break()
        raise MemoryError

    monkeypatch.setattr(type(w.lots), "_append_many", fail)
    with pytest.raises(MemoryError):
        w.spawn(2, aside={}, lots={}, slab={}, chunked={})
    assert len(w.entities) == len(w.aside) == len(w.slab) == len(w.archetypes) == 0
