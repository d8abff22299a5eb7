"""Loops of numpy and numba give the same bits for no neighbours, and very many of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.kernels.grids.grid_layout import GridLayout
from ecsgen_runtime.kernels.grids.stencils import Stencil

from ecsgen.config import BACKENDS
from tests.support.world_package import world_package

SCHEMA = """\
component: Mote
space: {field: at}
fields: {at: "f32[2]", k: i64, single: f32, double: f64, whole: f64, most: f32}
kernels:
  ask:
    near: 1
    steps: [single = mean(other.single), double = mean(other.double), whole = mean(other.k),
            most = max(other.most)]
  ask_some:
    near: 1
    steps: ["single = mean(other.single, where=other.k > 5)",
            "double = mean(other.double, where=other.k > 5)",
            "whole = mean(other.k, where=other.k > 5)", "most = max(other.most, where=other.k > 5)"]
  ask_in_turn:
    near: 1
    turns: rows
    steps: ["single = mean(other.single, where=other.k > 5)", double = mean(other.double),
            "whole = mean(other.k, where=other.k > 5)", "most = max(other.most, where=other.k > 5)"]
---
component: Lamp
grid: {shape: [20, 20]}
fields: {light: f32}
kernels:
  mean: {near: 0, steps: [light = mean(other.light)]}
"""


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest) -> Any:
    return world_package(SCHEMA, f"bits_{request.param}", request.param).World()


@pytest.mark.parametrize("kernel", ["ask", "ask_some", "ask_in_turn"])
def test_nan_of_no_neighbours_has_no_sign(world: Any, kernel: str) -> None:
    world.spawn(2, mote={"at": [[0, 0], [9, 9]]})
    getattr(world.mote, kernel)()
    data = world.mote.data
    for column in (data.single, data.double, data.whole, data.most):
        assert np.isnan(column).all()
        assert not np.signbit(column).any()


def test_nan_of_no_cells_has_no_sign(world: Any) -> None:
    world.lamp.mean()
    assert np.isnan(world.lamp.data.light).all()
    assert not np.signbit(world.lamp.data.light).any()


def test_counts_exceed_sixteen_bits() -> None:
    """As a radius of 128 reaches them; only numpy keeps counts in few bits."""
    stencil = Stencil(GridLayout((3, 3), (False, False)), "moore", 0)
    stencil._parts = [slice(0, 9)] * 65_537
    assert (stencil.count(np.ones(9, np.bool_)) == 65_537).all()
