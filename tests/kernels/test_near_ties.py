"""Neighbours at the same distance, and questions about values that are no numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from ecsgen.config import Backend
from tests.support.world_package import world_package

STEPS = """\
[best = nearest(other.number), least = min(other.size), most = max(other.size),
 alone = sum(other.alone)]"""
SCHEMA = f"""\
world: Plane
---
component: Dot
fields: {{at: "f32[2]", number: i32, best: i32, size: f32, least: f32, most: f32, hops: bool,
         alone: "f32[1]"}}
space: {{field: at}}
kernels:
  ask: {{near: 3, steps: {STEPS}}}
  act: {{near: 3, turns: rows, steps: {STEPS}}}
  hop:
    near: 3
    turns: rows
    steps:
      - at.x += 100 if hops else 0
      - at.x -= 100 if hops else 0
      - best = nearest(other.number)
"""


KERNELS = [("numpy", "ask"), ("numpy", "act"), ("numba", "ask")]
"""Compiled turns are tried by `test_near_others`: numba takes seconds for them."""


@cache
def package(backend: Backend) -> Any:
    pytest.importorskip(backend)
    return world_package(SCHEMA, f"ties_{backend}", backend)


def dots(backend: Backend, *places: tuple[float, float]) -> Any:
    """A world of dots with numbers from 1."""
    world = package(backend).Plane()
    count = len(places)
    world.spawn(count, dot={"at": places, "number": np.arange(1, count + 1), "size": 1.0})
    return world


AROUND = ((0.5, 0.5), (1.5, 0.5), (0.5, 1.5), (-0.5, 0.5), (0.5, -0.5))
"""The middle, two in its cell, then one in the cell before along each axis."""


@pytest.mark.parametrize(("backend", "kernel"), KERNELS)
def test_the_first_in_order_is_the_nearest(backend: Backend, kernel: str) -> None:
    world = dots(backend, *AROUND)
    for nearest in (4, 5, 2, 3, 0):  # cell by cell, the first axis slowest; then by rows
        getattr(world.dot, kernel)()
        assert world.dot.data.best[0] == nearest
        gone = world.dot.data.entity[world.dot.data.number == nearest]
        world.entities.destroy_many(gone)  # their rows stay


def test_who_comes_back_is_the_last_in_its_cell() -> None:
    world = dots("numpy", (1.5, 0.5), (0.5, 1.5), (0.5, 0.5))
    world.dot.hop()
    assert world.dot.data.best[2] == 1
    world.dot.data.hops = [True, False, False]
    world.dot.hop()
    assert world.dot.data.best[2] == 2
    world.dot.data.hops = False
    world.dot.hop()  # cells are made anew by each call
    assert world.dot.data.best[2] == 1


@pytest.mark.parametrize(("backend", "kernel"), KERNELS)
@pytest.mark.parametrize("place", range(1, 5))
def test_what_is_no_number_passes_on(backend: Backend, kernel: str, place: int) -> None:
    """Wherever it stands in the order, with anything before it and behind it."""
    world = dots(backend, *AROUND, (50, 50))
    data = world.dot.data
    data.size = [0, 3, -np.inf, np.inf, -2, 7]
    getattr(world.dot, kernel)()
    assert (data.least[0], data.most[0]) == (-np.inf, np.inf)
    assert np.isnan([data.least[5], data.most[5]]).all()  # of no neighbours
    data.size[place] = np.nan
    getattr(world.dot, kernel)()
    assert np.isnan([data.least[0], data.most[0]]).all()


@pytest.mark.parametrize(("backend", "kernel"), KERNELS)
def test_a_shape_of_one_element_is_asked_for(backend: Backend, kernel: str) -> None:
    world = dots(backend, *AROUND)
    world.dot.data.alone = 1
    getattr(world.dot, kernel)(rows=[0])
    assert world.dot.data.alone[:, 0].tolist() == [4, 1, 1, 1, 1]
