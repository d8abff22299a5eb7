"""Packages with grids: their own tests pass, they lie as black does, and hold their names apart."""

from __future__ import annotations

from pathlib import Path

import black
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.generated_package import build
from tests.support.pytest_within import failures
from tests.support.world_package import checked

SCHEMA = """\
component: Patch
grid: {shape: [4, 5], wrap: true}
fields: {grass: {type: f32, default: 1}, alive: bool}
kernels:
  grow: {args: {dt: f32}, steps: ["grass = min(grass + dt, 5)"]}
  live: {near: 1, steps: ["k = count(other.alive)", "alive = k == 3 or alive and k == 2"]}
---
component: Sheep
on: {field: cell, capacity: 1}
fields: {cell: id<Patch>, energy: f64, wakes: i64}
kernels: {rest: {steps: [energy += 1]}, pant: {steps: [energy -= 0.5]}}
---
component: Tree
owner: none
on: {field: at, capacity: 2}
fields: {at: id<Patch>, h: i32}
---
world: Farm
kernels:
  wake: {over: Sheep, where: Sheep.wakes == tick, steps: [Sheep.energy = tick]}
  rain: {over: Patch, steps: [Patch.grass += 1]}
  look: {over: Sheep, steps: [Sheep.energy = Sheep.cell.grass]}
schedule:
  step: [Sheep.rest, Sheep.pant, {run: Patch.grow, every: 7, from: 3}, wake, tick]
  often: [{run: tick, every: 2}, {run: Patch.live}]
---
component: Pig
on: spot
ids: true
hierarchy: {orphans: root}
fields: {spot: id<Line>, n_: {type: i8, unique: true}, m: {type: object}}
---
component: Line
grid: {shape: [7], hood: axes}
fields: {v: {type: "f32[2]", split: true}, o: object, e: entity, t: {type: "str[3]"}}
kernels: {grow: {args: {dt: f32}, steps: [v = v + dt]}}
reductions: {total: {sum: "v.x"}}
---
component: Imp
on: at
cold: indirect
destroy: callback
fields: {at: id<Room>, x: {type: i64, tags: [cold]}}
---
component: Room
grid: {shape: [2, 2, 3], wrap: true}
fields: {x: i64}
---
component: Hob
owner: none
ring: 5
on: {field: at, capacity: 3}
fields: {at: id<Room>, x: i8}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_generated_tests_pass(backend: Backend, tmp_path: Path) -> None:
    pytest.importorskip(backend)
    schemas, folder = tmp_path / "schemas", tmp_path / f"farm_{backend}"
    schemas.mkdir()
    (schemas / "a.yaml").write_text(SCHEMA, encoding="utf-8")
    build(schemas, folder, backend=backend)
    for path in {*folder.rglob("*.py")} - {folder / "patch.py"}:  # whose loops black lays out
        text = path.read_text(encoding="utf-8")
        assert black.format_str(text, mode=black.Mode()) == text, path.name
    assert failures(tmp_path, folder) == []


def test_names_that_neighbours_have() -> None:
    text = """\
component: Patch
grid: {shape: [4, 5]}
fields: {offset: i32, distance: f32, Sheep: i32, grass: f32}
---
component: Sheep
on: cell
fields: {cell: id<Patch>, offset: f32}
"""
    found = checked(text)[1].errors
    assert [(one.code, one.mark.line, one.mark.column) for one in found] == [
        ("E103", 3, 10),
        ("E103", 3, 23),
        ("E103", 3, 38),
    ]
