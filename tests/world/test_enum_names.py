"""Members of enums are given by name wherever a value is taken."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.world_package import world_package

SCHEMA = """
enum: Pace
values: [slow, fast]
---
enum: Effects
flags: true
values: [wet, cold, burning]
---
component: Car
fields: {pace: {type: Pace, index: true}, effects: Effects, both: "Pace[2]"}
kernels:
  set:
    args: {to: Pace, each_of: {type: Pace, each: true}}
    steps: [pace = to if to == Pace.fast else each_of]
---
component: Bay
fields: {pace: {type: Pace, unique: true}}
---
component: Chunky
fields: {pace: Pace, effects: Effects}
---
world: Town
archetypes: {components: [Chunky]}
queries: {cars: {all: [Car]}, chunks_of: {all: [Chunky]}}
"""


@pytest.fixture(scope="module", params=["numpy", "numba"])
def package(request: pytest.FixtureRequest) -> ModuleType:
    return world_package(SCHEMA, f"enum_names_{request.param}", backend=request.param)


@pytest.fixture
def town(package: ModuleType) -> Any:
    return package.Town()


def test_one_row(package: ModuleType, town: Any) -> None:
    car = town.car
    row = car.create(town.entities.create(), pace="fast", effects="wet|cold", both=("fast", 0))
    assert car.row(row) == (package.Pace.fast, package.Effects.wet | 2, (1, 0))
    car.set_pace(row, "slow")
    car.set_effects(row, "burning")
    entity = car.entity(row)
    assert (car.pace(row), car.effects(row)) == (0, 4)
    car[entity].pace = "fast"
    assert town.car.rows_of_pace("fast").tolist() == [0]
    assert town.car.rows_of_pace_many(["slow", "fast"]).starts.tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match=r"Car\.pace: 'fats' is no member of Pace; .* 'fast'"):
        car.set_pace(row, "fats")


def test_no_flag_is_0_as_records_write_it(town: Any) -> None:
    town.spawn(3, car={"effects": ["0", "wet", "0"]})
    assert town.car.data.effects.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="'0' is no member of Pace"):
        town.car.set_pace(0, "0")


def test_many_rows(town: Any) -> None:
    town.spawn(2, car={"pace": ["slow", "fast"], "effects": "cold"})
    assert town.car.data.pace.tolist() == [0, 1]
    town.car.create_many(town.entities.create_many(100), pace=np.array(["fast", "slow"] * 50))
    assert town.car.data.pace.tolist() == [0, 1, *[1, 0] * 50]
    town.car.data.pace = "fast"
    assert town.car.data.pace.all()
    town.cars.car.pace = np.array(["slow"] * 102, object)
    assert not town.car.data.pace.any()
    with pytest.raises(ValueError, match="'sow' is no member of Pace"):
        town.spawn(2, car={"pace": ["sow", "fast"]})


def test_searches_and_arguments(town: Any) -> None:
    town.spawn(2, bay={"pace": ["slow", "fast"]}, car={})
    assert town.bay.find_pace("fast") == 1
    assert town.bay.find_pace_many(["fast", "slow"]).tolist() == [1, 0]
    town.car.set("slow", ["slow", "fast"])
    assert town.car.data.pace.tolist() == [0, 1]
    town.car.set("fast", "slow")
    assert town.car.data.pace.tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"Car\.set\.to: 'quick' is no member of Pace"):
        town.car.set("quick", "slow")


def test_archetypes(package: ModuleType, town: Any) -> None:
    entity = town.create(package.Chunky(pace="fast", effects="wet|burning"))
    assert town.get(entity, package.Chunky).pace is package.Pace.fast
    assert town.get(entity, package.Chunky).effects == 5
    town.spawn(2, chunky={"pace": ["fast", "slow"]})
    with pytest.raises(ValueError, match="is no member of Pace"):
        town.spawn(1, chunky={"pace": "no"})
