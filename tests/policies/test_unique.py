"""Unique fields where several components meet: spawns, groups, queries, kernels."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.subject import refuses

from tests.support.world_package import world_package

SCHEMA = """
component: Apple
fields: {a: f64}
---
component: Car
fields: {plate: {type: "str[8]", unique: true}, seats: {type: u8, default: 4}}
---
component: Driver
fields: {badge: {type: u32, unique: true}, turns: u32}
kernels:
  turn: {steps: [turns += badge]}
---
component: Seat
fields: {number: {type: u16, unique: true}}
lookup: direct
---
component: Gauge
fields: {level: {type: f32, unique: true}}
release: true
---
component: Ticket
fields: {code: {type: u32, unique: true}}
destroy: callback
---
world: Town
entity: {min_free: 0}
groups: {traffic: [Car, Driver]}
queries:
  seated: {all: [Driver], optional: [Seat]}
  both: {all: [Driver, Apple]}
"""


@pytest.fixture(scope="module")
def package() -> ModuleType:
    return world_package(SCHEMA, "unique")


@pytest.fixture
def town(package: ModuleType) -> Any:
    return package.Town()


def test_a_spawn_that_repeats_a_value_changes_nothing(package: ModuleType, town: Any) -> None:
    town.spawn(2, driver={"badge": [1, 2]}, car={"plate": ["x", "y"]}, apple={})
    before = [(m.capacity, m.version, len(m)) for m in (town.apple, town.car, town.driver)]
    for badges in ([3, 1], [3, 3]):
        with pytest.raises(package.DuplicateValueError, match=r"Driver\.badge: "):
            town.spawn(2, apple={}, car={"plate": ["v", "w"]}, driver={"badge": badges})
    with pytest.raises(package.DuplicateValueError, match=r"Car\.plate: 'x' is the value of row 0"):
        town.spawn(100, apple={}, car={"plate": ["x", *map(str, range(99))]})
    assert [(m.capacity, m.version, len(m)) for m in (town.apple, town.car, town.driver)] == before
    assert len(town.entities) == 2


def test_what_a_spawn_puts_away_is_in_nobodys_way(package: ModuleType, town: Any) -> None:
    old = town.spawn(3, driver={"badge": [1, 2, 3]}, seat={"number": [1, 2, 3]})
    town.destroy_many(old[:2])
    with pytest.raises(package.DuplicateValueError):
        town.spawn(1, driver={"badge": 2})  # the index of another
    new = town.spawn(2, driver={"badge": [2, 1]}, seat={"number": [2, 1]})
    assert sorted(town.entities.index(e) for e in new) == [0, 1]
    assert (
        town.driver.find_badge_many([1, 2]).tolist() == town.driver.lookup_many(new[::-1]).tolist()
    )
    assert town.seat.find_number_many([2, 1]).tolist() == town.seat.lookup_many(new).tolist()


def test_columns_of_groups(package: ModuleType, town: Any) -> None:
    es = town.spawn(4, driver={"badge": [1, 2, 3, 4]})
    town.car.create_many(es[[3, 1]], plate=["x", "y"])
    badge = town.traffic.driver.badge
    assert badge.tolist() == [4, 2]
    with pytest.raises(ValueError, match="read-only"):
        badge[0] = 9
    with pytest.raises(package.DuplicateValueError, match="3 is the value of row"):
        town.traffic.driver.badge = [2, 3]
    town.traffic.driver.badge = badge[::-1]
    town.traffic.sort("driver", "badge")
    assert town.driver.find_badge_many([2, 4]).tolist() == [0, 1]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
def test_columns_of_queries(package: ModuleType, town: Any, order: list[int]) -> None:
    es = town.spawn(4, apple={})
    town.driver.create_many(es[order], badge=[1, 2, 3, 4])
    with pytest.raises(ValueError, match="read-only"):
        town.both.driver.badge[0] = 9
    town.both.driver.badge = [10, 20, 30, 4]
    badges = town.both.driver.badge.tolist()
    assert badges == [10, 20, 30, 4]
    rows = town.driver.find_badge_many(badges)
    assert town.driver.data.badge[rows].tolist() == badges
    with pytest.raises(package.DuplicateValueError):
        town.both.driver.badge = 7
    assert town.both.driver.badge.tolist() == badges


def test_optional_columns_of_queries(package: ModuleType, town: Any) -> None:
    es = town.spawn(3, driver={"badge": [1, 2, 3]})
    town.seat.create_many(es[[0, 2]], number=[5, 6])
    town.seated.seat.number = [7, 7, 8]  # the one in the middle has none
    assert town.seat.find_number_many([5, 6, 7, 8]).tolist() == [package.NIL, package.NIL, 0, 2]
    assert town.seated.seat.number.tolist() == [7, 0, 8]


def test_holes_have_no_values(town: Any) -> None:
    es = town.spawn(4, seat={"number": [1, 2, 3, 4]})
    town.seat.remove(es[1])
    town.seat.data.number = [2, 7, 7, 4]
    assert town.seat.find_number_many([2, 7, 4]).tolist() == [0, 2, 3]
    town.spawn(1, seat={"number": 1})


def test_kernels_read(town: Any) -> None:
    town.spawn(3, driver={"badge": [1, 2, 3]})
    town.driver.turn()
    assert town.driver.data.turns.tolist() == [1, 2, 3]


def test_the_dead_give_their_values_back(package: ModuleType, town: Any) -> None:
    first, other = town.spawn(2).tolist()
    town.ticket.create(first, code=1)
    refuses(package.DuplicateValueError, town.ticket.create, other, code=1)
    town.destroy(first)
    assert town.ticket.find_code(1) == package.NIL
    town.ticket.create(other, code=1)
    assert town.ticket.find_code(np.uint32(1)) == 0


def test_nan_is_never_found(package: ModuleType, town: Any) -> None:
    gauges, nan = town.gauge, float("nan")
    town.spawn(3, gauge={"level": [1, 2, 3]})
    gauges.set_level(0, nan)
    town.spawn(2, gauge={"level": nan})
    rows = [gauges.find_level(value) for value in (1, 2, nan)]
    assert rows == [package.NIL, 1, package.NIL]
    gauges.data.level = [nan, nan, 2, nan, nan]
    gauges.set_level(0, nan)
    assert list(gauges.data._indexes["level"].rows) == [2]
    gauges.destroy_many([0, 1])
    assert gauges.data.level[gauges.find_level(2)] == 2


def test_the_index_counts_as_memory(town: Any) -> None:
    town.spawn(200, gauge={"level": range(200)})
    before = town.gauge.nbytes
    town.gauge.data._indexes["level"].rows.clear()
    assert before >= town.gauge.nbytes + 199 * 60


@pytest.mark.parametrize("step", ["enter", "forget_many"])
def test_a_write_that_fails_halfway_breaks_the_manager(
    package: ModuleType, town: Any, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack(*_: object) -> None:
        raise MemoryError

    gauges = town.gauge
    town.spawn(3, gauge={"level": [1, 2, 3]})
    monkeypatch.setattr(type(gauges.data._indexes["level"]), step, lack)
    with pytest.raises(MemoryError):
        gauges.set_level(0, 4) if step == "enter" else setattr(gauges.data, "level", [4, 5, 6])
    with pytest.raises(package.BrokenManagerError):
        gauges.find_level(4)


@pytest.mark.parametrize("at_once", [True, False])
def test_callbacks_take_the_value_of_a_new_row(
    package: ModuleType, town: Any, at_once: bool
) -> None:
    gauges = town.gauge
    town.destroy_many(town.spawn(3, gauge={"level": [1, 2, 3]})[:2])
    successors = town.spawn(2).tolist()
    gauges.on_release(lambda rows: gauges.set_level(2, 4))
    create = partial(gauges.create, successors[0], level=4)
    if at_once:
        create = partial(gauges.create_many, successors, level=[5, 4])
    refuses(package.DuplicateValueError, create)
    assert not gauges.has_many(successors).any()
    row = gauges.create(successors[0], level=5)
    assert gauges.find_level_many([4, 5, 6]).tolist() == [0, row, package.NIL]
