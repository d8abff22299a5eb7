"""Spawning: what is half done meanwhile, what there is room for, and whose values count."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.callback_package import package
from tests.support.query_world import COUNT, together
from tests.support.world_package import world_package

DuplicateInstanceError = package.DuplicateInstanceError
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
    rows = {name: getattr(w, name).data.entity.tolist().count(entity) for name in MANAGERS}
    rows["chunks"] = [e for c in w.archetypes.chunks() for e in c.entity.tolist()].count(entity)
    return {name: count for name, count in rows.items() if count}


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
        self._mark_broken()
        raise MemoryError

    monkeypatch.setattr(type(w.lots), "_append_many", fail)
    with pytest.raises(MemoryError):
        w.spawn(2, aside={}, lots={}, slab={}, chunked={})
    assert len(w.entities) == len(w.aside) == len(w.slab) == len(w.archetypes) == 0


SCHEMA = """
component: Apple
fields: {a: f64}
---
component: Basket
fields: {b: f64}
growth: {reserve: 64}
---
component: Cellar
lookup: direct
fields: {c: f64}
growth: {reserve: 64}
---
component: Zebra
ids: true
fields: {z: f64}
---
world: Full
entity: {index_bits: 7, generation_bits: 8, min_free: 0}
"""


@pytest.fixture(scope="module")
def room_package() -> ModuleType:
    return world_package(SCHEMA, "spawn_room")


def state(world: Any) -> list[tuple[int, int, int, int]]:
    managers = world.apple, world.basket, world.cellar, world.zebra
    return [(len(m), m.capacity, m.version, m.nbytes) for m in managers]


@pytest.mark.parametrize("full", ["basket", "cellar"])
def test_managers_that_can_grow_do_not_if_another_is_full(
    room_package: ModuleType, full: str
) -> None:
    world = room_package.Full()
    world.spawn(60, apple={}, basket={}, cellar={}, zebra={})
    before = state(world)
    with pytest.raises(MemoryError, match="64 rows are all"):
        world.spawn(10, apple={}, zebra={}, **{full: {}})
    assert state(world) == before
    assert len(world.entities) == 60


@pytest.mark.parametrize("values", [{}, {"a": [1.0, 2.0]}])
def test_rows_of_the_dead_stay_if_too_few_indices_are_left(
    room_package: ModuleType, values: dict[str, Any]
) -> None:
    world = room_package.Full()
    es = world.spawn(128, apple={"a": range(128)}).tolist()
    world.destroy(es[5])
    before = state(world), world.apple.data.a.tolist()
    with pytest.raises(MemoryError, match="2 entities wanted, 1 indices left"):
        world.spawn(2, apple=values)
    assert (state(world), world.apple.data.a.tolist()) == before


def test_no_manager_grows_if_no_index_is_left(room_package: ModuleType) -> None:
    world = room_package.Full()
    before = state(world)
    with pytest.raises(MemoryError):
        world.spawn(129, apple={}, zebra={})
    assert state(world) == before


WRONG = r"Place\.plain: wanted 2 objects .*, not 3; .*write \[x\] \* 2"


def test_lists_of_objects_are_one_per_row() -> None:
    world = together()
    es = world.entities.create_many(2)
    three = ["a", "b", "c"]
    for wrong in (three, np.array(three, object), [[1], [2], [3]], np.zeros((3, 2))):
        with pytest.raises(ValueError, match=WRONG):
            world.place.create_many(es, plain=wrong)
        with pytest.raises(ValueError, match=WRONG):
            world.spawn(2, place={"plain": wrong})
        assert len(world.place) == COUNT
    world.place.create_many(es, plain=[three] * 2)
    assert all(cell is three for cell in world.place.data.plain[COUNT:])
    with pytest.raises(ValueError, match=r"Place\.plain: wanted 8"):
        world.place.data.plain = three
    with pytest.raises(ValueError, match=r"Place\.plain: wanted 6"):
        world.movers.place.plain = three
    for values in (("a", "b", "c"), {"a": 1}, "abc", None, np.array(5), {1, 2}):
        world.place.data.plain = values
        assert all(cell is values for cell in world.place.data.plain)
    (single,) = world.spawn(1, place={"plain": ["sword"]})
    assert world.place.plain(world.place.lookup(single)) == "sword"
    with pytest.raises(ValueError, match="wanted 0 objects"):
        world.spawn(0, place={"plain": three})


def test_lists_of_objects_in_archetypes() -> None:
    world = together()
    heat = world.burning.ALL[0]
    for wrong in (["a", "b", "c"], np.arange(3)):
        with pytest.raises(ValueError, match=r"Heat\.source: wanted 2 objects"):
            world.archetypes.create([heat], 2, heat={"source": wrong})
        with pytest.raises(ValueError, match=r"Heat\.source: wanted 2 objects"):
            world.spawn(2, heat={"source": wrong})
    sources = ["a", "b"]
    es = world.archetypes.create([heat], 2, heat={"source": sources})
    assert [world.archetypes.get(e, heat).source for e in es] == sources
    world.archetypes.set(es[0], heat, source=sources)
    assert world.archetypes.get(es[0], heat).source is sources
    (chunk,) = world.burning.chunks()
    with pytest.raises(ValueError, match=r"Heat\.source: wanted 2 objects"):
        chunk.heat.source = ["a"]
