"""Neighbours that move while a turn goes over them: how far they are is of now, whoever is met, and
rows of several spaces move in their own, as the judge has it."""

from __future__ import annotations

import pytest
from ecsgen_testing.reference.run import call
from numpy.random import default_rng

from ecsgen.config import BACKENDS, Backend
from tests.reference.world_comparison import Match, populated
from tests.reference.world_copy import assert_same, mirrored
from tests.support.world_package import world_package

MEETS = {
    "near": "radius: 2",
    "reached": "radius: Spot.reach",
    "everybody": "among: Spot",
}
LOOP = """\
      for x in o:
          x.Spot.at.x += 0.5
          Spot.far += x.distance
          Spot.at = x.Spot.at
          Spot.far += x.offset.x
          x.Spot.mate.Spot.at.y -= 1
          Spot.far -= x.distance
"""
SCHEMA = """\
component: Patch
grid: {shape: [2]}
fields: {far: f64}
---
component: Bird
on: {field: perch, capacity: 2}
fields: {perch: id<Patch>, far: f64}
---
component: Cat
on: cell
fields: {cell: id<Patch>, far: f64}
---
component: Spot
space: {field: at, wrap: [5, 0]}
fields: {at: "f32[2]", reach: f32, far: f32, met: i64, mate: entity}
---
component: Line
space: {field: x}
fields: {x: f64, far: f64, met: i64}
---
component: Spot2
space: {field: at}
fields: {at: "f32[2]", met: i64}
---
world: World
queries: {lines: {all: [Spot, Line]}, twins: {all: [Spot, Spot2]}}
kernels:
  axis:
    over: Line
    near: {o: {among: Line}}
    turns: random
    steps: ["for x in o:\\n    x.Line.x += 1\\n    Line.x -= 0.5\\n    Line.far += x.offset"]
  calls:
    over: Patch
    near: {o: {radius: 1, among: Bird}}
    turns: rows
    steps: ["for x in o:\\n    x.Bird.perch = self\\n    Patch.far += x.distance"]
  chases:
    over: Cat
    near: {o: {radius: 1, among: Bird}}
    turns: rows
    steps: ["for x in o:\\n    x.Bird.perch = Cat.cell\\n    Cat.far += x.distance"]
  crosses:
    over: lines
    near: {o: {radius: 2, among: Spot}, l: {radius: 1, among: Line}}
    turns: rows
    steps:
      - Spot.at.x += 1
      - Spot.met = count(o)
      - Line.x -= 1
      - Line.met = count(l)
      - Spot.mate.Spot.at = Spot.at * 2
  doubles:
    over: twins
    near: {o: {radius: 2, among: Spot}, p: {radius: 1, among: Spot2}}
    turns: rows
    steps:
      - Spot.at.x += 1
      - Spot2.at.y += 1
      - "for x in p:\\n    x.Spot2.at = Spot.at"
      - Spot.met = count(o)
      - Spot2.met = count(p)
""" + "".join(
    f"  {name}:\n    over: Spot\n    near: {{o: {{{near}}}}}\n    turns: rows\n    steps: |\n{LOOP}"
    for name, near in MEETS.items()
)
TWO_GRIDS = """\
component: Patch
grid: {shape: [2, 3], hood: von_neumann}
---
component: Ring
grid: {shape: [5], wrap: true}
---
component: Cat
on: cell
fields: {cell: id<Patch>, far: f64}
---
component: Runner
on: {field: lap}
fields: {lap: id<Ring>, far: f64}
---
world: World
queries: {racers: {all: [Cat, Runner]}}
kernels:
  races:
    over: racers
    near: {o: {radius: 1, among: Cat}, p: {radius: 1, among: Runner}}
    turns: rows
    steps:
      - Runner.lap = cell_at(Ring, coords(Runner.lap) + 1)
      - Cat.far = sum(o.distance)
      - Runner.far = sum(p.distance)
"""


@pytest.mark.parametrize("name", ["axis", "calls", "chases", "crosses", "doubles", *MEETS])
@pytest.mark.parametrize("backend", BACKENDS)
def test_neighbours_move(backend: Backend, name: str) -> None:
    module = world_package(SCHEMA, f"judged_moving_{backend}", backend)
    for seed in range(6):
        match = Match(populated(module, SCHEMA, default_rng(seed)), SCHEMA, seed)
        match.play(name)
        match.play(name)


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_stand_on_two_grids(backend: Backend) -> None:
    """A neighbourhood is on the grid on which both sides stand."""
    world = world_package(TWO_GRIDS, f"judged_two_grids_{backend}", backend).World()
    cells, laps = [*world.patch], [*world.ring]
    world.spawn(6, cat={"cell": cells}, runner={"lap": [*laps, laps[0]]})
    judge = mirrored(world, TWO_GRIDS)
    call(judge, "races")
    world.races()
    assert_same(world, judge, judge.schema.kernel("races"))
    assert world.cat.data.far.tolist() == [2, 3, 2, 2, 3, 2]
