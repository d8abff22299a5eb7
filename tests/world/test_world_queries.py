"""Queries of the world, and how they join the rows of managers."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.tables.bulk import Tuning
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.soak import examples
from tests.support.state_machines import package_with_tests
from tests.support.world_package import world_package

NIL = 0xFFFF_FFFF
SCHEMA = """
world: Game
entity: {min_free: 3}
queries:
  movers: {all: [Direct, Body], any: [Mesh, Listed], none: [Frozen], optional: [Named]}
  either: {any: [Mesh, Rare, Listed]}
  armed: {all: [Listed, Hashed]}
  bodies: {all: [Body, Hashed], optional: [Listed, Direct]}
  rares: {all: [Rare, Mesh], none: [Direct]}
  alone: {all: [Direct]}
---
enum: Mode
values: [idle, walk]
---
component: Body
fields: {place: "f32[3]", speed: {type: "f32[3]", default: 1}, tag: {type: object}}
---
component: Direct
lookup: direct
fields: {x: f32, place: "f32[2]"}
---
component: Frozen
destroy: manual
---
component: Hashed
lookup: hash
fields: {hp: {type: f32, default: 3}}
---
component: Listed
instances: many
fields: {damage: {type: i16, default: 3}}
---
component: Mesh
destroy: callback
partition: {start: active}
fields: {x: f32}
---
component: Named
cold: indirect
fields: {text: {type: "str[9]", default: none}, mode: Mode, parts: {type: "f32[2]", split: true},
  note: {type: "str[4]", tags: [cold]}}
---
component: Rare
instances: many
lookup: hash
destroy: manual
fields: {y: f64}
"""
package = package_with_tests(SCHEMA, "queried_game")
TestQueries: Any = import_module("queried_game.tests.test_world").TestQueries
"""Compares all queries with the definition, whatever changes, and with few rows as with many."""


def new_world() -> Any:
    return package.Game()


def everything(count: int) -> tuple[Any, Any]:
    world = new_world()
    return world, world.spawn(count, **{name: {} for name in world.MANAGERS if name != "frozen"})


def test_kept_until_something_concerned_changes() -> None:
    world, es = everything(4)
    rows = world.movers.rows()
    world.rare.remove(es[0])
    world.spawn(2)
    world.body.data.place = 5
    assert all(old is new for old, new in zip(rows, world.movers.rows(), strict=True))
    world.named.remove(es[0])
    assert world.movers.rows().named.tolist() == [NIL, 1, 2, 0]
    world.frozen.create(es[1])
    assert len(world.movers) == 3
    world.destroy(es[2])
    assert world.movers.rows().entity.tolist() == [es[0], es[3]]
    assert rows.entity.tolist() == es.tolist()


def test_entities_are_in_a_query_as_in_a_group() -> None:
    world, es = everything(3)
    world.frozen.create(es[0])
    world.destroy(es[1])
    assert [e in world.movers for e in es] == [False, False, True]
    assert [e in world.either for e in es.tolist()] == [True, False, True]
    assert -1 not in world.movers
    assert "rock" not in world.movers


def test_arrays_can_not_be_written_to() -> None:
    world, _ = everything(3)
    for query in ("movers", "either"):
        for array in getattr(world, query).rows():
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def rows_follow(world: Any, query: str, component: str) -> bool:
    """Return True if a query keeps a component's rows as a slice."""
    match = getattr(world, query)._join.match()
    return isinstance(match.rows[TestQueries.queries[query]["all"].index(component)], slice)


def test_entities_in_order_of_creation_are_slices() -> None:
    world, es = everything(8)
    assert rows_follow(world, "movers", "body")
    world.movers.body.place += world.movers.body.speed * 2
    assert world.body.data.place.tolist() == [[2.0] * 3] * 8
    world.destroy_many(es[1:5:2])
    assert not rows_follow(world, "bodies", "body")
    world.collect()
    assert rows_follow(world, "bodies", "body")


def shuffled(count: int) -> tuple[Any, Any]:
    """A world whose managers are in different orders, with holes in the query."""
    world, es = everything(count)
    world.body.reorder(np.random.default_rng(1).permutation(count))
    world.listed.reorder(np.random.default_rng(2).permutation(count))
    world.frozen.create_many(es[::3])
    world.named.remove_many(es[::2])
    return world, es


def test_a_value_may_be_given_for_all_rows() -> None:
    world, _ = shuffled(12)
    query, rows = world.movers, world.movers.rows()
    query.direct.x = 2
    assert world.direct.data.x.sum() == 2 * len(query)
    for cell in (7, (1, 2, 3)):
        query.body.place = cell
        wanted = np.zeros((12, 3))
        wanted[rows.body] = cell
        assert world.body.data.place.tolist() == wanted.tolist()


def test_columns_may_be_assigned_to_each_other() -> None:
    world, _ = shuffled(12)
    query, places = world.movers, world.body.data.place
    places[:] = np.random.default_rng(0).random((12, 3))
    wanted, view = places[: len(query)][::-1].tolist(), places[: len(query)][::-1]
    query.body.place = view
    assert query.body.place.tolist() == wanted
    query.body.speed = query.body.place
    assert query.body.speed.tolist() == wanted


def test_absent_optional_components_have_defaults() -> None:
    world, _ = shuffled(12)
    query, rows = world.movers, world.movers.rows()
    absent = rows.named == NIL
    assert 0 < absent.sum() < len(query)
    query.named.parts_y = np.arange(1, len(query) + 1)
    assert query.named.parts_y.tolist() == [0.0 if no else k + 1.0 for k, no in enumerate(absent)]
    query.named.text = "some"
    assert query.named.text.tolist() == [b"none" if no else b"some" for no in absent]
    query.named.mode = 1
    assert query.named.mode.tolist() == [0 if no else 1 for no in absent]
    assert not hasattr(query.named, "note")  # few rows have a cell of it


def test_one_absent_row_is_no_slice() -> None:
    world = new_world()
    world.spawn(1, body={}, hashed={})
    assert world.bodies.listed.damage.tolist() == [3]
    world.bodies.listed.damage = 5
    assert world.bodies.direct.x.tolist() == [0.0]


def test_an_entity_of_several_rows_is_met_once_with_its_first() -> None:
    world = new_world()
    a, b = world.spawn(2, hashed={}).tolist()
    world.listed.create_many([b, a, b, a])
    rows = world.armed.rows()
    assert dict(zip(rows.entity.tolist(), rows.listed.tolist(), strict=True)) == {a: 1, b: 0}
    assert sorted(world.either.rows().entity.tolist()) == [a, b]


def test_what_is_assigned_is_checked() -> None:
    world, _ = shuffled(12)
    for query in (world.movers, world.bodies):
        before = query.body.place.tolist()
        with pytest.raises(ValueError, match=r"Body\.place"):
            query.body.place = np.zeros((len(query) + 1, 3))
        with pytest.raises(TypeError, match=r"Body\.place"):
            query.body.place = "far"
        assert query.body.place.tolist() == before
        with pytest.raises(AttributeError):
            query.body.plaice = 1
    with pytest.raises(OverflowError):
        world.bodies.listed.damage = 40_000


def test_lookups_are_not_needed_where_owners_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row is looked up, however slow the map is."""
    world, _ = everything(100)
    asked: list[str] = []

    def count(name: str) -> None:
        lookup = getattr(type(world.hashed), name)

        def counted(manager: Any, es: Any) -> Any:
            asked.append(name)
            return lookup(manager, es)

        monkeypatch.setattr(type(world.hashed), name, counted)

    count("lookup")
    count("lookup_many")
    assert len(world.bodies) == 100
    assert asked == ["lookup"]


def test_deaths_are_counted_and_nothing_else() -> None:
    entities = new_world().entities
    assert entities.despawn_count == 0
    es = entities.create_many(100)
    entities.undo_create(entities.create_many(5))
    assert entities.despawn_count == 0
    for n, e in enumerate(es[:50]):
        entities.destroy(e)
        entities.create()
        assert entities.despawn_count == n + 1
    entities.destroy_many(es[50:])
    entities.undo_create(entities.create_many(20))
    assert entities.despawn_count == 100


SMALL = {
    "join_block_rows": 5,
    "cached_random_rows": 2,
    "cached_random_bytes": 8,
    "reorder_block_rows": 4,
    "sample_count": 2,
    "sample_length": 3,
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
    """Changes that usually take a million entities happen with a dozen."""
    with Tuning.override(**SMALL):
        yield


def ordered() -> Any:
    return world_package(ORDERED, "ordered_game").Ordered()


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
            column = getattr(query.place, field)
            assert column.dtype == wanted.dtype
            assert (column == wanted).all()
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
