"""`full(cell, Daisy)`: whether a cell has room, on both backends, against plain Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

FIRST = 2**32
SCHEMA = """\
component: Patch
grid: {shape: [6, 7], wrap: true}
fields: {is_full: bool, around: i64}
---
component: Daisy
on: {field: cell, capacity: 2}
fields: {cell: id<Patch>, aim: id<Patch>, is_full: bool, free: id<Patch>}
kernels:
  own: {steps: ["is_full = full(cell, Daisy)"]}
---
world: Field
kernels:
  cells:
    over: Patch
    near: 1
    steps:
      - Patch.is_full = full(self, Daisy)
      - Patch.around = count(other, where=not full(other, Daisy))
  aims: {over: Daisy, steps: ["Daisy.is_full = full(Daisy.aim, Daisy)"]}
  sow:
    over: Daisy
    near: {around: {radius: 1, among: Patch}}
    turns: rows
    steps:
      - Daisy.is_full = full(Daisy.aim, Daisy)
      - spawn(Daisy(cell=Daisy.aim), where=not Daisy.is_full)
      - Daisy.free = max_by(around, around.around, where=not full(around, Daisy))
      - die(where=Daisy.is_full)
"""


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest) -> Any:
    backend: Backend = request.param
    world = world_package(SCHEMA, f"full_cells_{backend}", backend).Field()
    rng = np.random.default_rng(2)
    cells = rng.permutation(np.repeat(np.arange(42), 2))[:40].astype(np.uint64) + FIRST
    aims = rng.integers(0, 44, 40).astype(np.uint64) + FIRST
    aims[aims >= FIRST + 42] = 0
    cells[:3] = 0
    world.daisy.create_many(world.entities.create_many(40), cell=cells, aim=aims)
    return world


def is_full(standing: Counter[int], cell: int) -> bool:
    return cell < FIRST or standing[cell] >= 2


def test_a_cell_is_full_before_the_kernel(world: Any) -> None:
    daisies = world.daisy.data
    standing = Counter(daisies.cell.tolist())
    world.daisy.own()
    assert daisies.is_full.tolist() == [is_full(standing, cell) for cell in daisies.cell.tolist()]
    world.aims()
    assert daisies.is_full.tolist() == [is_full(standing, cell) for cell in daisies.aim.tolist()]


def test_cells_say_of_themselves_and_of_those_around(world: Any) -> None:
    standing = Counter(world.daisy.data.cell.tolist())
    world.cells()
    full = np.array([is_full(standing, FIRST + cell) for cell in range(42)])
    assert (world.patch.data.is_full == full).all()
    grid = ~full.reshape(6, 7)
    steps = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    around = sum(np.roll(grid, step, (0, 1)).astype(int) for step in steps)
    assert (world.patch.data.around.reshape(6, 7) == around).all()


def test_in_turns_newborn_count_and_the_dead_do_not(world: Any) -> None:
    daisies = world.daisy.data
    cells, aims, before = daisies.cell.tolist(), daisies.aim.tolist(), daisies.entity.copy()
    standing, full, born, dead = Counter(cells), [], [], []
    for row, (cell, aim) in enumerate(zip(cells, aims, strict=True)):
        full.append(is_full(standing, aim))
        if full[-1]:
            dead.append(row)
            standing[cell] -= 1
        else:
            born.append(aim)
            standing[aim] += 1
    world.sow()
    alive = [row for row in range(40) if row not in dead]
    cells_left = dict(zip(daisies.entity.tolist(), daisies.cell.tolist(), strict=True))
    assert [cells_left[entity] for entity in before[alive].tolist()] == [
        cells[row] for row in alive
    ]
    newborn = [cell for entity, cell in cells_left.items() if entity not in before]
    assert sorted(newborn) == sorted(born)
    assert 5 < len(dead) < 35
