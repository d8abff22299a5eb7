"""Hexagons: who is near by steps, against the naive definition, and a snowflake;
`interpreted/hexagons.yaml` has the kernels."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.interpreted_schemas import TOPICS
from tests.support.world_package import world_package

STEPS = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
Offset = tuple[int, int]


@pytest.fixture(scope="module", params=BACKENDS)
def package(request: pytest.FixtureRequest) -> Any:
    """The schema as a package, on each backend."""
    backend: Backend = request.param
    return world_package(TOPICS["hexagons"], f"nest_{backend}", backend)


def length(way: Offset) -> int:
    """Return the number of steps of a way between hexagons."""
    q, r = way
    return max(abs(q), abs(r), abs(q + r))


def least_way(here: Any, there: Any, shape: Any, wrap: Any) -> Offset:
    """Return the way of fewest steps, the first ascending of several, of all within two turns."""
    axes = []
    for start, end, size, wraps in zip(here, there, shape, wrap, strict=True):
        way = end - start
        if wraps:
            way = (way + (size - 1) // 2) % size - (size - 1) // 2
        axes.append([way - size, way, way + size] if wraps else [way])
    ways = [(int(q), int(r)) for q, r in product(*axes)]
    return min(ways, key=lambda way: (length(way), way))


def ways_around(here: Any, shape: Any, wrap: Any, radius: int) -> list[Offset]:
    """Return the ways to the other cells within a radius, ascending."""
    cells = np.ndindex(shape)
    ways = [least_way(here, there, shape, wrap) for there in cells if there != here]
    return sorted(way for way in ways if length(way) <= radius)


def test_a_snowflake_grows_as_in_the_naive_model(package: Any) -> None:
    nest = package.Nest()
    cells = nest.cell
    cells.data.frozen[cells.grid.at((15, 15)) - 2**32] = True
    frozen = {(15, 15)}
    counts = []
    for _ in range(12):
        cells.freeze()
        empty = {(q + a, r + b) for q, r in frozen for a, b in STEPS} - frozen
        frozen |= {(q, r) for q, r in empty if sum((q + a, r + b) in frozen for a, b in STEPS) == 1}
        rows = cells.data.frozen[: len(cells)].reshape(31, 31)
        assert {(q, r) for q, r in np.argwhere(rows).tolist()} == frozen
        counts.append(len(frozen))
    assert counts == [7, 13, 31, 37, 55, 85, 127, 133, 151, 181, 235, 289]


@pytest.mark.parametrize("shape", [(5, 6), (2, 3), (1, 7), (3, 11)])
@pytest.mark.parametrize("wrap", [*product((False, True), repeat=2)])
def test_cells_are_met_once_by_their_fewest_steps(package: Any, shape: Any, wrap: Any) -> None:
    nest = package.Nest(cell=shape)
    cells = nest.cell
    cells.wrap = wrap
    for radius in (0, 1, 2, 5, 12):
        starts, rows = cells.near([*cells], radius)
        for row, here in enumerate(np.ndindex(shape)):
            ways = ways_around(here, shape, wrap, radius)
            coords = np.add(here, np.array(ways, np.int64).reshape(-1, 2)) % shape
            met = (coords @ (shape[1], 1)).tolist()
            assert rows[starts[row] : starts[row + 1]].tolist() == met


def test_another_number_of_axes_has_no_hexagons() -> None:
    from ecsgen_runtime.kernels.grids.neighbourhoods import parse_radius_and_hood

    assert parse_radius_and_hood("near", 2, "hex", 2) == 2
    with pytest.raises(ValueError, match="hexagons have two axes, and the grid has 3"):
        parse_radius_and_hood("near", 2, "hex", 3)
