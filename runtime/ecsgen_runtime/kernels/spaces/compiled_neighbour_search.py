"""Neighbours of compiled kernels, searched before they run: members by cell, and cells around."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numba import prange
from numpy.typing import NDArray

from ...base.fast_typing import NamedTuple
from ...base.jit import jit, jit_for_cores
from .cell_lists import (
    NO_KEYS,
    SPARSE,
    CellGrid,
    CellNumbers,
    EntityKeys,
    Positions,
    cell_grid,
    numbered,
    runs_around,
    sorted_cells,
)
from .compiled_cell_lists import PlaceNumbers, cell_along, wrapped_number
from .neighbour_search import finite_positions


class NeighbourCells(NamedTuple):
    """Asking positions, members and their cells for one call of a kernel."""

    order: PlaceNumbers
    """Numbers of the asking positions in the order of cells, shape (asking,)."""
    members: PlaceNumbers
    """Numbers of the members in the order of cells, shape (members,)."""
    names: EntityKeys
    """Keys of the asking positions of two sets, shape (asking,); equal keys make no pair."""
    other_names: EntityKeys
    """Keys of the members, shape (members,)."""
    cells: PlaceNumbers
    """Start of each cell's asking positions, shape (cells + 1,)."""
    runs: PlaceNumbers
    """Start of the runs of members around each cell, shape (cells + 1,)."""
    low: PlaceNumbers
    """Start of each run among the members, shape (runs,); `high` has the ends."""
    high: PlaceNumbers
    crosses: NDArray[np.bool_]
    """True for cells from which the shortest way to a member may wrap."""
    max_members: int
    """Maximal number of members around a cell."""
    own: Positions
    """Asking positions in their order, shape (axes, asking)."""
    others: Positions
    """Positions of members in the order of cells, NaN for those that are not visible."""
    reach: Any
    """Square of the radius."""
    sizes: NDArray[Any]
    """Size of each axis, and half of it: 1 and infinity where it is open; shape (2, axes)."""


def neighbour_cells(
    positions: Positions,
    visible: Positions,
    radius: float,
    wrap: tuple[float, ...],
    is_one: bool = True,
    names: tuple[EntityKeys, EntityKeys] | None = None,
    lanes: int = 1,
) -> NeighbourCells:
    """Return the cells of one set of positions, shape (axes, k), or of two; O(k), or O(k log k) if
    cells are far more than positions.

    `visible` has NaN for members that are not visible. `lanes`: how many threads do it; the result
    is the same."""
    grid = cell_grid(radius, wrap, positions.dtype)
    sets = [positions] if is_one else [positions, visible]
    tables = _counted(grid, sets, lanes) or _sorted(grid, sets)
    order, member_order = tables[:2]
    keys = other_keys = NO_KEYS
    if names is not None:
        keys, other_keys = names[0][order], names[1][member_order]
    gathered = gathered_positions[lanes > 1]
    near = gathered(positions, order)
    others = near if visible is positions else gathered(visible, member_order)
    last = *tables[2:], near, others, grid.reach, grid.sizes
    return NeighbourCells(order, member_order, keys, other_keys, *last)


_Tables: TypeAlias = tuple[Any, ...]
"""Orders of asking positions and of members, then the fields of `NeighbourCells` from `cells` to
`max_members`."""


def _counted(grid: CellGrid, sets: Sequence[Positions], lanes: int) -> _Tables | None:
    """Return tables by counting positions in all cells; None if cells are far more."""
    low, spans = _spanned(grid, sets, lanes)
    n_cells, axes = prod(spans), len(spans)
    if n_cells > min(SPARSE * sum(each.shape[1] for each in sets) + 1024, 2**32 - 2):
        return None
    frame, counted = (np.array(grid.edges), np.array(grid.counts), low, np.array(spans)), []
    for positions in sets:
        n_positions = positions.shape[1]
        table, order = np.empty(n_cells + 1, np.uint32), np.empty(n_positions, np.uint32)
        own_lanes = max(1, min(lanes, 2 * n_positions // n_cells))  # each has a table of its own
        heads, are_inside = np.zeros((own_lanes, n_cells), np.uint32), np.empty(own_lanes, bool)
        count_cells = counted_cells[own_lanes > 1]
        cells = count_cells(positions, *frame, heads, are_inside, table, order)
        counted.append((order, table, cells, bool(are_inside.all())))
    (order, own_table, cells, _), (member_order, table, *_) = counted[0], counted[-1]
    starts, runs = np.empty(cells + 1, np.uint32), np.empty(cells + 1, np.uint32)
    bounds = np.empty((2, 2 * 3 ** (axes - 1) * cells + 1), np.uint32)
    crosses, padding = np.empty(cells, np.bool_), [1] * (3 - axes)
    sides, around = np.array(padding + spans), np.array(padding + list(grid.counts))
    are_all_inside = all(is_inside for *_, is_inside in counted)
    are_all_inside = are_all_inside and not any(0 < count < 4 for count in grid.counts)
    n_runs, max_members = cells_around(
        own_table, table, sides, around, are_all_inside, starts, runs, bounds, crosses
    )
    low_ends, high_ends = bounds[0, :n_runs], bounds[1, :n_runs]
    return order, member_order, starts, runs, low_ends, high_ends, crosses, max_members


def _spanned(
    grid: CellGrid, sets: Sequence[Positions], lanes: int
) -> tuple[CellNumbers, list[int]]:
    """Return the first number of a cell along each axis, and how many cells there are; an open axis
    has an empty one at each end."""
    edges, counts = np.array(grid.edges), np.array(grid.counts)
    ends = np.empty((len(sets), lanes, 2, len(edges)), np.int64)
    for positions, ends_of_set in zip(sets, ends, strict=True):
        outermost_cells[lanes > 1](positions, edges, counts, ends_of_set)
    least, greatest = ends[..., 0, :].min(axis=(0, 1)), ends[..., 1, :].max(axis=(0, 1))
    least, greatest = np.where(least > greatest, 0, [least, greatest])
    low = np.where(counts, 0, least - 1)
    open_spans = (greatest - low + 2).tolist()
    return low, [count or span for count, span in zip(grid.counts, open_spans, strict=True)]


def _sorted(grid: CellGrid, sets: Sequence[Positions]) -> _Tables:
    """Return tables by sorting positions."""
    lattice, numbers = numbered(grid, *map(finite_positions, sets))
    ordered = [sorted_cells(lattice.keys(along), lattice.key_limit) for along in numbers]
    asking, members = ordered[0], ordered[-1]
    firsts = asking.order[asking.starts[:-1]]
    ends = runs_around(lattice, [along[firsts] for along in numbers[0]], members)
    low, high = ends.reshape(2, -1).astype(np.uint32)
    _, cells, runs_per_cell = ends.shape
    max_members = int((ends[1] - ends[0]).sum(axis=1).max(initial=0))
    begins = np.arange(cells + 1) * runs_per_cell
    tables = (
        each.astype(np.uint32) for each in (asking.order, members.order, asking.starts, begins)
    )
    return *tables, low, high, np.ones(cells, np.bool_), max_members


@jit(forceinline=True)
def _first_of(lane: Any, lanes: Any, count: Any) -> Any:
    """Return the first of so many positions that a lane has."""
    return lane * count // lanes


@jit_for_cores
def outermost_cells(
    positions: Positions, edges: NDArray[np.float64], counts: CellNumbers, ends: CellNumbers
) -> None:
    """Write the least and greatest number of a cell along open axes among each lane's positions,
    shape (lanes, 2, axes); the least is greater if none is finite, and along other axes."""
    lanes, count = len(ends), positions.shape[1]
    for lane in prange(lanes):
        for axis in range(len(positions)):
            least, greatest = np.inf, -np.inf
            first, end = _first_of(lane, lanes, count), _first_of(lane + 1, lanes, count)
            for k in range(first, end if counts[axis] == 0 else first):
                x = np.float64(positions[axis, k])
                if np.isfinite(x):
                    least, greatest = min(least, x), max(greatest, x)
            _, ends[lane, 0, axis] = cell_along(edges[axis], 0, least)
            _, ends[lane, 1, axis] = cell_along(edges[axis], 0, greatest)


@jit_for_cores
def counted_cells(
    positions: Positions,
    edges: NDArray[np.float64],
    counts: CellNumbers,
    low: CellNumbers,
    spans: CellNumbers,
    heads: PlaceNumbers,
    are_inside: NDArray[np.bool_],
    table: PlaceNumbers,
    order: PlaceNumbers,
) -> int:
    """Sort positions into cells, stably; return the number of cells with positions.

    `heads`: zeros, shape (lanes, cells), for where each lane's positions go; `are_inside` gets if
    none of them is outside of a wrapped axis, and `table` the start of each cell."""
    keys = np.empty(len(order), np.uint32)
    lanes, count = len(heads), len(order)
    for lane in prange(lanes):
        is_inside = True
        for k in range(_first_of(lane, lanes, count), _first_of(lane + 1, lanes, count)):
            key: Any = np.int64(0)
            for axis in range(len(positions)):
                number: Any = np.int64(0)
                if np.isfinite(positions[axis, k]):
                    is_within, cell = cell_along(edges[axis], counts[axis], positions[axis, k])
                    is_inside = is_inside and is_within
                    number = max(cell - low[axis], 0)
                key = key * spans[axis] + number
            keys[k] = key
            heads[lane, key] += 1
        are_inside[lane] = is_inside
    cells, start = 0, np.uint32(0)
    for key in range(heads.shape[1]):
        table[key] = start
        for lane in range(lanes):
            heads[lane, key], start = start, np.uint32(start + heads[lane, key])
        cells += start > table[key]
    table[-1] = start
    for lane in prange(lanes):
        for k in range(_first_of(lane, lanes, count), _first_of(lane + 1, lanes, count)):
            key = keys[k]
            order[heads[lane, key]] = k
            heads[lane, key] += 1
    return cells


@jit()
def cells_around(
    own_table: PlaceNumbers,
    table: PlaceNumbers,
    sides: CellNumbers,
    counts: CellNumbers,
    is_inside: bool,
    starts: PlaceNumbers,
    runs: PlaceNumbers,
    ends: PlaceNumbers,
    crosses: NDArray[np.bool_],
) -> tuple[int, int]:
    """Write the start of each cell's asking positions and the runs of members around it; return
    the number of runs, and the maximal number of members around a cell.

    `own_table` and `table` have the starts of all cells' asking positions and members. Sides of
    axes that the space does not have are 1. `is_inside`: False if the shortest way from any cell
    may wrap.
    """
    n_runs, cell, max_positions = 0, 0, 0
    begin, end = (counts == 1) - 1, 2 - (counts == 1) - (counts == 2)
    around, count = np.empty(9, np.intp), counts[2]
    for x in range(sides[0]):
        for y in range(sides[1]):
            strips = 0
            for i in range(begin[0], end[0]):
                for j in range(begin[1], end[1]):
                    strip = wrapped_number(x + i, counts[0]) * sides[1] + wrapped_number(
                        y + j, counts[1]
                    )
                    around[strips] = strip * sides[2]
                    strips += 1
            is_rim = not is_inside or (counts[0] > 1 and (x == 0 or x == counts[0] - 1))
            is_rim = is_rim or (counts[1] > 1 and (y == 0 or y == counts[1] - 1))
            first = (x * sides[1] + y) * sides[2]
            for z in range(sides[2]):
                if own_table[first + z] == own_table[first + z + 1]:
                    continue
                starts[cell], runs[cell] = own_table[first + z], n_runs
                is_end = count > 0 and (z == 0 or z == count - 1)
                crosses[cell] = is_rim or is_end
                positions = 0
                for k in range(strips):
                    strip = around[k]
                    if is_end:
                        before = n_runs
                        n_runs = _stretch(table, strip, z, count, ends, n_runs)
                        for run in range(before, n_runs):
                            positions += ends[1, run] - ends[0, run]
                        continue
                    low, high = table[strip + z - 1], table[strip + z + 2]
                    ends[0, n_runs], ends[1, n_runs] = low, high
                    n_runs += low < high
                    positions += (high - low) * (low < high)
                max_positions = max(max_positions, positions)
                cell += 1
    starts[cell], runs[cell] = own_table[-1], n_runs
    return n_runs, max_positions


@jit()
def _stretch(
    table: PlaceNumbers, strip: int, z: int, count: int, ends: PlaceNumbers, n_runs: int
) -> int:
    """Write the runs around a cell at an end of a strip that wraps; return the runs so far."""
    low, high, again = z - 1, z + 2, 0
    if count == 1:
        low, high = z, z + 1
    elif z == 0:
        low, high, again = count - 1, count, min(count - 1, 2)
    else:
        high, again = count, int(count > 2)
    if table[strip + low] < table[strip + high]:
        ends[0, n_runs], ends[1, n_runs] = table[strip + low], table[strip + high]
        n_runs += 1
    if table[strip] < table[strip + again]:
        ends[0, n_runs], ends[1, n_runs] = table[strip], table[strip + again]
        n_runs += 1
    return n_runs


@jit()
def ranks_of_lane(order: PlaceNumbers, lane: int, lanes: int) -> PlaceNumbers:
    """Return the places in an order where a lane's stretch of all numbers is, ascending."""
    first, end = _first_of(lane, lanes, len(order)), _first_of(lane + 1, lanes, len(order))
    ranks, count = np.empty(end - first + 1, np.uint32), 0
    for rank in range(len(order)):
        ranks[count] = rank
        count += (first <= order[rank]) & (order[rank] < end)
    return ranks[:count]


@jit_for_cores
def gathered_positions(positions: Positions, order: PlaceNumbers) -> Positions:
    """Return positions in an order, NaN for those that are not finite."""
    gathered = np.empty((len(positions), len(order)), positions.dtype)
    for k in prange(len(order)):
        row, is_known = order[k], True
        for axis in range(len(positions)):
            x = positions[axis, row]
            is_known = is_known and np.isfinite(x)
            gathered[axis, k] = x
        if not is_known:
            for axis in range(len(positions)):
                gathered[axis, k] = np.nan
    return gathered
