"""What spawning promises: all or nothing, over all managers."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.support.acceptance_package import package, world_state


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ({"called": {}, "plain": {"x": 2**31}}, OverflowError),
        ({"called": {}, "plain": {"nonsense": 1}}, TypeError),
        ({"called": {}, "mark": {"x": 1}}, TypeError),
        ({"called": {"x": [1, 2]}, "several": {}}, ValueError),
        ({"called": {}, "direct": {}, "plain": {"place": (1, 2)}}, ValueError),
        ({"called": {}, "plain": 5}, TypeError),
        ({"called": {}, "nonsense": {}}, TypeError),
    ],
)
def test_a_failing_spawn_changes_no_manager(
    components: dict[str, Any], error: type[Exception]
) -> None:
    world = package.World()
    world.spawn(64, plain={}, several={}, mark={}, direct={}, everything={})
    before = world_state(world)
    with pytest.raises(error):
        world.spawn(70, **components)
    assert world_state(world) == before


def test_a_locked_manager_stops_a_spawn_before_it_begins() -> None:
    world = package.World()
    before = world_state(world)
    with world.several.locked(), pytest.raises(package.StructureLockedError):
        world.spawn(70, called={}, plain={}, several={})
    assert world_state(world) == before


def test_columns_may_be_views_of_any_manager_of_the_spawn() -> None:
    world = package.World()
    world.spawn(64, plain={"x": range(64)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        world.spawn(64, plain={"x": world.plain.data.x}, several={"x": world.plain.data.x})
    assert world.several.data.x.tolist() == list(range(64))
    assert world.plain.data.x.tolist() == 2 * list(range(64))
    held = world.plain.data.x
    with pytest.warns(package.StaleViewWarning) as caught:
        world.spawn(64, plain={})
    assert caught[0].filename == __file__
    assert len(held) == 128


def test_release_callbacks_of_a_spawn_may_fill_other_managers() -> None:
    world = package.World()
    live = world.entities.create_many(100)
    dead = world.spawn(1100, everything={})
    world.destroy_many(dead)

    def fill(rows: object) -> None:
        free = world.mark.capacity - len(world.mark)
        world.mark.create_many(live[:free])

    world.everything.on_release(fill)
    born = world.spawn(3, everything={}, mark={}, plain={})
    assert len(world.mark) == 67
    for manager in (world.everything, world.mark, world.plain):
        assert manager.data.entity[manager.require_many(born)].tolist() == born.tolist()
