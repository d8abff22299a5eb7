"""Neighbours on grids that are found in quicker ways: of whole columns, which have memory of their
own, and of few rows on a large grid, which are searched instead of cells, in the same order;
`kernels/interpreted/cells_around.yaml` has what cells ask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.kernels.grids import cell_geometry, stencils
from ecsgen_runtime.kernels.grids.cell_geometry import CellNeighbourhood
from ecsgen_runtime.kernels.grids.grid_layout import HOODS, GridLayout
from ecsgen_runtime.kernels.grids.stencils import Stencil

from ecsgen.config import BACKENDS
from ecsgen.render.kernel_printers import loop_reasons
from tests.support.interpreted_schemas import TOPICS
from tests.support.world_package import load, world_package


@pytest.mark.parametrize("question", ["expression", "far"])
def test_sums_of_infinities_do_not_warn(question: str) -> None:
    cells = world_package(TOPICS["cells_around"], "around_numpy").CellManager()
    cells.data.heat[:] = np.inf * (-1) ** np.arange(35)
    getattr(cells, f"ask_{question}")(*[0.5] * (question == "expression"))
    assert np.isnan(cells.data.out).any() == (question == "expression")


def test_columns_around_have_memory_of_their_own_as_long_as_they_are_used() -> None:
    stencil = Stencil(GridLayout((7, 5), (True, True)), "moore", 1)
    column = np.arange(35.0)
    picked, other = stencil.around(column)[:20], stencil.around(column + 100)
    again, memory = [*other], next(iter(other)).ctypes.data
    del other
    assert next(iter(stencil.around(column))).ctypes.data == memory
    assert [values[0] for values in picked] == [34, 30, 31, 4, 1, 9, 5, 6]
    assert len(again) == 8


def test_numpy_asks_about_whole_blocks() -> None:
    kernels = load(TOPICS["cells_around"]).components[0].kernels
    assert [kernel.name for kernel in kernels if loop_reasons(kernel.program)] == ["ask_each"]


def test_memory_is_given_back_at_exit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    free: list[Any] = []
    loan = stencils._Loan(free, (3,), np.dtype(np.float64))
    monkeypatch.setattr(stencils, "_MOST_KEPT", None)  # as modules are then
    del loan
    assert [array.shape for array in free] == [(3,)]


@pytest.mark.parametrize("hood", HOODS)
def test_occupied_cells_are_found_as_cells_are(hood: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_geometry, "_SEARCHED", -1000)
    random = np.random.default_rng(3)
    for _ in range(60):
        axes = 2 if hood == "hex" else int(random.integers(1, 4))
        shape = tuple(random.integers(1, 9, axes).tolist())
        layout = GridLayout(shape, tuple((random.random(axes) < 0.5).tolist()))
        here = dict.fromkeys(random.integers(0, layout.cells, 6).tolist())
        reach = CellNeighbourhood(layout, hood, int(random.integers(-1, 6)), True)
        for cell in range(-1, layout.cells):
            wanted = [near for near in reach[cell] if near in here]
            assert reach.occupied(cell, here) == wanted


def test_cells_far_from_borders_have_the_neighbours_of_all() -> None:
    for wrap in ((True, True), (False, True), (False, False)):
        layout = GridLayout((7, 9), wrap)
        by_shift, by_offset = (CellNeighbourhood(layout, "moore", 2, False) for _ in range(2))
        by_offset._find(0)
        for cell in range(layout.cells):
            assert by_shift[cell] == by_offset[cell]
            assert by_shift.ways(cell) == by_offset.ways(cell)


SCHEMA = """
component: Ground
grid: {shape: [400, 300], wrap: [true, false], hood: HOOD}
fields: {height: f32}
---
component: Wolf
fields: {seat: id<Ground>, hunger: f64, met: i64, worst: f64, felt: f64, seen: i64}
on: {field: seat, capacity: CAPACITY}
kernels:
  look:
    near: 20
    steps: ["met = count()", "worst = max(other.hunger)", "felt = sum(other.hunger * distance)"]
  wander:
    turns: random
    near: 20
    steps:
      - seen = seen * 31 + count(other.hunger > hunger)
      - felt += nearest(other.hunger)
      - seat = cell_at(Ground, coords(seat) + vec(1, 0))
"""


@pytest.mark.parametrize(("hood", "capacity"), [("moore", 1), ("hex", 3)])
def test_rows_are_searched_with_the_same_bits(hood: str, capacity: int) -> None:
    pytest.importorskip("numba")
    text = SCHEMA.replace("HOOD", hood).replace("CAPACITY", str(capacity))
    columns = []
    for backend in BACKENDS:
        package = world_package(text, f"few_{hood}{capacity}_{backend}", backend)
        world, random = package.World(), np.random.default_rng(5)
        cells = random.choice(400 * 300, 40, replace=False)
        seats = cells.astype(np.uint64) + np.uint64(1 << 32)
        world.spawn(40, wolf={"seat": seats, "hunger": random.random(40)})
        wolves = world.wolf
        wolves.look()
        assert wolves.data.met.sum() > 0
        wolves.wander()
        names = ("met", "worst", "felt", "seen", "seat")
        columns.append([getattr(wolves.data, name).tobytes() for name in names])
    assert columns[0] == columns[1]
