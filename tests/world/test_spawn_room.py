"""A spawn for which there is no room leaves every manager as it was."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from tests.support.world_package import world_package

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
def package() -> ModuleType:
    return world_package(SCHEMA, "spawn_room")


def state(world: Any) -> list[tuple[int, int, int, int]]:
    managers = world.apple, world.basket, world.cellar, world.zebra
    return [(len(m), m.capacity, m.version, m.nbytes) for m in managers]


@pytest.mark.parametrize("full", ["basket", "cellar"])
def test_managers_that_can_grow_do_not_if_another_is_full(package: ModuleType, full: str) -> None:
    world = package.Full()
    world.spawn(60, apple={}, basket={}, cellar={}, zebra={})
    before = state(world)
    with pytest.raises(MemoryError, match="64 rows are all"):
        world.spawn(10, apple={}, zebra={}, **{full: {}})
    assert state(world) == before
    assert len(world.entities) == 60


@pytest.mark.parametrize("values", [{}, {"a": [1.0, 2.0]}])
def test_rows_of_the_dead_stay_if_too_few_indices_are_left(
    package: ModuleType, values: dict[str, Any]
) -> None:
    world = package.Full()
    es = world.spawn(128, apple={"a": range(128)}).tolist()
    world.destroy(es[5])
    before = state(world), world.apple.data.a.tolist()
    with pytest.raises(MemoryError, match="2 entities wanted, 1 indices left"):
        world.spawn(2, apple=values)
    assert (state(world), world.apple.data.a.tolist()) == before


def test_no_manager_grows_if_no_index_is_left(package: ModuleType) -> None:
    world = package.Full()
    before = state(world)
    with pytest.raises(MemoryError):
        world.spawn(129, apple={}, zebra={})
    assert state(world) == before
