"""A few rows, and a few deaths, which go one by one: the same as many."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.subject import refuses
from hypothesis import given, settings
from hypothesis import strategies as st

from generated import EveryTypeManager, Game, PointMassManager, TransformManager
from tests.support.manager_state import made
from tests.support.world_package import world_package

MANAGERS = (PointMassManager, TransformManager)


@pytest.mark.parametrize("count", [1, 2, 3, 16, 17])
def test_values_of_each_row(count: int) -> None:
    entities, m, _ = made(PointMassManager)
    m.reserve(64)
    es = entities.create_many(count)
    masses, places = np.arange(count, dtype=np.float32), np.arange(3.0 * count).reshape(count, 3)
    rows = m.create_many(es, mass=masses, position=places, velocity=(1, 2, 3))
    assert rows.dtype == np.intp
    assert m.version == 2  # that of `reserve` and one more
    assert m.data.mass[rows].tolist() == masses.tolist()
    assert m.data.position[rows].tolist() == places.tolist()
    assert m.data.velocity.tolist() == [[1, 2, 3]] * count


@pytest.mark.parametrize("kind", MANAGERS)
@pytest.mark.parametrize("gone", [[0], [1, 3], [5, 0], [4, 5], [2, 4, 5, 0]])
def test_removals_leave_the_same_order_as_in_bulk(kind: Any, gone: list[int]) -> None:
    states = []
    for rows in (gone, np.isin(np.arange(6), gone)):  # a mask is never a few
        _, m, es = made(kind, 6)
        m.destroy_many(rows)
        states.append((m.data.entity.tolist(), m.lookup_many(es).tolist(), len(m), m.version))
    assert states[0] == states[1]


@pytest.mark.parametrize(
    "value",
    [np.array([5], "M8[ns]"), np.array([5], "m8[s]"), np.array([(1, 2)], "i4,i4"), [True], ["5"]],
)
def test_values_that_are_no_numbers(value: Any) -> None:
    entities, m, _ = made(EveryTypeManager)
    number = next(f.name for f in m.FIELDS if f.type == "i64")
    for at_once in (1, 3):
        with pytest.raises(TypeError):
            m.create_many(entities.create_many(at_once), **{number: np.resize(value, at_once)})
    assert len(m) == 0
    world = Game()
    with pytest.raises(TypeError):
        world.spawn(1, every_type={number: value})  # type: ignore[arg-type]  # what is tested
    assert len(world) == 0


@pytest.mark.parametrize("count", [3, 16])
def test_rows_of_the_dead_go_before_the_first_new_one_comes(count: int) -> None:
    """Rows are in the same order with one value for all as with one for each."""
    orders = []
    for value in (7, np.full(count, 7)):  # an array of so many goes the bulk way
        world = world_package(DEAD, "in_the_way").Way()
        old = world.spawn(40, x={}, y={"k": range(40)})
        world.x.reserve(100)
        world.y.reserve(100)
        world.destroy_many(old[::2])
        es = world.spawn(count, x={}, y={"k": value})
        orders.append((es.tolist(), world.y.data.entity.tolist(), world.y.data.k.tolist()))
    assert orders[0] == orders[1]


DEAD = """
world: Way
entity: {min_free: 0}
---
component: X
fields: {k: i32}
---
component: Y
fields: {k: i32}
"""
TINY = """
world: Tiny
entity: {index_bits: 2, generation_bits: 2, min_free: 0}
---
component: Solo
fields: {x: i32}
"""


@pytest.mark.parametrize("room", [0, 64])
def test_a_bad_value_counts_for_more_than_that_no_index_is_left(room: int) -> None:
    """Errors are the same with room for a row, when one row goes the quick way, as without."""
    package = world_package(TINY, "few_indices")
    world, solo = package.Tiny(), package.Solo
    world.solo.reserve(room)
    world.entities.create_many(4)
    calls: list[Callable[[Any], Any]] = [
        lambda x: world.create(solo(x=x)),
        lambda x: world.spawn(1, solo={"x": x}),
    ]
    for call in calls:
        refuses(TypeError, "wanted i32", call, "bad")
        refuses(MemoryError, "1 entities wanted, 0 indices left", call, 1)


@pytest.mark.parametrize("count", [1, 2])
def test_what_a_failing_spawn_of_a_few_made_is_taken_back(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = Game()
    game.spawn(count, point_mass={}, transform={})
    before = len(game.point_mass), len(game.transform), len(game)

    def fail(*arguments: object, **fields: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(TransformManager, "create", fail)
        refuses(MemoryError, game.spawn, count, point_mass={}, transform={})
    assert (len(game.point_mass), len(game.transform), len(game)) == before
    assert len(game.spawn(count, point_mass={"mass": 2.0}, transform={})) == count


POLICIES = {
    "Plain": "",
    "Rare": "lookup: hash\nids: true\n",
    "Direct": "lookup: direct\n",
    "Listed": "instances: many\nrelease: true\n",
    "Left": "",
    "Right": "",
    "Split": "partition: {start: active}\ncold: indirect\n",
    "Node": "hierarchy: {orphans: root}\n",
    "Gone": "destroy: callback\n",
    "Kept": "destroy: manual\n",
}
PARTS = tuple(map(str.lower, POLICIES))
FIELDS = "fields: {x: i32, note: {type: i32, tags: [cold]}}\n"
SCHEMA = "---\n".join(
    ["world: Farm\ngroups: {pairs: [Left, Right]}\n"]
    + [f"component: {name}\n{keys}{FIELDS}" for name, keys in POLICIES.items()]
)
FAMILY = """
world: House
---
component: Node
hierarchy: {orphans: die}
"""


def farm() -> Any:
    return world_package(SCHEMA, "few_deaths")


def owners(world: Any) -> dict[str, Any]:
    """Return the rows of each manager, and how often it changed."""
    managers = {name: getattr(world, name) for name in world.MANAGERS}
    return {name: ([*m.data.entity.tolist()], m.version) for name, m in managers.items()}


Turn = st.tuples(
    st.sampled_from(["spawn", "later", "later", "destroy", "collect", "collect", "gc", "flush"]),
    st.lists(st.integers(0, 60), min_size=1, max_size=20),
)


@settings(deadline=None)
@given(st.lists(Turn, max_size=25), st.booleans())
def test_who_is_collected_is_who_a_sweep_finds(turns: list[Any], at_once: bool) -> None:
    first, other = farm().Farm(), farm().Farm()
    entities: list[int] = []
    for turn, numbers in turns:
        chosen = [entities[k % len(entities)] for k in numbers] if entities else []
        living = list(dict.fromkeys(filter(first.entities.alive, chosen)))
        if turn == "spawn":
            parts = {PARTS[k % len(PARTS)]: {"x": k} for k in numbers}
            entities += first.spawn(len(numbers), **parts).tolist()
            assert other.spawn(len(numbers), **parts).tolist() == entities[-len(numbers) :]
        for world in (first, other):
            if turn == "later" and chosen:
                for note in [chosen] if at_once else chosen:
                    world.destroy_later(note)
            elif turn == "destroy" and living:
                world.destroy_many(living)
            elif turn == "gc":
                world.gc()
            elif turn == "flush":
                world.flush()
        if turn == "collect":
            other.entities.despawns_at_collect = -1  # has it look at all rows
            assert first.collect() == other.collect()
            alive = first.entities.alive
            lazy = set(PARTS) - {"kept"}
            assert all(alive(e) for part in lazy for e in getattr(first, part).data.entity if e)
        assert owners(first) == owners(other)


def test_who_died_before_is_not_forgotten() -> None:
    world = farm().Farm()
    first, second, third, last = world.spawn(4, plain={}, direct={}).tolist()
    assert world.collect() == 0
    world.destroy(first)
    world.destroy_later(second)
    assert world.collect() == 4
    world.destroy_later(third)
    world.flush()
    assert world.collect() == 2
    world.destroy_later(last)
    assert world.collect() == 2
    assert len(world.plain) == len(world.direct) == 0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))])
def test_copies_look_at_all_rows_again(copied: Any) -> None:
    world = farm().Farm()
    es = world.spawn(5, plain={}).tolist()
    world.destroy_many(es[:2])
    assert world.collect() == 2
    world.destroy(es[2])
    again = copied(world)
    for _ in range(again.entities.despawn_count + 3):
        again.destroy(again.entities.create())
    assert again.collect() == 1
    assert sorted(again.plain.data.entity.tolist()) == es[3:]


def test_locked_managers_refuse_as_ever() -> None:
    world = farm().Farm()
    entity = world.spawn(1, plain={})[0]
    world.collect()
    with world.rare.locked():
        with pytest.raises(farm().StructureLockedError):
            world.collect()
        world.destroy_later(entity)
        with pytest.raises(farm().StructureLockedError):
            world.collect()
    assert world.collect() in {0, 1}
    assert len(world.plain) == 0


def test_a_callback_that_destroys_leaves_its_rows_to_the_next_collection() -> None:
    world = farm().Farm()
    es = world.spawn(4, plain={}, listed={}).tolist()
    world.collect()
    world.listed.on_release(lambda rows: world.entities.alive(es[2]) and world.destroy(es[2]))
    world.destroy_later(es[0])
    assert world.collect() >= 2
    assert not world.entities.alive(es[2])
    world.collect()
    assert sorted(world.plain.data.entity.tolist()) == [es[1], es[3]]
    assert sorted(world.listed.data.entity.tolist()) == [es[1], es[3]]


@pytest.mark.parametrize("wrong", [-1, 2**70, 0])
def test_noted_numbers_that_are_nobody_do_no_harm(wrong: int) -> None:
    world = farm().Farm()
    entity = world.spawn(1, plain={})[0]
    world.destroy_later(wrong)
    world.destroy_later([wrong, entity, entity])
    assert world.flush() == 1
    with pytest.raises(farm().StaleEntityError):
        world.destroy_many([wrong])


def test_a_few_die_together_and_are_told_at_once() -> None:
    world = farm().Farm()
    es = world.spawn(4, plain={}, gone={}).tolist()
    heard: list[list[int]] = []
    world.entities.on_destroy(lambda entities: heard.append(entities.tolist()))
    world.destroy_later(es[2])
    world.destroy_later(es[:2])
    assert world.flush() == 3
    world.destroy_many([es[3], es[3]], repeats=True)
    assert heard == [[es[2], es[0], es[1]], [es[3]]]
    assert len(world.gone) == 0


@pytest.mark.parametrize("count", [1, 2, 64, 65, 66, 200])
@pytest.mark.parametrize("is_chain", [False, True])
def test_all_that_is_below_goes_however_many(count: int, is_chain: bool) -> None:
    world = world_package(FAMILY, "few_family").House()
    nodes = world.node
    es = world.spawn(count, node={})
    others = world.spawn(3, node={}).tolist()
    rows = nodes.lookup_many(es)
    if count > 1:
        nodes.set_parent_many(rows[1:], rows[:-1] if is_chain else rows[0])
    world.destroy(es[0])
    assert world.collect() == count
    assert not world.entities.alive_many(es).any()
    assert sorted(nodes.data.entity.tolist()) == others
