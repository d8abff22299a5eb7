"""Cells from which members go and to which they come: compiled ones against dicts of Python."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.kernels.spaces import cell_lists as plain

from tests.support.bytecode_cache import uncompiled
from tests.support.soak import COMPILED

COUNT = 60
WRAPS = [(9.0, 9.0), (9.0, 7.0), (0.0, 0.0), (9.0, 0.0), (6.0, 7.0, 5.0), (2.0, 0.0, 9.0)]
WRAPS += [(9.0,), (0.0,), (2.0,)]


def library(name: str, is_compiled: bool) -> Any:
    """Return a module of the library, compiled or left to Python."""
    pytest.importorskip("numba")
    with nullcontext() if is_compiled else uncompiled():
        return import_module(f"ecsgen_runtime.kernels.spaces.{name}")


@pytest.mark.parametrize("is_outside", [False, True])
@pytest.mark.parametrize("is_one", [False, True])
@pytest.mark.parametrize("wrap", WRAPS)
def test_moves(wrap: tuple[float, ...], is_one: bool, is_outside: bool) -> None:
    """All wander and gather in a few cells, which get full; some are nowhere, or leave; some are
    outside of the axes from some time on."""
    compiled = library("compiled_cell_lists", COMPILED)

    kind: Any = (np.float64, np.float32)[len(wrap) == 3]
    rng = np.random.default_rng(len(wrap))
    axes = len(wrap)
    places = (rng.random((axes, COUNT)) * 9).astype(kind)
    places[0, 3] = np.nan
    names = np.arange(COUNT, dtype=np.uint64) // 2
    names = plain.NO_KEYS if is_one else names
    sizes = np.array([size or np.inf for size in wrap])
    rows = np.arange(COUNT)
    arguments = names, names, 1.3, wrap
    fast = compiled.live_cell_list(places.copy(), rows.copy(), *arguments)
    slow = plain.live_cell_list(places.copy(), rows.copy(), *arguments)
    lists = np.empty(COUNT + 1, np.uint32), np.empty(COUNT + 1, np.intp)
    ways = np.empty((axes, COUNT + 1), kind)
    middle = rng.random(axes) * 9
    met = 0
    for step in range(1500):
        row = int(rng.integers(COUNT))
        if step % 300 == 0:
            middle = rng.random(axes) * 9
        spread = 0.4 if step % 600 < 450 else 9.0
        spot = middle + rng.normal(0, spread, axes)
        if not is_outside or step < 400:
            spot = np.where(np.isinf(sizes), spot, spot % sizes)
        position = tuple(spot.astype(kind))
        if step % 50 == 7:
            position = (kind(np.inf), *position[1:])
        if step in (700, 900):
            compiled.remove_from_cells(fast, row)
            slow.leave(row)
        else:
            compiled.move_to_cell(fast, row, position)
            slow.move(row, position)
        asked = tuple((middle + rng.normal(0, 1, axes)).astype(kind))
        count = compiled.find_neighbours_now(fast, row, asked, lists[0], ways)
        assert count == slow.find(row, asked, lists[1])
        assert lists[0][:count].tolist() == lists[1][:count].tolist()
        met += count
    assert met > 1500


@pytest.mark.parametrize("narrow", range(3))
def test_the_shortest_way_wraps_along_a_narrow_axis(narrow: int) -> None:
    neighbour_cells = library("compiled_neighbour_search", COMPILED).neighbour_cells
    sizes = np.full(3, 30.0)
    sizes[narrow] = 2.5
    positions = np.random.default_rng(0).random((3, 4000)) * sizes[:, None]
    assert neighbour_cells(positions, positions, 2.0, (*sizes.tolist(),)).crosses.all()
