"""Kernels on all cores give the bits that they give on one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest

from ecsgen.config import Backend
from tests.support.world_package import column_bytes, load, sources, world_package

PROGRAM = """
from numba import prange, threading_layer
from ecsgen_runtime.base.jit import jit

@jit(parallel=True)
def halves(out):
    for i in prange(len(out)):
        out[i] = i / 2.0

import numpy as np
out = np.empty(5)
halves(out)
try:
    threading_layer()
    print("several", *out)
except ValueError:  # no threads were ever started
    print("one", *out)
"""


def run(file: Path, threads: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "ECSGEN_THREADS": threads}
    return subprocess.run([sys.executable, str(file)], env=env, capture_output=True, text=True)


def test_the_environment_keeps_kernels_on_one_core(tmp_path: Path) -> None:
    """Also if those for several cores are kept on disk, and the other way round."""
    pytest.importorskip("numba")
    file = tmp_path / "halves.py"
    file.write_text(PROGRAM)
    for threads, cores in (("1", "one"), ("", "several"), ("1", "one")):
        assert run(file, threads).stdout == f"{cores} 0.0 0.5 1.0 1.5 2.0\n"


@pytest.mark.parametrize("threads", ["0", "2", "all"])
def test_the_environment_asks_for_no_other_number_of_cores(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    jit = pytest.importorskip("ecsgen_runtime.base.jit").__file__
    monkeypatch.setenv("ECSGEN_THREADS", threads)
    why = f"^ECSGEN_THREADS: wanted 1, which runs all kernels on .*, not '{threads}'; "
    with pytest.raises(ValueError, match=why):
        run_path(jit)


SCHEMA = """\
component: Patch
grid: {shape: [20, 30], wrap: true}
fields: {heat: f64, ill: bool, hits: i32}
---
component: Sheep
on: {field: cell}
fields: {cell: id<Patch>, energy: f64, hits: i32}
---
component: Spot
space: {field: at, wrap: [20, 0]}
fields: {at: "f32[2]", friend: entity, heading: "f32[3]", total: f64, hits: i32, grade: i64}
---
component: Star
owner: none
space: {field: at}
fields: {at: "f64[3]", mass: f64, seen: i64}
kernels:
  pull:
    parallel: true
    near: {radius: reach}
    args: {reach: f64}
    where: mass > 0.1
    steps: [seen += count(distance < 1), at += sum(offset * other.mass) * 0.01]
---
component: Cold
fields: {on: bool}
---
world: Field
queries: {spots: {all: [Spot, Cold]}, known: {all: [Spot], none: [Cold]}}
kernels:
  turn:
    over: Spot
    parallel: true
    near: 1.5
    steps:
      - Spot.heading = normalize(Spot.heading + sum(other.Spot.heading))
      - Spot.hits = i32(count())
  meet:
    over: spots
    parallel: true
    near: {radius: 2, among: known}
    steps: [Spot.total += sum(other.Spot.total * distance), "Spot.grade = max(other.Spot.hits)"]
  tell:
    over: Spot
    parallel: true
    near: 1.0
    where: random() < 0.8
    steps: [Spot.friend.Spot.total += f64(count()) / 3, "nearest(other.entity).Spot.hits += 1"]
  push:
    over: Spot
    parallel: true
    near: 1.0
    steps: |
      for other in other:
          other.Spot.total += other.distance
          if random() < 0.3:
              break
  sort:
    over: Spot
    parallel: true
    near: {close: {radius: 0.5}, far: {radius: 2}, all_of_them: {among: Spot}}
    steps: |
      kinds = vec(0, 0, 0, 0)
      for other in far:
          kinds[other.Spot.hits % 4] += 1
      if count(close) == 0:
          return
      Spot.grade = kinds[1] * 100 + kinds[2] + sum(all_of_them.Spot.hits)
  settle:
    over: Spot
    parallel: true
    near: 0.5
    steps: ["die(where=count() > 3)", "spawn(Spot(at=Spot.at + 1), where=random() < 0.05)"]
  spread:
    over: Patch
    parallel: true
    near: 1
    steps: ["Patch.ill = Patch.ill or count(other.ill) > 2", Patch.heat += sum(other.heat) / 9]
  graze:
    over: Sheep
    parallel: true
    near: {around: {radius: 1, among: Patch}, others: {radius: 1, among: Sheep}}
    steps:
      - Sheep.energy += sum(around.heat)
      - Sheep.hits = i32(count(others))
      - Sheep.cell.hits += 1
  alone:
    over: Spot
    parallel: true
    steps: |
      if Spot.hits % 3 == 0:
          return
      Spot.friend.Spot.total += 0.1
      Spot.hits += i32(Spot.friend.Spot.total)
  greet: {over: Spot, parallel: true, steps: [Spot.friend.Spot.hits += 1]}
"""
KERNELS = ("turn", "meet", "tell", "sort", "spread", "graze", "alone")
"""The others send messages in loops or at once, or spawn: those stay on one core."""
COLUMNS = {
    "patch": ("heat", "ill", "hits"),
    "sheep": ("energy", "hits", "cell"),
    "spot": ("at", "heading", "total", "hits", "grade"),
    "star": ("at", "mass", "seen"),
}


def field(backend: Backend, count: int) -> Any:
    """Return a world with so many of each, some at no finite place."""
    world = world_package(SCHEMA, f"all_cores_{backend}", backend).Field()
    random = np.random.default_rng(count)
    at = random.uniform(0, 20, (count, 2)).astype(np.float32)
    at[random.random(at.shape) < 0.02] = np.nan
    at[random.random(count) < 0.02] = np.inf
    spots = world.entities.create_many(count)
    friend = spots[random.integers(0, count, count)] if count else []
    heading = random.normal(size=(count, 3)).astype(np.float32)
    world.spot.create_many(spots, at=at, friend=friend, heading=heading, total=random.random(count))
    world.cold.create_many(spots[random.random(count) < 0.5])
    cells = world.patch.id_of_many(random.integers(0, 600, count))
    world.sheep.create_many(world.entities.create_many(count), cell=cells)
    places = random.uniform(0, 4, (count, 3))
    places[random.random(places.shape) < 0.02] = np.nan
    world.star.create_many(count, at=places, mass=random.random(count))
    data = world.patch.data
    data.ill[:], data.heat[:] = random.random(600) < 0.2, random.random(600)
    return world


def state(world: Any) -> dict[str, bytes]:
    world.collect()
    return column_bytes(world, COLUMNS)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that says into how many lanes loops are cut, whatever cores there are."""

    def cut(lanes: int) -> None:
        world_package(SCHEMA, "all_cores_numba", "numba")
        for name in ("world", "star"):
            module = sys.modules[f"all_cores_numba.{name}"]
            monkeypatch.setattr(module, "lane_count", lambda: lanes)

    return cut


@pytest.mark.parametrize("count", [0, 1, 7, 400])
def test_the_bits_are_those_of_one_core(count: int, cut: Callable[[int], None]) -> None:
    """Whatever number of threads, and as with numpy."""
    plain = field("numpy", count)
    worlds = {lanes: field("numba", count) for lanes in (1, 2, 7, 50)}
    before = state(plain)
    for kernel in (*KERNELS, *KERNELS):
        getattr(plain, kernel)()
        plain.star.pull(0.4)
        for lanes, world in worlds.items():
            cut(lanes)
            getattr(world, kernel)()
            world.star.pull(0.4)
            assert state(world) == state(plain), (kernel, lanes)
    changed = {name for name in before if state(plain)[name] != before[name]}
    assert count < 400 or changed == {*before} - {"sheep.cell", "spot.at", "star.mass"}


def test_rows_that_a_call_names_run_on_all_cores(cut: Callable[[int], None]) -> None:
    plain, world = field("numpy", 200), field("numba", 200)
    cut(3)
    named = np.arange(0, 200, 3)
    for each in (plain, world):
        each.star.pull(0.5, rows=named)
        for kernel in ("turn", "tell", "sort", "spread", "graze", "alone"):
            getattr(each, kernel)(rows=named)
    assert state(world) == state(plain)


def test_only_kernels_whose_order_matters_stay_on_one_core() -> None:
    text = sources(load(SCHEMA), "numba")["world.py"]
    parallel = set(re.findall(r"@jit\(parallel=True\)\ndef _(\w+)_kernel", text))
    assert parallel == {*KERNELS}


def test_numpy_knows_no_cores() -> None:
    for path, text in sources(load(SCHEMA), "numpy").items():
        assert not re.search("prange|lane", text), path
