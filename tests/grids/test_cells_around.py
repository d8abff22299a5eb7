"""Cells that ask those around without a loop, and the memory that they use;
`kernels/interpreted/cells_around.yaml` has what they ask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.kernels.grids import stencils
from ecsgen_runtime.kernels.grids.grid_layout import GridLayout
from ecsgen_runtime.kernels.grids.stencils import Stencil

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
