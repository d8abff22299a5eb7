"""Kernels of the world that change settings, at once and in turns, on both backends: against the
reference interpreter, and within bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_testing.kernel_cases import check_kernel
from ecsgen_testing.reference.schema import Schema

from ecsgen.config import BACKENDS, Backend
from ecsgen.model.reference_schema import world_schema
from ecsgen.render.kernel_printers import loop_reasons
from tests.support.world_package import load, world_package

SCHEMA = """\
component: Body
fields: {x: f64, k: i32, at: "f64[2]", b: u8}
space: {field: at}
reductions: {heaviest: {max: x}}
kernels: {push: {steps: [k += i32(settings.total)]}}
---
component: Chip
fields: {x: f64, k: i32, b: u8}
---
component: Mark
---
world: Game
archetypes: {chunk: 512, components: [Chip, Mark]}
queries: {chips: {all: [Chip]}}
settings:
  total: {type: f64, default: 1, min: 0, max: 50}
  most: {type: i32, default: -3}
  last: entity
  any_: bool
  counts: "i32[4]"
  level: {type: u8, default: 2, min: 1, max: 9}
  wind: "f32[2]"
kernels:
  send:
    over: Body
    steps: |
      settings.total += Body.x
      settings.most = max(settings.most, Body.k)
      settings.last = self
      settings.any_ = settings.any_ or Body.k > 3
      settings.counts[Body.k] += settings.counts[0] + 1
      Body.x = settings.total
      if Body.k > 2:
          settings.level = Body.b
  look:
    over: Body
    near: {radius: 3}
    steps: |
      settings.total -= f64(count())
      for o in other:
          settings.counts[1] += 1
  turn:
    over: Body
    turns: random
    where: settings.total < 40
    near: {radius: settings.total}
    steps: |
      settings.total *= 1.5
      settings.counts[Body.k] = settings.counts[0] + 1
      settings.counts.y += 2
      Body.x = settings.total + f64(count())
      settings.level = Body.b
      Body.k = settings.counts[Body.k] + i32(settings.level)
  add: {over: Body, steps: ["settings.total += Body.x"]}
  sum_up:
    over: Body
    near: {radius: 3}
    where: Body.k < 4
    steps:
      - settings.wind += vec(f32(Body.x), f32(count()))
      - settings.wind.y -= f32(max(distance)) / 3
      - settings.total = min(settings.total, sum(other.Body.x) / 7)
      - settings.most = Body.k
  gather:
    over: chips
    parallel: true
    steps: |
      settings.total += Chip.x
      settings.most = max(settings.most, Chip.k)
      settings.last = self
      settings.any_ = settings.any_ or Chip.k > 3
      settings.counts[Chip.k] += settings.counts[0] + 1
      Chip.x = settings.total
      if Chip.k > 2:
          settings.level = Chip.b
          return
      settings.total -= Chip.x
  weigh:
    over: chips
    args: {by: {type: f64, each: true}}
    where: Chip.k < 4
    steps:
      - settings.wind += vec(f32(Chip.x), f32(by))
      - settings.wind.y -= f32(Chip.x) / 3
      - settings.total = min(settings.total, Chip.x / 7)
      - settings.most = Chip.k
  count_chips: {over: chips, steps: [settings.most += 1]}
schedule:
  step:
    - {set: settings.total, to: "60 / max(Body.heaviest(), 1)"}
    - Body.push
    - {set: "settings.counts[1]", to: settings.most + 1, every: 2}
    - tick
    - {set: settings.most, to: i32(tick) * 10}
    - {set: settings.any_, to: true}
"""


@pytest.fixture(scope="module", params=BACKENDS)
def package(request: Any) -> Any:
    backend: Backend = request.param
    pytest.importorskip(backend)
    return world_package(SCHEMA, f"sent_settings_{backend}", backend)


# While numba compiles, frames that hold columns wait for the garbage collector.
@pytest.mark.filterwarnings("ignore:.*the buffer moved")
@pytest.mark.parametrize(
    "kernel", ["send", "look", "turn", "add", "sum_up", "gather", "weigh", "count_chips"]
)
def test_kernels_do_what_the_interpreter_does(package: Any, kernel: str) -> None:
    schema = Schema(world_schema(load(SCHEMA)))
    for rows, seed in ((1, 0), (9, 1), (33, 2), (33, 3)):
        check_kernel(package.Game, schema, kernel, rows, seed)


def test_at_once_numpy_sends_in_blocks() -> None:
    reasons = {kernel.name: loop_reasons(kernel.program) for kernel in load(SCHEMA).world.kernels}
    assert reasons["send"] == reasons["add"] == reasons["sum_up"] == ()
    assert all(reasons[name] for name in ("turn", "look"))


def test_bounds_clip_the_outcome_and_in_turns_each_assignment(package: Any) -> None:
    w = package.Game()
    entities = w.spawn(3, body={"x": [60.0, -30.0, 5.0], "k": [3, 4, 1], "b": [200, 0, 4]})
    w.send()
    assert (w.settings.total, w.settings.most, w.settings.level) == (36, 4, 1)
    assert (w.settings.last, w.settings.any_) == (entities[2], True)
    assert w.settings.counts.tolist() == [0, 1, 0, 1]
    assert w.body.data.x.tolist() == [1, 1, 1]
    w.body.data.x = 100
    w.add()
    assert w.settings.total == 50
    w.body.data.x = np.nan
    w.add()
    assert np.isnan(w.settings.total)


def test_rows_of_chunks_send_one_after_the_other(package: Any) -> None:
    w = package.Game()
    w.settings.total = 0
    w.archetypes.create([package.Chip], 40, chip={"x": 0.1, "k": 3, "b": 5})
    both = w.archetypes.create([package.Chip, package.Mark], 30, chip={"x": 1e-17, "k": 9})
    w.gather()
    total = 0.0
    for x in [0.1] * 40 + [1e-17] * 30:
        total += x
    assert w.settings.total == total
    assert (w.settings.most, w.settings.last, w.settings.any_) == (9, both[-1], True)


def test_a_radius_is_that_of_the_call(package: Any) -> None:
    w = package.Game()
    w.spawn(4, body={"at": [[0, 0], [0, 1.2], [0, 2.4], [0, 3.6]]})
    w.settings.total = 1.3
    w.turn()
    assert sorted(np.round(w.body.data.x % 1, 3).tolist()) == sorted(
        np.round([1.3 * 1.5**k % 1 for k in (1, 2, 3, 4)], 3).tolist()
    )
    assert round(w.settings.total, 3) == round(1.3 * 1.5**4, 3)


def test_schedules_set_settings(package: Any) -> None:
    w = package.Game()
    w.spawn(2, body={"x": [4.0, -3.0]})
    w.step()
    assert (w.settings.total, w.settings.most, w.body.data.k.tolist()) == (15, 10, [15, 15])
    assert w.settings.any_
    assert w.settings.counts.tolist() == [0, -2, 0, 0]
    w.body.data.x = 0.5
    w.step()
    assert (w.settings.total, w.settings.most) == (50, 20)
    assert w.settings.counts.tolist() == [0, -2, 0, 0]
    w.step()
    assert w.settings.counts.tolist() == [0, 21, 0, 0]
