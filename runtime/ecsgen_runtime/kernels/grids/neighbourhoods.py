"""Pairs of cells and the cells in reach of them, or these cells' occupants, in order."""

from __future__ import annotations

from collections.abc import Sized
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ...base.errors import short_repr
from ...base.handles import IdArray, Neighbours, RowArray
from ...managers.policies.ids import stale_id_error
from ...tables.placement import NO_ROWS, joined_ranges
from ...values.array_coercion import as_entities
from .grid_layout import HEXAGONAL, HOODS, GridLayout, cells_of_ids, neighbourhood_offsets

if TYPE_CHECKING:
    from .grid_layout import GridHolder

CellPairs = tuple[RowArray, RowArray]
"""Number of the asking cell of each pair, ascending, and the cell in reach."""


def known_cells(grid: Sized, ids: IdArray) -> RowArray:
    """Return k cells by their ids, NO_CELL for 0, or raise StaleIdError."""
    cells = cells_of_ids(ids, len(grid))
    is_stale = (cells < 0) & (ids != 0)
    if is_stale.any():
        raise stale_id_error(type(grid).__name__, int(ids[is_stale.argmax()]))
    return cells


def parsed_pairs(
    grid: GridHolder,
    label: str,
    ids: ArrayLike,
    radius: SupportsIndex,
    hood: str | None,
    center: bool,
) -> tuple[CellPairs, int]:
    """Return the cells in reach of each of k cells, and k; the grid's hood by default. Raises
    StaleIdError, TypeError or ValueError for what a user asks."""
    cells = known_cells(grid, as_entities(ids, f"{label}: cells"))
    asked = grid.HOOD if hood is None else hood
    reach = parse_radius_and_hood(label, radius, asked, len(grid.grid_layout.shape))
    return _neighbour_cell_pairs(grid.grid_layout, cells, reach, asked, center), len(cells)


def parse_radius_and_hood(label: str, radius: SupportsIndex, hood: str, axes: int) -> int:
    """Return a radius as an int, or raise TypeError or ValueError for a radius or a hood that grids
    of so many axes do not have."""
    if isinstance(radius, bool | np.bool_):
        raise TypeError(f"{label}: radius: wanted an integer, not {radius}")
    try:
        reach = index(radius)
    except TypeError:
        raise ValueError(f"{label}: radius: wanted an integer, not {short_repr(radius)}") from None
    if reach < 0:
        raise ValueError(f"{label}: radius: wanted 0 or more, not {reach}")
    if hood not in HOODS:
        raise ValueError(f"{label}: hood: wanted one of {', '.join(HOODS)}, not {short_repr(hood)}")
    if hood == HEXAGONAL and axes != 2:
        raise ValueError(f"{label}: hood: hexagons have two axes, and the grid has {axes}")
    return reach


def _neighbour_cell_pairs(
    layout: GridLayout, cells: RowArray, radius: int, hood: str, center: bool
) -> CellPairs:
    """Return the cells in reach of each of k cells, none of NO_CELL, by offset; O(pairs)."""
    numbers = (cells >= 0).nonzero()[0]
    cells = cells[numbers]
    if radius == 0 and center:
        return numbers, cells
    steps = neighbourhood_offsets(layout, hood, radius, center)
    count = len(steps)
    coordinates = layout.unravel(cells)[:, None, :] + steps
    neighbours = layout.ravel(coordinates.reshape(-1, steps.shape[1]))
    askers = numbers.repeat(count)
    inside = neighbours >= 0
    if inside.all():
        return askers, neighbours
    return askers[inside], neighbours[inside]


def occupant_pairs(pairs: CellPairs, starts: RowArray, rows: RowArray) -> CellPairs:
    """Return pairs of asking cells and the occupants of cells in reach, in order; O(pairs)."""
    askers, cells = pairs
    counts = starts[cells + 1] - starts[cells]
    return askers.repeat(counts), rows[joined_ranges(starts[cells], counts)[1]]


def pairs_to_neighbours(pairs: CellPairs, count: int) -> Neighbours:
    """Return pairs of `count` asking cells as starts and rows."""
    askers, members = pairs
    return Neighbours(askers.searchsorted(np.arange(count + 1)), members)


def rows_by_cell(cells: RowArray, count: int) -> tuple[RowArray, RowArray]:
    """Return starts and rows by cell, in ascending order; rows with cell -1 are left out. Starts,
    shape (count + 1,), are a view of the array of rows, which begins with them. O(n + count)."""
    here = cells >= 0
    rows = NO_ROWS if not here.any() else here.nonzero()[0]
    numbers = cells[rows]
    index_and_rows = np.empty(count + 1 + len(rows), np.intp)
    index_and_rows[0] = count + 1
    np.cumsum(np.bincount(numbers, minlength=count), out=index_and_rows[1 : count + 1])
    index_and_rows[1 : count + 1] += count + 1
    # by 16 bits at a time numpy sorts in O(n)
    order = (numbers & 0xFFFF).astype(np.uint16).argsort(kind="stable")
    if count > 0x10000:
        order = order[(numbers[order] >> 16).astype(np.uint16).argsort(kind="stable")]
    index_and_rows[count + 1 :] = rows[order]
    return index_and_rows[: count + 1], index_and_rows
