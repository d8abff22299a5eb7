"""Hexagons: neighbours by steps on both backends, against the naive definition, and a snowflake."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

SCHEMA = """\
component: Cell
grid: {shape: [31, 31], hood: hex}
fields: {frozen: bool, around: i64, far: f64, way: "i64[2]"}
kernels:
  freeze: {near: 1, steps: ["around = count(other.frozen)", "frozen = frozen or around == 1"]}
  measure:
    near: reach
    args: {reach: i64}
    steps: [around = count(), far = sum(distance), way = nearest(offset)]
  compare:
    near: 2
    steps:
      - around = count(other.frozen != frozen, where=offset.x > 0)
      - far = max(distance, where=other.frozen != frozen, none=0)
---
component: Ant
on: cell
fields: {cell: id<Cell>, mates: i64, far: f64, way: "i64[2]", sight: i64, seen: i64}
---
world: Nest
kernels:
  meet:
    over: Ant
    near: {others: {radius: 3, among: Ant}, spots: {radius: Ant.sight, among: Cell}}
    turns: rows
    steps:
      - Ant.mates = count(others)
      - Ant.far = sum(others.distance)
      - Ant.way = nearest(others.offset)
      - Ant.seen = count(spots)
      - Ant.sight -= 2
"""
STEPS = ((1, 0), (0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1))
Offset = tuple[int, int]


@pytest.fixture(scope="module", params=BACKENDS)
def package(request: pytest.FixtureRequest) -> Any:
    """The schema as a package, on each backend."""
    backend: Backend = request.param
    return world_package(SCHEMA, f"nest_{backend}", backend)


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
        cells.measure(reach=radius)
        starts, rows = cells.near([*cells], radius)
        for row, here in enumerate(np.ndindex(shape)):
            ways = ways_around(here, shape, wrap, radius)
            assert cells.data.around[row] == len(ways)
            assert cells.data.far[row] == sum(map(length, ways))
            nearest = min(ways, key=length, default=(0, 0))
            assert tuple(cells.data.way[row].tolist()) == nearest
            coords = np.add(here, np.array(ways, np.int64).reshape(-1, 2)) % shape
            met = (coords @ (shape[1], 1)).tolist()
            assert rows[starts[row] : starts[row + 1]].tolist() == met


@pytest.mark.parametrize("shape", [(5, 6), (2, 3), (1, 7), (3, 11)])
@pytest.mark.parametrize("wrap", [*product((False, True), repeat=2)])
def test_cells_compare_themselves_with_hexagons_around(package: Any, shape: Any, wrap: Any) -> None:
    nest = package.Nest(cell=shape)
    cells = nest.cell
    cells.wrap = wrap
    frozen = np.random.default_rng(1).random(shape) < 0.5
    cells.data.frozen[:] = frozen.ravel()
    cells.compare()
    for row, here in enumerate(np.ndindex(shape)):
        ways = ways_around(here, shape, wrap, 2)
        ways = [way for way in ways if frozen[tuple(np.add(here, way) % shape)] != frozen[here]]
        assert cells.data.around[row] == sum(q > 0 for q, _ in ways)
        assert cells.data.far[row] == max(map(length, ways), default=0)


@pytest.mark.parametrize("wrap", [*product((False, True), repeat=2)])
def test_who_stands_on_hexagons_is_met_by_steps(package: Any, wrap: Any) -> None:
    shape = (5, 6)
    nest = package.Nest(cell=shape)
    nest.cell.wrap = wrap
    places = np.random.default_rng(3).permutation(30)[:9]
    sights = [1, 2, 3, 4, 5, 9, 20, 2**63 - 1, -1]
    nest.spawn(9, ant={"cell": (places + 2**32).astype(np.uint64), "sight": sights})
    nest.meet()
    coords = [divmod(cell, 6) for cell in places.tolist()]
    for row, here in enumerate(coords):
        others = [least_way(here, there, shape, wrap) for there in coords if there != here]
        ways = sorted(way for way in others if length(way) <= 3)
        assert nest.ant.data.mates[row] == len(ways)
        assert nest.ant.data.far[row] == sum(map(length, ways))
        assert tuple(nest.ant.data.way[row].tolist()) == min(ways, key=length, default=(0, 0))
        seen = ways_around(here, shape, wrap, sights[row])
        assert nest.ant.data.seen[row] == len(seen)


def test_another_number_of_axes_has_no_hexagons() -> None:
    from ecsgen_runtime.kernels.grids.neighbourhoods import parse_radius_and_hood

    assert parse_radius_and_hood("near", 2, "hex", 2) == 2
    with pytest.raises(ValueError, match="hexagons have two axes, and the grid has 3"):
        parse_radius_and_hood("near", 2, "hex", 3)
