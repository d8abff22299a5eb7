"""Cells for compiled kernels that ask neighbours: places are counted into them, where there are not
many more cells than places."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..spaces.cells import (
    CellNumbers,
    CellOrder,
    Grid,
    Lattice,
    Places,
    grid_of,
    numbered,
    runs_around,
    sorted_cells,
    space_measures,
)
from ..spaces.search import PlaceNames, finite_places
from ..typed import NamedTuple
from .cells import (
    PlaceNumbers,
    cells_around,
    counted_cells,
    gathered_places,
    numbered_cells,
)

_SPARSE: Final = 4
"""So many times more cells than places are too many for a table."""
NO_NAMES: Final = np.empty(0, np.uint64)


class NearCells(NamedTuple):
    """Who asks, who is asked, and where these are, for one call of a kernel."""

    order: PlaceNumbers
    """Who asks k-th, in the order of cells, shape (asking,)."""
    members: PlaceNumbers
    """Who is the k-th who may be asked, shape (members,)."""
    names: PlaceNames
    """Of two sets: who does not ask whom of the same name, shape (asking,)."""
    other_names: PlaceNames
    """Shape (members,)."""
    cells: PlaceNumbers
    """Where those of each cell begin, shape (cells + 1,)."""
    runs: PlaceNumbers
    """Where the runs of members around each cell begin, shape (cells + 1,)."""
    low: PlaceNumbers
    """Where each run begins and ends among the members, shape (runs,)."""
    high: PlaceNumbers
    crosses: NDArray[np.bool_]
    """For which cells the way to a member may lead around."""
    most: int
    """How many members are around a cell at most."""
    own: Places
    """Places of those who ask, in their order, shape (axes, asking)."""
    others: Places
    """Places of members in the order of cells, NaN of those who are not seen."""
    reach: Any
    """The square of the radius."""
    sizes: NDArray[Any]
    """The size of each axis, and half of it: 1 and infinity where it is open; shape (2, axes)."""


def near_cells(
    own: Places,
    seen: Places,
    radius: float,
    wrap: Sequence[float],
    is_one: bool = True,
    names: tuple[PlaceNames, PlaceNames] | None = None,
) -> NearCells:
    """Return the cells of places among themselves, shape (axes, k); `seen` has NaN for those that
    others do not see. O(k). Or those of two sets, with their names; O(k log k)."""
    if not is_one:
        return _two_sets(own, seen, radius, wrap, names)
    kind = own.dtype.type
    grid = grid_of(radius, wrap, kind)
    numbers = np.empty(own.shape, np.int64)
    ends = np.zeros((2, len(own)), np.int64)
    edges, counts = np.array(grid.edges), np.array(grid.counts)
    is_inside = numbered_cells(
        own, edges, counts, np.array(wrap, np.float64), numbers, ends
    )
    low = np.where(counts, 0, ends[0] - 1)
    spans = [
        count or high - one + 2
        for count, one, high in zip(
            grid.counts, low.tolist(), ends[1].tolist(), strict=True
        )
    ]
    if prod(spans) <= min(_SPARSE * own.shape[1] + 1024, 2**32 - 2):
        found = _tabled(grid, numbers, low, spans, is_inside)
    else:
        found = _sorted(grid, finite_places(own))
    order, cells, runs, starts, stops, crosses, most = found
    near = gathered_places(own, order)
    others = near if seen is own else gathered_places(seen, order)
    none = NO_NAMES
    return NearCells(
        order,
        order,
        none,
        none,
        cells,
        runs,
        starts,
        stops,
        crosses,
        most,
        near,
        others,
        *space_measures(kind, radius, wrap),
    )


def _two_sets(
    own: Places,
    seen: Places,
    radius: float,
    wrap: Sequence[float],
    names: tuple[PlaceNames, PlaceNames] | None,
) -> NearCells:
    """Return the cells of places that ask and of others that are asked."""
    kind = own.dtype.type
    grid = grid_of(radius, wrap, kind)
    lattice, numbers = numbered(grid, finite_places(own), finite_places(seen))
    asking, members = (
        sorted_cells(lattice.keys(each), lattice.most) for each in numbers
    )
    found = _listed(lattice, numbers[0], asking, members)
    order, met = found[0], members.order.astype(np.uint32)
    one, other = (
        (NO_NAMES, NO_NAMES) if names is None else (names[0][order], names[1][met])
    )
    near, others = gathered_places(own, order), gathered_places(seen, met)
    return NearCells(
        order,
        met,
        one,
        other,
        *found[1:],
        near,
        others,
        *space_measures(kind, radius, wrap),
    )


Found = tuple[
    PlaceNumbers,
    PlaceNumbers,
    PlaceNumbers,
    PlaceNumbers,
    PlaceNumbers,
    NDArray[np.bool_],
    int,
]


def _tabled(
    grid: Grid,
    numbers: CellNumbers,
    low: CellNumbers,
    spans: list[int],
    is_inside: bool,
) -> Found:
    """Return cells by way of a table of all of them."""
    most = prod(spans)
    table, order = np.zeros(most + 1, np.uint32), np.empty(numbers.shape[1], np.uint32)
    sides = np.array([1] * (3 - len(spans)) + spans)
    counts = np.array([1] * (3 - len(spans)) + list(grid.counts))
    cells = counted_cells(numbers, low, np.array(spans), table, order)
    starts, runs = np.empty(cells + 1, np.uint32), np.empty(cells + 1, np.uint32)
    ends = np.empty((2, (18 if len(spans) == 3 else 6) * cells + 1), np.uint32)
    crosses = np.empty(cells, np.bool_)
    count, around = cells_around(
        table, sides, counts, is_inside, starts, runs, ends, crosses
    )
    return order, starts, runs, ends[0, :count], ends[1, :count], crosses, around


def _sorted(grid: Grid, places: Places) -> Found:
    """Return cells that are few among many."""
    lattice, (numbers,) = numbered(grid, places)
    found = sorted_cells(lattice.keys(numbers), lattice.most)
    return _listed(lattice, numbers, found, found)


def _listed(
    lattice: Lattice, numbers: list[CellNumbers], asking: CellOrder, members: CellOrder
) -> Found:
    firsts = asking.order[asking.starts[:-1]]
    around = runs_around(lattice, [each[firsts] for each in numbers], members)
    cells, each = around.low.shape
    most = int((around.high - around.low).sum(axis=1).max(initial=0))
    runs = np.arange(cells + 1) * each
    numbers_ = (
        asking.order,
        asking.starts,
        runs,
        around.low.ravel(),
        around.high.ravel(),
    )
    order, starts, begins, low, high = (one.astype(np.uint32) for one in numbers_)
    return order, starts, begins, low, high, np.ones(cells, np.bool_), most
