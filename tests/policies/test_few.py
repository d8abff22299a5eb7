"""A few rows at once, which go one by one, are what many are."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from generated import EntityManager, EveryTypeManager, Game, PointMassManager, TransformManager
from tests.support.world_package import world_package

MANAGERS = (PointMassManager, TransformManager)


def made(kind: Any, count: int) -> tuple[EntityManager, Any, Any]:
    entities = EntityManager()
    manager, es = kind(entities), entities.create_many(count)
    manager.reserve(64)
    return entities, manager, es


@pytest.mark.parametrize("count", [1, 2, 3, 16, 17])
def test_values_of_each_row(count: int) -> None:
    _, m, es = made(PointMassManager, count)
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
    kept = []
    for given in (gone, np.isin(np.arange(6), gone)):  # a mask is never a few
        _, m, es = made(kind, 6)
        m.create_many(es)
        m.destroy_many(given)
        kept.append((m.data.entity.tolist(), m.lookup_many(es).tolist(), len(m), m.version))
    assert kept[0] == kept[1]


@pytest.mark.parametrize("kind", MANAGERS)
@pytest.mark.parametrize("bad", [[0, 0], [0, 6], [-1], [1, -1], [5, 5, 0]])
def test_bad_rows_remove_nothing(kind: Any, bad: list[int]) -> None:
    _, m, es = made(kind, 6)
    m.create_many(es)
    version = m.version
    with pytest.raises(IndexError):
        m.destroy_many(bad)
    assert (len(m), m.version) == (6, version)


@pytest.mark.parametrize(
    "value",
    [np.array([5], "M8[ns]"), np.array([5], "m8[s]"), np.array([(1, 2)], "i4,i4"), [True], ["5"]],
)
def test_values_that_are_no_numbers(value: Any) -> None:
    entities, m, _ = made(EveryTypeManager, 1)
    number = next(f.name for f in m.FIELDS if f.type == "i64")
    for at_once in (1, 3):
        with pytest.raises(TypeError):
            m.create_many(entities.create_many(at_once), **{number: np.resize(value, at_once)})
    assert len(m) == 0
    world = Game()
    with pytest.raises(TypeError):
        world.spawn(1, every_type={number: value})  # type: ignore[arg-type]  # what is tested
    assert len(world) == 0


def test_a_bad_value_of_the_last_component_spawns_nothing() -> None:
    world = Game()
    world.spawn(2, transform={}, point_mass={})
    versions = world.transform.version, world.point_mass.version
    with pytest.raises(TypeError):
        world.spawn(2, transform={}, point_mass={"mass": [1.0, "2"]})  # type: ignore[arg-type]
    assert (world.transform.version, world.point_mass.version) == versions
    assert len(world) == 2


@pytest.mark.parametrize("count", [3, 16])
def test_rows_of_the_dead_go_before_the_first_new_one_comes(count: int) -> None:
    """Whether a value is one for all or one for each makes no difference to where rows are."""
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
    """Whether there is room for a row makes no difference: with it, one row goes the quick way."""
    world = world_package(TINY, "few_indices").Tiny()
    solo = import_module("few_indices").Solo
    world.solo.reserve(room)
    world.entities.create_many(4)
    calls: list[Callable[[Any], Any]] = [
        lambda x: world.create(solo(x=x)),
        lambda x: world.spawn(1, solo={"x": x}),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="wanted i32"):
            call("bad")
        with pytest.raises(MemoryError, match="1 entities wanted, 0 indices left"):
            call(1)


@pytest.mark.parametrize("count", [1, 2])
def test_what_a_failing_spawn_of_a_few_made_is_taken_back(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = Game()
    game.spawn(count, point_mass={}, transform={})
    before = len(game.point_mass), len(game.transform), len(game)

    def fail(*given: object, **fields: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(TransformManager, "create", fail)
        with pytest.raises(MemoryError):
            game.spawn(count, point_mass={}, transform={})
    assert (len(game.point_mass), len(game.transform), len(game)) == before
    assert len(game.spawn(count, point_mass={"mass": 2.0}, transform={})) == count
