"""How queries are joined and gathered: in blocks, from whichever manager, in any order of rows."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.bulk import Sizes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.soak import examples
from tests.support.world_package import world_package
from tests.world.test_world_queries import change, check, everything, new_world, shuffled

NIL = 0xFFFF_FFFF
SMALL = {
    "joined": 5,
    "scattered": 2,
    "near": 8,
    "ordered": 4,
    "samples": 2,
    "sample": 3,
}
ORDERED = """
world: Ordered
queries: {movers: {all: [Place, Speed], optional: [Mark]}}
kernels:
  move:
    over: movers
    args: {dt: f32}
    steps: ["Place.at += Speed.value * dt"]
  stop:
    over: movers
    steps: ["Place.cell = 3", "Speed.value = Place.at"]
---
component: Place
fields: {at: "f32[3]", box: "f32[3,4]", name: "str[9]", tag: {type: object}, cell: "i16[4]"}
---
component: Speed
fields: {value: "f32[3]"}
---
component: Mark
fields: {at: "f32[3]"}
"""


@pytest.fixture
def small_blocks() -> Iterator[None]:
    """What else takes a million entities happens with a dozen."""
    with Sizes.of(**SMALL):
        yield


def ordered() -> Any:
    return world_package(ORDERED, "ordered_game").Ordered()


def check_columns(world: Any) -> None:
    """Reading finds the cells of the rows, and writing changes these alone."""
    query = world.bodies
    rows = query.rows()
    for field in ("place", "speed", "tag"):
        wanted = getattr(world.body.data, field)[rows.body]
        assert getattr(query.body, field).tolist() == wanted.tolist()
    place = world.body.data.place.copy()
    query.body.place += 1
    place[rows.body] += 1
    assert world.body.data.place.tolist() == place.tolist()
    query.direct.place += 1


@pytest.mark.usefixtures("small_blocks")
@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(0, 1 << 32), st.integers(1, 25))
def test_equal_to_the_definition_in_small_blocks(seed: int, changes: int) -> None:
    world, random = new_world(), Random(seed)
    for _ in range(changes):
        change(world, random)
        check(world)
        check_columns(world)


def scattered(count: int, share: int, seed: int = 0) -> tuple[Any, Any]:
    """Two managers in different orders, one with a part of the entities; and where they are."""
    world, draw = ordered(), np.random.default_rng(seed)
    at = draw.random((count, 3)).astype(np.float32)
    es = world.spawn(count, place={"at": at})
    world.place.data.box = draw.random((count, 3, 4))
    world.place.data.name = [f"n{k}" for k in range(count)]
    world.place.data.tag = list(range(count))
    moving = draw.permutation(es)[: count * share // 100]
    world.speed.create_many(moving, value=draw.random((len(moving), 3)))
    world.mark.create_many(moving[::2], at=draw.random((len(moving[::2]), 3)))
    for manager in (world.place, world.speed):
        manager.reorder(draw.permutation(len(manager)))
    return world, moving


def check_scattered(world: Any, moving: Any) -> None:
    query = world.movers
    rows = query.rows()
    assert np.sort(rows.entity).tolist() == np.sort(moving).tolist()
    assert (world.place.data.entity[rows.place] == rows.entity).all()
    assert (world.speed.data.entity[rows.speed] == rows.entity).all()
    assert (rows.mark == world.mark.lookup_many(rows.entity)).all()
    for _ in range(2):  # what is kept is right, too
        for field in ("at", "box", "name", "tag", "cell"):
            wanted = getattr(world.place.data, field)[rows.place]
            found = getattr(query.place, field)
            assert found.dtype == wanted.dtype
            assert (found == wanted).all()
        assert (query.speed.value == world.speed.data.value[rows.speed]).all()
    present = rows.mark != NIL
    assert (query.mark.at[present] == world.mark.data.at[rows.mark[present]]).all()
    assert not query.mark.at[~present].any()

    before = world.place.data.at.copy()
    query.place.at += query.speed.value
    before[rows.place] += world.speed.data.value[rows.speed]
    assert (world.place.data.at == before).all()
    for dt in (2, 4):  # with what is kept, too
        before[rows.place] += world.speed.data.value[rows.speed] * np.float32(dt)
        world.move(dt)
        assert (world.place.data.at == before).all()
    world.stop()
    assert (world.speed.data.value[rows.speed] == before[rows.place]).all()
    wanted = np.zeros(len(world.place), np.int16)
    wanted[rows.place] = 3
    assert (world.place.data.cell == wanted[:, None]).all()
    world.place.data.cell = 0


@pytest.mark.usefixtures("small_blocks")
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(1, 40), st.sampled_from([5, 30, 60, 100]), st.integers(0, 1 << 32))
def test_rows_in_any_order(count: int, share: int, seed: int) -> None:
    world, moving = scattered(count, share, seed)
    check_scattered(world, moving)
    gone = moving[::4]
    world.speed.remove_many(gone)
    check_scattered(world, np.setdiff1d(moving, gone))


@pytest.mark.parametrize("share", [10, 50, 100])
def test_many_rows_in_any_order(share: int) -> None:
    """As many as it takes without small blocks."""
    world, moving = scattered(140_000, share)
    check_scattered(world, moving)
    world.speed.remove_many(moving[:1000])
    check_scattered(world, moving[1000:])


@pytest.mark.parametrize(("share", "walks_larger"), [(100, False), (60, True), (30, False)])
def test_the_larger_of_two_in_different_orders_is_walked(share: int, walks_larger: bool) -> None:
    """So are its columns read and written in the order of memory, unless it is much larger."""
    world, _ = scattered(70_000, share)
    rows = world.movers.rows()
    assert (np.diff(rows.place) > 0).all() == (walks_larger or share == 100)
    assert (np.diff(rows.speed) > 0).all() == (share == 30)


def test_the_smaller_is_walked_where_both_are_in_one_order() -> None:
    world = ordered()
    es = world.spawn(70_000, place={})
    world.speed.create_many(es[::2])
    rows = world.movers.rows()
    assert rows.speed.tolist() == list(range(35_000))
    assert rows.place.tolist() == list(range(0, 70_000, 2))


def test_entities_over_several_blocks_are_slices() -> None:
    world = ordered()
    es = world.spawn(200_000, place={}, speed={})
    assert world.movers._join.match().rows[:2] == [slice(0, 200_000)] * 2
    world.destroy_many(es[150_000:])
    assert world.movers._join.match().rows[:2] == [slice(0, 150_000)] * 2
    world.destroy(es[70_000])
    assert len(world.movers) == 149_999
    assert not isinstance(world.movers._join.match().rows[0], slice)


def test_the_dead_are_missed_when_a_condition_no_longer_hides_them() -> None:
    """Whoever is known to be alive is not asked again, those that were hidden are."""
    world, es = everything(6)
    world.frozen.create_many(es[2:4])
    world.destroy(es[2])
    for e in es[4:]:
        assert len(world.movers) == 4
        world.named.remove(e)  # changes the query, and nobody dies
    world.frozen.destroy(world.frozen.lookup(es[2]))
    assert world.movers.rows().entity.tolist() == [es[0], es[1], *es[4:]]
    world.frozen.destroy(world.frozen.lookup(es[3]))
    assert sorted(world.movers.rows().entity.tolist()) == sorted({*es.tolist()} - {int(es[2])})


def test_the_rows_of_the_dead_are_not_those_of_who_has_their_index_now() -> None:
    world = ordered()
    es = world.spawn(3000, place={})
    world.destroy_many(es[:2000])
    new = world.entities.create_many(2000)
    assert np.isin(new & 0xFFFF_FFFF, es & 0xFFFF_FFFF).any()
    for part in np.array_split(new, 4):
        world.speed.create_many(part)  # changes the query, and nobody dies
        assert len(world.movers) == 0
    world.speed.create_many(es[2000:])
    assert np.sort(world.movers.rows().entity).tolist() == es[2000:].tolist()
    world.collect()
    world.place.create_many(new[::2])
    world.speed.remove_many(es[2000:])
    assert np.sort(world.movers.rows().entity).tolist() == np.sort(new[::2]).tolist()


def test_an_index_behind_the_map_has_no_row() -> None:
    world = ordered()
    world.spawn(2, place={})
    es = world.spawn(5000, speed={})
    for e in es[:3]:
        assert len(world.movers) == 0
        world.speed.remove(e)
    world.place.create(es[100])
    assert world.movers.rows().entity.tolist() == [es[100]]


def count_calls(monkeypatch: pytest.MonkeyPatch, kind: type, name: str, asked: list[int]) -> None:
    """Note how many entities each call is about."""
    original = getattr(kind, name)

    def counted(self: Any, es: Any, /) -> Any:
        asked.append(len(es))
        return original(self, es)

    monkeypatch.setattr(kind, name, counted)


def test_owners_are_not_looked_at_where_nobody_died(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second time on, all are known to be alive: until somebody dies."""
    world, _ = shuffled(300)
    asked: list[int] = []
    count_calls(monkeypatch, type(world.entities), "alive_many", asked)
    count_calls(monkeypatch, type(world.body), "lookup_many", asked)

    def times() -> int:
        """How many entities are asked about by the next join."""
        world.named.ensure(next(iter(world.movers)).entity)
        world.body.reorder(np.roll(np.arange(len(world.body)), 1))
        asked.clear()
        len(world.movers)
        return sum(asked)

    assert times() >= 200
    assert times() < 10
    assert times() < 10
    world.entities.destroy(world.movers.rows().entity[0])
    world.collect()
    assert times() >= 200
