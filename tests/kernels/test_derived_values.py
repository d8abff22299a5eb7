"""Derived values of rows, wherever kernels read fields, against plain Python on both backends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from ecsgen.model.reference_schema import component_schema, world_schema
from tests.support.world_package import checked, load, sources, world_package

SCHEMA = """\
enum: Mood
values: [calm, afraid]
---
component: Sheep
space: {field: at, wrap: [10, 10]}
fields:
  energy: {type: f64, default: 4}
  need: {type: f64, default: 2}
  at: "f64[2]"
  velocity: "f32[2]"
  friend: entity
  boss: entity
  best: f64
  seen: i64
  fear: f64
derived:
  starving: "hungry and speed > 1"
  hungry: energy < need * 3
  speed: norm(velocity)
  double: velocity * 2
  mood: Mood.afraid if hungry else Mood.calm
  ally: friend if hungry else boss
kernels:
  graze: {where: hungry, steps: ["energy += speed", "need = 1.0 if starving else need"]}
  change: {steps: ["energy += 100", "fear = 1.0 if hungry else 0.0"]}
  turn: {steps: ["velocity = double", "best = double.x", "velocity.y += double[1]"]}
  look:
    near: 2
    steps:
      - seen = count(other.hungry)
      - best = sum(other.speed, where=other.double.x > 0)
reductions:
  starved: {count: starving}
  fastest: {max: speed, where: hungry}
---
component: Wolf
owner: none
on: place
fields: {place: id<Field>, mass: f64, total: f64, prey: id<Wolf>}
derived: {weight: mass * 9.81}
kernels:
  stand: {steps: ["total = place.wet"]}
---
component: Field
grid: {shape: [4, 4]}
fields: {rain: f64, load: f64}
derived: {wet: sqrt(rain), heavy: wet > 2}
kernels:
  spread: {near: 1, steps: ["load = sum(other.wet, where=other.heavy)"]}
---
component: Node
hierarchy: {orphans: root}
fields: {size: {type: f64, default: 3}, total: f64}
derived: {area: size * size}
kernels:
  down: {steps: ["total = parent.area + area"]}
---
component: Dust
fields: {x: f32, y: f32}
derived: {sum: x + y}
---
world: Farm
archetypes: {components: [Dust]}
queries: {grains: {all: [Dust]}, flock: {all: [Sheep, Node]}}
kernels:
  meet:
    over: Sheep
    near: {herd: {radius: 2, among: Sheep}}
    steps: |
      for kin in herd:
          if kin.Sheep.hungry:
              Sheep.seen += 1
              Sheep.fear += f64(kin.Sheep.speed)
      Sheep.best = Sheep.friend.Sheep.double.y
      Sheep.energy = Sheep.ally.Sheep.energy
  send: {over: Sheep, steps: ["Sheep.friend.Sheep.energy += Sheep.need if Sheep.hungry else 0"]}
  eat: {over: Wolf, steps: ["Wolf.total = Wolf.place.wet + Wolf.prey.weight"]}
  settle: {over: grains, where: Dust.sum > 1, steps: ["Dust.x = Dust.sum"]}
records:
  flock: {hungry: {count: Sheep.hungry}, fast: {max: Sheep.speed, where: Sheep.hungry}}
  sheep: {rows: Sheep, fields: [energy, hungry, mood, speed], where: Sheep.hungry}
  all_sheep: {rows: Sheep, fields: [energy, hungry, mood, speed]}
  heap: {rows: grains, fields: [Dust.sum]}
  both: {rows: flock, fields: [Sheep.speed, Node.area]}
schedule: {step: [meet]}
"""
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
        at=rng.uniform(0, 10, (COUNT, 2)),
        velocity=rng.normal(0, 1, (COUNT, 2)).astype(np.float32),
        friend=rng.permutation(entities),
        boss=rng.permutation(entities),
    )
    return world


def columns_of(world: Any, *names: str) -> list[Any]:
    return [getattr(world.sheep.data, name).copy() for name in names]


def hungry_of(world: Any) -> Any:
    energy, need = columns_of(world, "energy", "need")
    return energy < need * 3


def speed_of(world: Any) -> Any:
    """Return the speeds as kernels compute them, element by element in f32."""
    x, y = world.sheep.data.velocity.T
    return np.sqrt(x * x + y * y)


def test_kernels_read_derived_values_as_their_fields_are_at_that_moment(farm: Any) -> None:
    energy, need = columns_of(farm, "energy", "need")
    hungry, speed = hungry_of(farm), speed_of(farm)
    farm.sheep.graze()
    fed = np.where(hungry, energy + speed, energy)
    still_starving = hungry & (fed < need * 3) & (speed > 1)
    assert farm.sheep.data.energy.tobytes() == fed.tobytes()
    assert farm.sheep.data.need.tobytes() == np.where(still_starving, 1.0, need).tobytes()
    farm.sheep.change()
    assert not farm.sheep.data.fear.any()


def test_elements_of_derived_vectors(farm: Any) -> None:
    velocity = farm.sheep.data.velocity.copy()
    farm.sheep.turn()
    expected = velocity * np.float32(2)
    first = (expected[:, 0] * np.float32(2)).astype(np.float64)
    expected[:, 1] += expected[:, 1] * np.float32(2)
    assert farm.sheep.data.best.tobytes() == first.tobytes()
    assert farm.sheep.data.velocity.tobytes() == expected.tobytes()


def near_of(world: Any) -> Any:
    """Return for each row which others are near."""
    (at,) = columns_of(world, "at")
    offset = at[None] - at[:, None]
    offset -= 10 * np.round(offset / 10)
    is_near = (offset**2).sum(2) <= 4
    np.fill_diagonal(is_near, False)
    return is_near


def test_questions_about_neighbours(farm: Any) -> None:
    hungry, speed, near = hungry_of(farm), speed_of(farm), near_of(farm)
    right = farm.sheep.data.velocity[:, 0] > 0
    farm.sheep.look()
    assert [*farm.sheep.data.seen] == [*(near & hungry).sum(1)]
    sums = [speed[row & right].astype(np.float64).sum() for row in near]
    np.testing.assert_allclose(farm.sheep.data.best, sums, rtol=1e-6)


def test_loops_and_references(farm: Any) -> None:
    energy, friend, boss = columns_of(farm, "energy", "friend", "boss")
    hungry, speed, near = hungry_of(farm), speed_of(farm), near_of(farm)
    double = farm.sheep.data.velocity[:, 1] * np.float32(2)
    friends, bosses = farm.sheep.lookup_many(friend), farm.sheep.lookup_many(boss)
    farm.meet()
    assert [*farm.sheep.data.seen] == [*(near & hungry).sum(1)]
    fears = [speed[row & hungry].astype(np.float64).sum() for row in near]
    np.testing.assert_allclose(farm.sheep.data.fear, fears, rtol=1e-12)
    assert [*farm.sheep.data.best] == [*double[friends]]
    assert [*farm.sheep.data.energy] == [*energy[np.where(hungry, friends, bosses)]]


def test_a_missing_row_has_the_value_of_default_fields(farm: Any) -> None:
    wolves = farm.wolf.create_many(2, mass=[1.0, 2.0])
    farm.wolf.data.prey[0] = wolves[1] if isinstance(wolves[0], int) else farm.wolf.id_of(1)
    farm.eat()
    assert [*farm.wolf.data.total] == [2.0 * 9.81, 0.0]
    farm.sheep.data.friend[:] = farm.sheep.data.boss[:] = 0
    farm.meet()
    assert set(farm.sheep.data.energy) == {4.0}


def test_cells_chunks_and_parents(farm: Any) -> None:
    rain = np.arange(16.0)
    farm.field.data.rain[:] = rain
    farm.field.spread()
    wet = np.where(np.sqrt(rain) > 2, np.sqrt(rain), 0.0).reshape(4, 4)
    expected = [
        wet[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2].sum() - wet[i, j]
        for i in range(4)
        for j in range(4)
    ]
    np.testing.assert_allclose(farm.field.data.load, expected, rtol=1e-12)
    farm.wolf.create_many(1, place=[farm.field.id_of(9)])
    farm.wolf.stand()
    assert [*farm.wolf.data.total] == [3.0]
    root, child = farm.entities.create_many(2)
    farm.node.create(root, size=5.0)
    farm.node.set_parent(farm.node.create(child, size=2.0), 0)
    farm.node.down()
    assert [*farm.node.data.total] == [9.0 + 25.0, 25.0 + 4.0]


def test_reductions(farm: Any) -> None:
    hungry, speed = hungry_of(farm), speed_of(farm)
    assert farm.sheep.starved() == (hungry & (speed > 1)).sum()
    assert farm.sheep.fastest() == speed[hungry].max()


def test_tables_show_values_and_lines(farm: Any) -> None:
    energy, hungry, speed = farm.sheep.data.energy.copy(), hungry_of(farm), speed_of(farm)
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
