"""Queries of the world, and how they join the rows of managers."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from random import Random
from typing import Any, ClassVar

import numpy as np
import pytest
import yaml
from ecsgen_runtime.tables.bulk import Tuning
from ecsgen_testing.queries import QueryCases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.soak import examples
from tests.support.world_package import world_package

NIL = 0xFFFF_FFFF
COMPONENTS = {
    "body": 'fields: {place: "f32[3]", speed: {type: "f32[3]", default: 1}, tag: {type: object}}',
    "direct": 'lookup: direct\nfields: {x: f32, place: "f32[2]"}',
    "frozen": "destroy: manual",
    "hashed": "lookup: hash\nfields: {hp: {type: f32, default: 3}}",
    "listed": "instances: many\nfields: {damage: {type: i16, default: 3}}",
    "mesh": "destroy: callback\npartition: {start: active}\nfields: {x: f32}",
    "named": (
        'cold: indirect\nfields: {text: {type: "str[9]", default: none}, mode: Mode,'
        ' parts: {type: "f32[2]", split: true}, note: {type: "str[4]", tags: [cold]}}'
    ),
    "rare": "instances: many\nlookup: hash\ndestroy: manual\nfields: {y: f64}",
}
QUERIES = {
    "movers": "{all: [Direct, Body], any: [Mesh, Listed], none: [Frozen], optional: [Named]}",
    "either": "{any: [Mesh, Rare, Listed]}",
    "armed": "{all: [Listed, Hashed]}",
    "bodies": "{all: [Body, Hashed], optional: [Listed, Direct]}",
    "rares": "{all: [Rare, Mesh], none: [Direct]}",
    "alone": "{all: [Direct]}",
}
KEYS = "all", "any", "none", "optional"
CLAUSES: dict[str, Any] = {
    query: yaml.safe_load(clauses.lower()) for query, clauses in QUERIES.items()
}
SCHEMA = "\n---\n".join(
    [
        "world: Game\nentity: {min_free: 3}\nqueries:\n"
        + "\n".join(f"  {name}: {clauses}" for name, clauses in QUERIES.items()),
        "enum: Mode\nvalues: [idle, walk]",
        *(f"component: {name.capitalize()}\n{text}" for name, text in COMPONENTS.items()),
    ]
)


def new_world() -> Any:
    return world_package(SCHEMA, "queried_game").Game()


class Cases(QueryCases):
    """Those of generated tests, which compare all queries in all forms with the definition."""

    queries: ClassVar = {
        name: {**dict.fromkeys(KEYS, ()), **given} for name, given in CLAUSES.items()
    }


check = Cases().check


def change(world: Any, random: Random) -> None:
    """One change of some kind."""
    entities = list(world.entities)
    e = random.choice(entities) if entities else None
    manager = getattr(world, random.choice(list(COMPONENTS)))
    kind = random.randrange(10)
    if kind == 0 or e is None:
        names = random.sample(list(COMPONENTS), random.randrange(len(COMPONENTS)))
        world.spawn(random.choice([1, 2, 30]), **{name: {} for name in names})
    elif kind == 1:
        world.destroy(e)
    elif kind == 2:
        world.destroy_many(random.sample(entities, len(entities) // 3))
    elif kind == 3:
        manager.remove(e)
    elif kind == 4:
        world.collect()
    elif kind == 5:
        manager.remove_many(random.sample(entities, len(entities) // 3))
    elif kind == 6 and manager is not world.direct and manager is not world.mesh:
        manager.reorder(random.sample(range(len(manager)), len(manager)))
    elif kind == 7:
        candidates = [e for e in entities if e not in manager]
        manager.create_many(random.sample(candidates, random.randrange(len(candidates) + 1)))
    elif kind == 8:
        candidates = random.choices(entities, k=3)
        random.choice([world.listed, world.rare]).create_many(candidates)
    else:
        manager.ensure(e)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 1 << 32), st.integers(1, 25))
def test_equal_to_the_definition(seed: int, changes: int) -> None:
    world, random = new_world(), Random(seed)
    for _ in range(changes):
        change(world, random)
        check(world)


def everything(count: int) -> tuple[Any, Any]:
    world = new_world()
    return world, world.spawn(count, **{name: {} for name in COMPONENTS if name != "frozen"})


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


def test_an_entity_of_which_nothing_is_collected_is_missed_at_once() -> None:
    """Also where its index was taken again, with and without components."""
    world, es = everything(40)
    for e in es[:20]:
        world.destroy(e)
        check(world)
    new = world.spawn(20, direct={})
    check(world)
    world.body.create_many(new[:10])
    check(world)


def test_arrays_can_not_be_written_to() -> None:
    world, _ = everything(3)
    for query in ("movers", "either"):
        for array in getattr(world, query).rows():
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def test_nothing_keeps_buffers_from_growing(recwarn: pytest.WarningsRecorder) -> None:
    world, _ = everything(64)
    check(world)
    world.spawn(64, **{name: {} for name in COMPONENTS})
    check(world)
    assert not list(recwarn)


def rows_follow(world: Any, query: str, component: str) -> bool:
    """Return True if a query keeps a component's rows as a slice."""
    match = getattr(world, query)._join.match()
    return isinstance(match.rows[CLAUSES[query]["all"].index(component)], slice)


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


def test_columns_are_gathered_and_scattered() -> None:
    world, _ = shuffled(12)
    query, rows = world.movers, world.movers.rows()
    assert not np.shares_memory(query.body.place, world.body.data.place)
    query.body.place = np.arange(3 * len(query)).reshape(-1, 3)
    query.body.place += query.body.speed
    query.body.tag = list(range(len(query)))
    assert query.body.tag.tolist() == list(range(len(query)))
    for k, row in enumerate(rows.body.tolist()):
        assert world.body.place(row) == (3 * k + 1, 3 * k + 2, 3 * k + 3)
        assert world.body.tag(row) == k
    others = np.setdiff1d(np.arange(12), rows.body)
    assert not world.body.data.place[others].any()
    query.body.place = 7
    query.direct.x = 2
    assert world.body.data.place[rows.body].tolist() == [[7.0] * 3] * len(query)
    assert world.direct.data.x.sum() == 2 * len(query)
    query.body.place = (1, 2, 3)
    assert query.body.place.tolist() == [[1.0, 2.0, 3.0]] * len(query)


def test_columns_may_be_assigned_to_each_other() -> None:
    world, _ = shuffled(12)
    query = world.movers
    query.body.place = np.random.default_rng(0).random((len(query), 3))
    before = query.body.place
    query.body.place = world.body.data.place[: len(query)][::-1]
    query.body.speed = before
    assert query.body.speed.tolist() == before.tolist()


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


def test_copies_have_queries_of_their_own() -> None:
    world, es = everything(5)
    check(world)
    for other in (copy.deepcopy(world), pickle.loads(pickle.dumps(world))):
        other.destroy(es[0])
        other.body.remove(es[1])
        assert len(other.movers) == 3
        assert len(world.movers) == 5
        check(other)


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


def check_columns(world: Any) -> None:
    """Reading finds the cells of the rows, and writing changes these alone."""
    query = world.bodies
    rows = query.rows()
    for field in ("place", "speed", "tag"):
        wanted = getattr(world.body.data, field)[rows.body]
        assert getattr(query.body, field).tolist() == wanted.tolist()
    column = world.body.data.place.copy()
    query.body.place += 1
    column[rows.body] += 1
    assert world.body.data.place.tolist() == column.tolist()
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
