"""Derived values of rows in tables, of settings, and what they cost; `interpreted/derived.yaml` has
them in kernels and reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from ecsgen.model.reference_schema import component_schema, world_schema
from tests.support.interpreted_schemas import TOPICS
from tests.support.world_package import checked, load, sources, world_package

SCHEMA = TOPICS["derived"]
OF_SETTINGS = """\
component: Ewe
fields: {energy: f64, told: f64}
derived: {thin: energy < settings.limit, gap: "norm(settings.wind) - energy"}
kernels:
  tell: {steps: ["told = gap if thin else -1"]}
reductions: {thin_ones: {count: thin}}
---
world: Farm
settings: {limit: {type: f64, default: 2}, wind: "f64[2]"}
kernels:
  eat:
    over: Ewe
    turns: rows
    where: Ewe.thin
    steps: [settings.limit -= 1, "settings.wind.x += 3", Ewe.told = Ewe.gap if Ewe.thin else -1]
records:
  ewes: {rows: Ewe, fields: [thin, gap]}
"""
AFRAID = 1
COUNT = 300


@pytest.fixture(params=BACKENDS)
def farm(request: pytest.FixtureRequest) -> Any:
    backend: Backend = request.param
    world = world_package(SCHEMA, f"derived_{backend}", backend).Farm()
    rng = np.random.default_rng(3)
    entities = world.entities.create_many(COUNT)
    world.sheep.create_many(
        entities,
        energy=rng.uniform(0, 12, COUNT),
        need=rng.uniform(0, 4, COUNT),
        velocity=rng.normal(0, 1, (COUNT, 2)).astype(np.float32),
    )
    return world


def test_tables_show_values_and_lines(farm: Any) -> None:
    energy = farm.sheep.data.energy.copy()
    hungry = energy < farm.sheep.data.need * 3
    x, y = farm.sheep.data.velocity.T
    speed = np.sqrt(x * x + y * y)
    for table in ("flock", "sheep", "all_sheep", "heap", "both"):
        getattr(farm.records, table).write()
    assert [*farm.records.flock.hungry] == [hungry.sum()]
    assert [*farm.records.flock.fast] == [speed[hungry].max()]
    for table, rows in (("sheep", hungry), ("all_sheep", np.ones(COUNT, bool))):
        lines = getattr(farm.records, table)
        assert lines.energy.tobytes() == energy[rows].tobytes()
        assert lines.speed.tobytes() == speed[rows].tobytes()
        assert lines.speed.dtype == np.float32
        assert [*lines.hungry] == [*hungry[rows]]
        assert lines.hungry.dtype == bool
        assert [*lines.mood] == [*np.where(hungry, AFRAID, 0)[rows]]
    assert len(farm.records.heap.sum) == len(farm.records.both.area) == 0


def test_nothing_is_stored_and_no_byte_is_generated_for_what_nobody_reads() -> None:
    written = "component: Node\nfields: {x: f64}\nkernels: {go: {steps: [x += 1]}}\n"
    derived = written + "derived: {twice: x * 2, far: twice > 3}\n"
    plain, more = load(written), load(derived)
    assert sources(plain) == sources(more)
    name = more.components[0]
    assert component_schema(plain, plain.components[0]) == component_schema(more, name)
    read = load(derived.replace("x += 1", "x += 1 if far else 2"))
    schema = component_schema(read, read.components[0])
    assert schema["components"]["Node"]["derived"] == {"twice": "x * 2", "far": "twice > 3"}
    assert "derived" not in world_schema(more).get("components", {}).get("Node", {})


def test_effects_name_the_fields_behind() -> None:
    project = load(SCHEMA)
    kernels = {kernel.name: kernel.program.effects for kernel in project.world.kernels}
    assert kernels["eat"].reads_referenced == ("Field.rain", "Wolf.mass")
    assert "Sheep.velocity" in kernels["meet"].reads_neighbours
    assert project.world.records[1].reads == ("Sheep.energy", "Sheep.need", "Sheep.velocity")


def test_limits_of_what_derived_values_grow_to() -> None:
    names = "\n".join(f"  d{k}: d{k - 1} + d{k - 1}" for k in range(1, 40))
    schema = f"component: Node\nfields: {{x: f64}}\nderived:\n  d0: x\n{names}\n"
    (only,) = checked(schema)[1]
    assert only.code == "E819"
    assert only.message.startswith("'d9' has more than 1000 parts")
    names = "\n".join(f"  d{k}: -d{k - 1}" for k in range(1, 2000))
    (only,) = checked(schema[: schema.index("  d1:")] + names)[1]
    assert only.code == "E819"


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_settings(backend: Backend) -> None:
    package: Any = world_package(OF_SETTINGS, f"derived_settings_{backend}", backend)
    world = package.Farm()
    world.ewe.create_many(world.entities.create_many(4), energy=[0.5, 1.5, 3, 0])
    world.settings.wind = 3, 4
    world.ewe.tell()
    assert world.ewe.data.told.tolist() == [4.5, 3.5, -1, 5]
    assert world.ewe.thin_ones() == 3
    world.records.ewes.write()
    assert world.records.ewes.gap.tolist() == [4.5, 3.5, 2, 5]
    world.eat()  # who eats lowers the limit for those after it
    assert (world.settings.limit, [*world.settings.wind]) == (0, [9, 4])
    assert world.ewe.data.told.tolist() == [52**0.5 - 0.5, 3.5, -1, -1]
    alone = package.EweManager(entities := package.EntityManager(), settings=world.settings)
    alone.create(entities.create(), energy=0.9)
    assert alone.thin_ones() == 0
    world.settings.limit = 1
    assert alone.thin_ones() == 1
