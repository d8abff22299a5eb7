"""Loops of numpy and numba give the same bits for the time, no neighbours, and very many of
them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.kernels.grids.grid_layout import GridLayout
from ecsgen_runtime.kernels.grids.stencils import Stencil

from ecsgen.config import BACKENDS
from tests.support.world_package import world_package

TIMES = (0, 1, -5, 2**32, 2**62, 2**63 - 1, -(2**63))
SCHEMA = """\
component: Clock
fields: {x: i64, y: i64, z: i64, s: i64, late: bool}
---
component: Mote
space: {field: at}
fields: {at: "f32[2]", k: i64, single: f32, double: f64, whole: f64, most: f32}
kernels:
  ask: &ask
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
---
component: Drop
space: {field: at}
fields: {at: "f32[2]", side: f32, up: f32}
---
component: Salt
fields: {much: f32}
---
world: Hall
queries: {salty: {all: [Drop, Salt]}}
kernels:
  tell:
    over: Clock
    turns: rows
    steps:
      - Clock.x = tick // tick
      - Clock.y = tick % tick
      - Clock.z = tick * tick
      - Clock.s = tick - 3 * tick
      - Clock.late = tick + tick > 0
  drift:
    over: Drop
    near: {radius: 3, among: salty}
    steps: [Drop.side = sum(other.offset.x), Drop.up = sum(offset.y)]
""".replace(" &ask", "")


@pytest.fixture(params=BACKENDS)
def world(request: pytest.FixtureRequest) -> Any:
    return world_package(SCHEMA, f"bits_{request.param}", request.param).World()


def test_time_wraps_and_is_divided_as_any_number(world: Any) -> None:
    world.spawn(2, clock={})
    with np.errstate(all="ignore"):
        for tick in TIMES:
            t = np.int64(tick)
            world.tick = tick
            world.tell()
            data = world.clock.data
            wanted = [t // t, t % t, t * t, t - np.int64(3) * t, t + t > 0]
            columns = data.x, data.y, data.z, data.s, data.late
            assert [column[1] for column in columns] == wanted, tick


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


def test_offsets_of_rows_of_components_have_elements_by_name(world: Any) -> None:
    world.spawn(1, drop={"at": [0, 0]})
    world.spawn(2, drop={"at": [[1, 0.5], [0.5, 1]]}, salt={})
    world.drift()
    assert (world.drop.data.side[0], world.drop.data.up[0]) == (1.5, 1.5)


def test_counts_exceed_sixteen_bits() -> None:
    """As a radius of 128 reaches them; only numpy keeps counts in few bits."""
    stencil = Stencil(GridLayout((3, 3), (False, False)), "moore", 0)
    stencil._parts = [slice(0, 9)] * 65_537
    assert (stencil.count(np.ones(9, np.bool_)) == 65_537).all()
