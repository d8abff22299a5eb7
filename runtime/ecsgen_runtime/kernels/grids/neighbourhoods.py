"""Which cells are in reach of cells, and who stands on these: all pairs at once, in order."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ...base.errors import short_repr
from ...base.handles import RowArray
from ...managers.policies.ids import stale_id_error
from ...tables.placement import NO_ROWS
from ...values.array_coercion import as_entities
from ..spaces.spatial import Neighbours
from .grid_layout import HOODS, GridLayout, cells_of_ids, neighbourhood_offsets

if TYPE_CHECKING:
    from .grid_manager import GridManager

CellPairs = tuple[RowArray, RowArray]
"""Of each pair which of those who ask it is of, ascending, and the cell in reach."""


def parse_cells(grid: GridManager, label: str, ids: ArrayLike) -> RowArray:
    """Return k cells by their ids, or raise StaleIdError."""
    given = as_entities(ids, f"{label}: cells")
    cells = cells_of_ids(given, len(grid))
    if (cells < 0).any():
        raise stale_id_error(type(grid).__name__, int(given[int((cells < 0).argmax())]))
    return cells


def parse_radius_and_hood(label: str, radius: SupportsIndex, hood: str) -> int:
    """Return a radius as an int; ValueError below 0, or for a hood that there is not."""
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
    return reach


def neighbour_cell_pairs(
    layout: GridLayout, cells: RowArray, radius: int, hood: str, center: bool
) -> CellPairs:
    """Return the cells in reach of each of k cells, by offset; O(pairs)."""
    if radius == 0 and center:
        return np.arange(len(cells)), cells
    steps = neighbourhood_offsets(layout, hood, radius, center)
    count = len(steps)
    places = layout.unravel(cells)[:, None, :] + steps
    found = layout.ravel(places.reshape(-1, steps.shape[1]))
    who = np.arange(len(cells)).repeat(count)
    inside = found >= 0
    if inside.all():
        return who, found
    return who[inside], found[inside]


def occupant_pairs(pairs: CellPairs, starts: RowArray, rows: RowArray) -> CellPairs:
    """Return the rows that stand on the cells of pairs, on each in their order; O(found)."""
    who, cells = pairs
    low = starts[cells]
    counts = starts[cells + 1] - low
    ends = counts.cumsum()
    places = np.arange(int(ends[-1]) if len(ends) else 0)
    places += (low - (ends - counts)).repeat(counts)
    return who.repeat(counts), rows[places]


def pairs_to_neighbours(pairs: CellPairs, count: int) -> Neighbours:
    """Return pairs of `count` who ask as starts and rows."""
    who, found = pairs
    starts = np.zeros(count + 1, np.intp)
    np.cumsum(np.bincount(who, minlength=count), out=starts[1:])
    return Neighbours(starts, found)


def rows_by_cell(cells: RowArray, count: int) -> tuple[RowArray, RowArray]:
    """Return where the rows of each cell begin, shape (count + 1,), in an array that has these
    numbers and then the rows by cell, those of one in their order; -1 stands nowhere. O(n + count).
    """
    here = cells >= 0
    rows = NO_ROWS if not here.any() else here.nonzero()[0]
    numbers = cells[rows]
    found = np.empty(count + 1 + len(rows), np.intp)
    found[0] = count + 1
    np.cumsum(np.bincount(numbers, minlength=count), out=found[1 : count + 1])
    found[1 : count + 1] += count + 1
    # by 16 bits at a time numpy sorts in O(n)
    order = (numbers & 0xFFFF).astype(np.uint16).argsort(kind="stable")
    if count > 0x10000:
        order = order[(numbers[order] >> 16).astype(np.uint16).argsort(kind="stable")]
    found[count + 1 :] = rows[order]
    return found[: count + 1], found
