"""Loops over neighbours: the same bits on both backends, and what plain Python does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.random_words import (
    call_key,
    pass_number,
    row_stem,
    unit_number,
    word,
)

from ecsgen.config import BACKENDS
from tests.support.world_package import column_bytes, world_package

SCHEMA = """\
component: Patch
grid: {shape: [20, 30], wrap: true}
fields: {heat: f64, ill: bool, hits: i32}
---
component: Sheep
on: {field: cell}
fields: {cell: id<Patch>, energy: f64, hits: i32, friend: entity}
---
component: Spot
space: {field: at, wrap: [20, 20]}
fields: {at: "f32[2]", friend: entity, total: f64, hits: i32}
---
world: Field
kernels:
  push:
    over: Spot
    near: 1.0
    steps: |
      for other in other:
          other.Spot.total += other.distance
          if random() < 0.3:
              other.Spot.hits += 1
          if other.Spot.hits > 3:
              break
  hunt:
    over: Spot
    turns: rows
    near: {prey: {radius: 1.0}}
    steps: |
      for hare in prey:
          if hare.Spot.hits > 2:
              hare.Spot.hits = 0
              continue
          hare.Spot.hits += 1
          Spot.total += f64(hare.offset.x)
          hare.Spot.friend = entity
          if random() < 0.05:
              destroy(hare)
          if random() < 0.02:
              die()
          hare.Spot.friend.Spot.total += 1
  shove:
    over: Spot
    turns: rows
    near: {mates: {radius: 1.5}}
    steps: |
      for mate in mates:
          Spot.total += f64(mate.distance)
          mate.Spot.at.x += 0.3
          Spot.total += f64(mate.offset.x)
          if mate.offset.y > 0:
              Spot.at.y -= 0.2
              Spot.total -= f64(mate.distance)
  spread:
    over: Patch
    near: 1
    steps: |
      if Patch.ill:
          for other in other:
              other.hits += 1
              other.heat = f64(Patch.hits) + 0.5 * other.distance
  infect:
    over: Patch
    turns: rows
    near: {around: {radius: 1}}
    steps: |
      if Patch.ill:
          for cell in around:
              if random() < 0.1 and not cell.ill:
                  cell.ill = true
                  cell.hits += 1
  meet:
    over: Sheep
    turns: random
    near: {mates: {radius: 2}}
    steps: |
      for mate in mates:
          mate.Sheep.energy += 1 / (1 + mate.distance)
          mate.Sheep.friend = entity
          if mate.distance > 1:
              Sheep.cell = mate.Sheep.cell
          Sheep.energy += f64(mate.offset[0])
          if mate.Sheep.energy > 4 and random() < 0.2:
              destroy(mate)
          if exists(mate.Sheep.friend):
              mate.Sheep.friend.Sheep.hits += 1
"""
COLUMNS = {
    "patch": ("heat", "ill", "hits"),
    "sheep": ("energy", "hits", "friend", "cell"),
    "spot": ("at", "total", "hits", "friend"),
}


def field(backend: Any) -> Any:
    world = world_package(SCHEMA, f"neighbour_loops_{backend}", backend).Field()
    rng = np.random.default_rng(2)
    spots = world.entities.create_many(600)
    at = rng.uniform(0, 20, (600, 2)).astype(np.float32)
    world.spot.create_many(spots, at=at, friend=spots[rng.integers(0, 600, 600)])
    cells = world.patch.id_of_many(rng.integers(0, 600, 200))
    world.sheep.create_many(world.entities.create_many(200), cell=cells)
    world.patch.data.ill[:] = rng.random(600) < 0.1
    return world


def state(world: Any) -> dict[str, bytes]:
    world.collect()
    return column_bytes(world, COLUMNS)


@pytest.mark.parametrize("kernel", ["push", "hunt", "shove", "spread", "infect", "meet"])
def test_both_backends_do_the_same(kernel: str) -> None:
    worlds = [field(backend) for backend in BACKENDS]
    before = state(worlds[0])
    for _ in range(3):
        for world in worlds:
            getattr(world, kernel)()
        assert state(worlds[0]) == state(worlds[1])
    assert state(worlds[0]) != before


@pytest.mark.parametrize("backend", BACKENDS)
def test_messages_to_neighbours_arrive_after_the_last_row(backend: Any) -> None:
    world = field(backend)
    data = world.patch.data
    world.spread()
    data.hits[:] = np.arange(600) % 7
    hits, heat, ill = data.hits.copy(), data.heat.copy(), data.ill.copy()
    steps = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    expected_hits, expected_heat = hits.copy(), heat.copy()
    for cell in np.flatnonzero(ill):
        row, column = divmod(int(cell), 30)
        for a, b in steps:
            other = (row + a) % 20 * 30 + (column + b) % 30
            expected_hits[other] += 1
            expected_heat[other] = hits[cell] + 0.5 * np.sqrt(float(a * a + b * b))
    world.spread()
    assert data.hits.tolist() == expected_hits.tolist()
    assert data.heat.tolist() == expected_heat.tolist()


LEAVES = """\
component: Leaf
instances: many
ids: true
space: {field: at}
fields: {at: "f32[2]", sum: f64}
kernels:
  fixed: {near: 1, steps: ["for other in other: sum += random()"]}
  own: {near: {radius: sum}, steps: ["for other in other: sum += random()"]}
---
world: Tree
"""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["fixed", "own"])
def test_of_many_a_pair_draws_by_its_ids(backend: Any, name: str) -> None:
    world = world_package(LEAVES, f"leaves_{backend}", backend).Tree()
    first, other = world.entities.create_many(2)
    world.leaf.create_many([first, first, other])
    world.leaf.destroy(0)  # its id's number is used again
    world.leaf.create_many([first], sum=1)
    world.leaf.data.sum = 1
    ids, key = [int(i) for i in world.leaf.id_of_many(range(3))], call_key(0, f"Leaf.{name}", 0)
    getattr(world.leaf, name)()
    for row, who in enumerate(ids):
        pairs = [pass_number(who, whom) for whom in ids if whom != who]
        drawn = [unit_number(word(row_stem(pair, key), 0)) for pair in pairs]
        assert world.leaf.data.sum[row] == pytest.approx(1 + sum(drawn), rel=1e-15)
