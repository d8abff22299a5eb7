"""Constants and truths by name, with both backends; what a schema names so itself wins."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.kernel_package import built, forget
from tests.support.world_package import world_package

SCHEMA = """\
component: Dial
fields: {angle: f32, wide: f64, on: bool, hits: i32}
kernels:
  turn:
    where: "true"
    args: {by: f32}
    steps:
      - part = pi * 2
      - angle = (angle + by * tau) % tau
      - wide = part + hits * pi
      - on = true if angle > pi else on and not false
reductions: {all_: {count: "true"}, none: {count: "false"}, area: {sum: pi * wide}}
---
component: Circle
fields: {pi: i32, tau: f32, sign: f32, hypot: "f32[2]", true: u8}
kernels:
  own:
    args: {trunc: i8}
    steps:
      - pi = pi + 1
      - tau = sign(-tau) * sign
      - hypot.x = hypot(tau, sign)
      - false = 3
      - true = u8(false) * true + u8(trunc(tau)) + u8(trunc)
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_names(tmp_path: Path, backend: Backend) -> None:
    pytest.importorskip(backend)
    (tmp_path / "a.yaml").write_text(SCHEMA, encoding="utf-8")
    name = f"names_{backend}"
    package: Any = built(tmp_path, name, backend).package
    entities = package.EntityManager()
    dials = package.DialManager(entities)
    dials.create_many(entities.create_many(3), angle=[0.0, 1.0, 6.0], hits=[0, 1, 2])
    dials.turn(0.25)
    f32 = np.float32
    turned = [f32(angle) + f32(0.25) * f32(math.tau) for angle in (0.0, 1.0, 6.0)]
    turned[2] = np.remainder(turned[2], f32(math.tau))
    assert dials.data.angle.tolist() == turned
    assert dials.data.wide.tolist() == [math.tau + hits * math.pi for hits in range(3)]
    assert dials.data.on.tolist() == [False, False, False]
    assert (dials.all_(), dials.none()) == (3, 0)

    circles = package.CircleManager(entities)
    circles.create(next(iter(entities)), pi=3, tau=-2.5, sign=4.0, true=5)
    circles.own(7)
    assert circles.row(0) == (4, 4.0, 4.0, (float(f32(math.sqrt(32))), 0.0), 26)
    list(forget(name))


WORLD = """\
world: Hearth
groups: {pair: [Pot, Coal]}
kernels:
  heat:
    over: pair
    turns: rows
    args: {heat_kernel: f32, heat_kernel_: f32, heat_chunks: f32}
    steps: [Pot.warmth += heat_kernel * Coal.glow + heat_kernel_ * heat_chunks]
  cool:
    over: pair
    args: {cool_kernel: f32}
    steps: [Pot.warmth -= cool_kernel]
---
component: Pot
fields: {warmth: f32}
---
component: Coal
fields: {glow: f32}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_called_like_functions_of_the_world(backend: Backend) -> None:
    pytest.importorskip(backend)
    world = world_package(WORLD, f"hearth_{backend}", backend).Hearth()
    world.spawn(3, pot={"warmth": 1}, coal={"glow": 2})
    world.heat(3, 4, 5)
    assert world.pot.data.warmth.tolist() == [27, 27, 27]
    world.cool(7)
    assert world.pot.data.warmth.tolist() == [20, 20, 20]


REDUCED = """\
component: Grain
fields: {mass: f64}
kernels:
  each_grow: {args: {grow_kernel: {type: f64, each: true}}, steps: [mass += grow_kernel]}
  cells: {args: {cells_kernel: f64}, steps: [mass *= cells_kernel]}
reductions:
  found: {max: mass, where: mass > 0}
  matching: {mean: mass, where: mass > 0}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_reductions_and_kernels_called_like_locals(tmp_path: Path, backend: Backend) -> None:
    """A function's name is that of no local of the method that calls it."""
    pytest.importorskip(backend)
    (tmp_path / "a.yaml").write_text(REDUCED, encoding="utf-8")
    name = f"reduced_{backend}"
    package: Any = built(tmp_path, name, backend).package
    entities = package.EntityManager()
    grains = package.GrainManager(entities)
    grains.create_many(entities.create_many(3), mass=[0.0, 1.0, 3.0])
    assert (grains.found(), grains.matching()) == (3, 2)
    grains.each_grow([1.0, 1.0, 0.0])
    grains.cells(2.0, rows=[0, 1, 2])
    assert grains.data.mass.tolist() == [2, 4, 6]
    list(forget(name))


ASKING = """\
world: Meadow
queries: {flock: {all: [Bird, Grass]}}
kernels:
  crowd:
    over: flock
    near: reach
    args: {reach: f64, radius: f32, bird_rows: f32, hidden: f32, columns: f32, others: f32}
    steps: [Grass.trodden += count() * radius + bird_rows + hidden + columns + others]
---
component: Bird
fields: {at: "f32[2]"}
space: {field: at}
---
component: Grass
fields: {trodden: f32}
partition: {start: active}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_called_like_what_finds_neighbours(backend: Backend) -> None:
    pytest.importorskip(backend)
    world = world_package(ASKING, f"meadow_{backend}", backend).Meadow()
    world.spawn(3, bird={"at": [[0, 0], [1, 0], [9, 0]]}, grass={})
    world.crowd(2.0, 100, 20, 3, 0.5, 0.25)
    assert world.grass.data.trodden.tolist() == [123.75, 123.75, 23.75]
