"""Cell lists for compiled kernels that search neighbours, before the kernel and live."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from numba import prange
from numpy.typing import NDArray

from ...base.fast_typing import NamedTuple
from ...base.jit import jit, jit_for_cores
from .cell_lists import (
    FARTHEST_CELL,
    NO_KEYS,
    SPARSE,
    CellGrid,
    CellList,
    CellNumbers,
    EntityKeys,
    Lattice,
    Positions,
    cell_grid,
    numbered,
    runs_around,
    sorted_cells,
)
from .neighbour_search import finite_positions

PlaceNumbers = NDArray[np.uint32]
"""Numbers of positions in an order: unsigned, so that no index has its sign tested."""


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
    wrap: Sequence[float],
    is_one: bool = True,
    names: tuple[EntityKeys, EntityKeys] | None = None,
    lanes: int = 1,
) -> NeighbourCells:
    """Return the cells of one set of positions, shape (axes, k), or of two; O(k), or O(k log k) if
    cells are far more than positions.

    `visible` has NaN for members that are not visible. `lanes`: how many threads do it; the result
    is the same."""
    grid = cell_grid(radius, wrap, positions.dtype.type)
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
    bounds = np.empty((2, (18 if axes == 3 else 6) * cells + 1), np.uint32)
    crosses, padding = np.empty(cells, np.bool_), [1] * (3 - axes)
    sides, around = np.array(padding + spans), np.array(padding + list(grid.counts))
    are_all_inside = all(is_inside for *_, is_inside in counted)
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
    order, *tables = _listed(lattice, numbers[0], ordered[0], ordered[-1])
    return order, ordered[-1].order.astype(np.uint32), *tables


def _listed(
    lattice: Lattice, numbers: list[CellNumbers], asking: CellList, members: CellList
) -> tuple[Any, ...]:
    firsts = asking.order[asking.starts[:-1]]
    ends = runs_around(lattice, [runs_per_cell[firsts] for runs_per_cell in numbers], members)
    low, high = ends.reshape(2, -1).astype(np.uint32)
    _, cells, runs_per_cell = ends.shape
    max_members = int((ends[1] - ends[0]).sum(axis=1).max(initial=0))
    order, starts = asking.order.astype(np.uint32), asking.starts.astype(np.uint32)
    begins = (np.arange(cells + 1) * runs_per_cell).astype(np.uint32)
    return order, starts, begins, low, high, np.ones(cells, np.bool_), max_members


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
            _, ends[lane, 0, axis] = _cell_along(edges[axis], 0, least)
            _, ends[lane, 1, axis] = _cell_along(edges[axis], 0, greatest)


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
                    is_within, cell = _cell_along(edges[axis], counts[axis], positions[axis, k])
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

    `own_table` and `table` have the starts of all cells' asking positions and members. The first
    side is 1 if there are two axes.
    """
    n_runs, cell, max_positions = 0, 0, 0
    begin, end = (counts == 1) - 1, 2 - (counts == 1) - (counts == 2)
    is_narrow = ((counts > 0) & (counts < 4) & (sides > 1)).any() or counts[2] == 1
    is_narrow = is_narrow or counts[1] == 1
    around, count = np.empty(9, np.intp), counts[2]
    for x in range(sides[0]):
        for y in range(sides[1]):
            strips = 0
            for i in range(begin[0], end[0]):
                for j in range(begin[1], end[1]):
                    strip = _moved(x + i, counts[0]) * sides[1] + _moved(y + j, counts[1])
                    around[strips] = strip * sides[2]
                    strips += 1
            is_rim = not is_inside or is_narrow
            is_rim = is_rim or (counts[0] > 1 and (x == 0 or x == counts[0] - 1))
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
                    positions += high - low
                max_positions = max(max_positions, positions)
                cell += 1
    starts[cell], runs[cell] = own_table[-1], n_runs
    return n_runs, max_positions


@jit(inline="always")
def _moved(number: Any, count: Any) -> Any:
    """Return a number, at most one beyond the border of an axis, wrapped."""
    if count > 0:
        if number < 0:
            number += count
        elif number >= count:
            number -= count
    return number


@jit()
def _stretch(
    table: PlaceNumbers, strip: int, z: int, count: int, ends: PlaceNumbers, n_runs: int
) -> int:
    """Write the runs around a cell at an end of a strip that wraps; return the new number of
    runs."""
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


_FACTORS: Final = (
    np.uint64(0x9E37_79B9_7F4A_7C15),
    np.uint64(0xC2B2_AE3D_27D4_EB4F),
    np.uint64(0x1656_67B1_9E37_79F9),
)


class LiveCellList(NamedTuple):
    """Members by cell, those of one cell in the order of their arrival."""

    frame: NDArray[np.float64]
    """Edges of cells along three axes, and numbers of cells: 0 for an open axis, 1 for an axis that
    the space does not have; shape (2, 3)."""
    sizes: NDArray[Any]
    """Size of each axis, and half of it: 1 and infinity where it is open; shape (2, axes)."""
    reach: Any
    n_members: int
    """Number of members."""
    numbers: CellNumbers
    """Member number of each row of the manager; -1 for none."""
    own_names: EntityKeys
    names: EntityKeys
    """Keys of members, `own_names` those of asking rows; both empty for one set."""
    cells: CellNumbers
    """Cell of each member along the axes, and its bucket, -1 if in none; shape (members, 4)."""
    buckets: CellNumbers
    """Start among the slots, number of members and capacity of each bucket, shape (buckets + 1, 3).

    The last line has the start of free slots, and 1 if a position was outside of a wrapped axis."""
    members: PlaceNumbers
    """Member in each slot."""
    positions: Positions
    """Position of the member in each slot; shape (slots, axes)."""
    is_dense: bool
    """True if each cell has its own bucket."""


_SPARE: Final = 2
"""Capacity of a bucket at first beyond its members."""


def live_cell_list(
    positions: Positions,
    numbers: CellNumbers,
    names: EntityKeys,
    other_names: EntityKeys,
    radius: float,
    wrap: Sequence[float],
) -> LiveCellList:
    """Return the cells for arguments that `live_search_arguments` returns; O(k)."""
    kind: Any = positions.dtype.type
    grid, frame = _frame_of(radius, tuple(wrap), kind)
    count = positions.shape[1]
    buckets, cells_in_all = 1 << max(2, (2 * count).bit_length()), prod(grid.counts)
    is_dense = 0 < cells_in_all <= 2 * buckets  # 0 of an open axis
    if is_dense:
        buckets = cells_in_all
    slots = 4 * count + 2 * _SPARE * (buckets + 1)  # twice those at first, and a move's
    cells = LiveCellList(
        frame,
        grid.sizes,
        grid.reach,
        count,
        numbers,
        names,
        other_names,
        np.empty((count, 4), np.int64),
        np.zeros((buckets + 1, 3), np.int64),
        np.empty(slots, np.uint32),
        np.empty((slots, len(wrap)), positions.dtype),
        is_dense,
    )
    _enter_all(cells, positions)
    return cells


@lru_cache(16)
def _frame_of(
    radius: float, wrap: tuple[float, ...], kind: Any
) -> tuple[CellGrid, NDArray[np.float64]]:
    grid, more = cell_grid(radius, wrap, kind), 3 - len(wrap)
    edges, counts = [np.inf] * more + [*grid.edges], [1] * more + [*grid.counts]
    return grid, np.array([edges, counts])


@jit()
def _enter_all(cells: LiveCellList, positions: Positions) -> None:
    axes, cell_number, buckets = len(positions), cells.cells, cells.buckets
    edges, counts = _frame(cells.frame)
    is_dense, last = cells.is_dense, len(buckets) - 1
    for member in range(positions.shape[1]):
        y, z = positions[axes - 2, member], positions[axes - 1, member]
        position = (positions[0, member] if axes == 3 else y - y), y, z
        is_within, bucket, cell = _find_cell(edges, counts, is_dense, last, position)
        _put_in_cell(cells, member, bucket, cell)
        if bucket >= 0:
            buckets[bucket, 2] += 1
            if not is_within:
                buckets[last, 1] = 1
    start = 0
    for bucket in range(len(buckets)):
        buckets[bucket, 0], buckets[bucket, 2] = start, buckets[bucket, 2] + _SPARE
        start += buckets[bucket, 2]
    for member in range(positions.shape[1]):
        bucket = cell_number[member, 3]
        if bucket >= 0:
            slot = buckets[bucket, 0] + buckets[bucket, 1]
            buckets[bucket, 1] += 1
            cells.members[slot] = member
            for axis in range(axes):
                cells.positions[slot, axis] = positions[axis, member]


@jit(forceinline=True)
def _frame(frame: Any) -> Any:
    edges = frame[0, 0], frame[0, 1], frame[0, 2]
    return edges, (np.int64(frame[1, 0]), np.int64(frame[1, 1]), np.int64(frame[1, 2]))


@jit(forceinline=True)
def _find_cell(edges: Any, counts: Any, is_dense: Any, buckets: Any, position: Any) -> Any:
    """Return True if a position, of two or three axes, is inside of all wrapped axes; its bucket,
    -1 if it is not finite; and its cell."""
    axes = len(position)
    is_in_x, x, is_known = True, np.int64(0), True
    if axes == 3:
        is_known = np.isfinite(position[0])
        is_in_x, x = _cell_along(edges[0], counts[0], position[0])
    is_known = is_known and np.isfinite(position[axes - 2]) and np.isfinite(position[axes - 1])
    is_in_y, y = _cell_along(edges[1], counts[1], position[axes - 2])
    is_in_z, z = _cell_along(edges[2], counts[2], position[axes - 1])
    bucket = (x * counts[1] + y) * counts[2] + z
    if not is_dense:
        bucket = _bucket(buckets, x, y, z)
    is_within = is_in_x and is_in_y and is_in_z
    return is_within, bucket if is_known else -1, (x, y, z)


@jit(forceinline=True)
def move_to_cell(cells: LiveCellList, row: int, position: Sequence[Any]) -> None:
    """Move a row with a new position to its cell; to the end if it was in another cell."""
    member, last = cells.numbers[row], len(cells.buckets) - 1
    if member < 0:
        return
    edges, counts = _frame(cells.frame)
    is_within, new, there = _find_cell(edges, counts, cells.is_dense, last, position)
    old = cells.cells[member, 3]
    if (
        new == old >= 0
        and there[0] == cells.cells[member, 0]
        and there[1] == cells.cells[member, 1]
        and there[2] == cells.cells[member, 2]
    ):
        slot = _slot_of(cells, old, member)
    else:
        if old >= 0:
            _take_from(cells, old, member)
        _put_in_cell(cells, member, new, there)
        if new < 0:
            return
        if cells.buckets[new, 1] == cells.buckets[new, 2]:
            _ensure_capacity(cells, new)
        slot = cells.buckets[new, 0] + cells.buckets[new, 1]
        cells.buckets[new, 1] += 1
        cells.members[slot] = member
    if not is_within:
        cells.buckets[last, 1] = 1
    for axis in range(len(position)):
        cells.positions[slot, axis] = position[axis]


@jit(forceinline=True)
def _put_in_cell(cells: Any, member: Any, bucket: Any, cell: Any) -> None:
    cells.cells[member, 0] = cell[0]
    cells.cells[member, 1] = cell[1]
    cells.cells[member, 2] = cell[2]
    cells.cells[member, 3] = bucket


@jit(forceinline=True)
def _slot_of(cells: Any, bucket: Any, member: Any) -> Any:
    slot = cells.buckets[bucket, 0]
    while cells.members[np.uintp(slot)] != member:
        slot += 1
    return slot


@jit()
def _take_from(cells: LiveCellList, bucket: int, member: int) -> None:
    """Remove a member from a bucket; the members after it move up."""
    cells.buckets[bucket, 1] -= 1
    end = cells.buckets[bucket, 0] + cells.buckets[bucket, 1]
    for slot in range(_slot_of(cells, bucket, member), end):
        cells.members[slot] = cells.members[slot + 1]
        for axis in range(cells.positions.shape[1]):
            cells.positions[slot, axis] = cells.positions[slot + 1, axis]


@jit()
def _ensure_capacity(cells: LiveCellList, bucket: int) -> None:
    """Move a full bucket to twice as many free slots, or compact all buckets if there are none."""
    buckets, members, positions = cells.buckets, cells.members, cells.positions
    last = len(buckets) - 1
    free, capacity = buckets[last, 0], 2 * buckets[bucket, 1] + _SPARE
    if free + capacity <= len(members):
        _move_bucket(buckets, bucket, members, positions, free, members, positions)
        buckets[bucket, 2], buckets[last, 0] = capacity, free + capacity
        return
    old_members, old_positions = members.copy(), positions.copy()
    free = np.int64(0)
    for other in range(last):
        _move_bucket(buckets, other, old_members, old_positions, free, members, positions)
        buckets[other, 2] = buckets[other, 1] + _SPARE
        free += buckets[other, 2]
    buckets[last, 0] = free


@jit(forceinline=True)
def _move_bucket(
    buckets: Any,
    bucket: Any,
    members: Any,
    positions: Any,
    start: Any,
    out: Any,
    out_positions: Any,
) -> None:
    """Move a bucket's members to slots from `start` on."""
    for k in range(buckets[bucket, 1]):
        slot = buckets[bucket, 0] + k
        out[start + k] = members[slot]
        for axis in range(positions.shape[1]):
            out_positions[start + k, axis] = positions[slot, axis]
    buckets[bucket, 0] = start


@jit()
def remove_from_cells(cells: LiveCellList, row: int) -> None:
    """Remove a row for good."""
    member = cells.numbers[row]
    if member >= 0:
        if cells.cells[member, 3] >= 0:
            _take_from(cells, cells.cells[member, 3], member)
        cells.numbers[row] = -1


@jit(forceinline=True)
def find_neighbours_now(
    cells: LiveCellList, asker: int, position: Sequence[Any], out: PlaceNumbers, ways: Positions
) -> int:
    """Write the members in reach of a position, in their order, and their offsets to `ways`, shape
    (axes, members); return their number.

    No array is bound to a local or passed on: numba would count references, which takes as long as
    the search.
    """
    axes, reach = len(position), cells.reach
    is_dense = cells.is_dense
    edges, counts = _frame(cells.frame)
    last = len(cells.buckets) - 1
    is_within, bucket, cell = _find_cell(edges, counts, is_dense, last, position)
    x, y, z = cell
    is_one, name = len(cells.names) == 0, np.uint64(asker)
    if not is_one:
        name = cells.own_names[asker]
    is_plain = is_one and is_dense and is_within and cells.buckets[last, 1] == 0
    is_plain = is_plain and min(counts[1], counts[2]) > 3
    is_plain = is_plain and (axes == 2 or counts[0] > 3)
    met = np.uintp(0)  # numbers without a sign, as slots are
    for i in range(_begin(counts[0]), _end(counts[0]) if bucket >= 0 else -1):
        a = _moved(x + i, counts[0])
        for j in range(_begin(counts[1]), _end(counts[1])):
            b = _moved(y + j, counts[1])
            for k in range(_begin(counts[2]), _end(counts[2])):
                c = _moved(z + k, counts[2])
                bucket = (a * counts[1] + b) * counts[2] + c
                if not is_dense:
                    bucket = _bucket(last, a, b, c)
                low, count = np.uintp(cells.buckets[bucket, 0]), np.uintp(cells.buckets[bucket, 1])
                if is_plain and a - x == i and b - y == j and c - z == k:
                    for slot in range(low, low + count):  # no shortest way wraps
                        member = cells.members[slot]
                        square = position[0] - position[0]
                        for axis in range(axes):
                            apart = cells.positions[slot, axis] - position[axis]
                            square = square + apart * apart
                            ways[axis, met] = apart
                        out[met] = member
                        met += np.uintp((square <= reach) & (member != asker))
                    continue
                for slot in range(low, low + count):
                    member = cells.members[slot]
                    square = position[0] - position[0]
                    for axis in range(axes):
                        apart = cells.positions[slot, axis] - position[axis]
                        if abs(apart) > cells.sizes[1, axis]:
                            size = cells.sizes[0, axis]
                            apart = apart - size * np.rint(apart / size)
                        square = square + apart * apart
                        ways[axis, met] = apart
                    out[met] = member
                    is_here = is_dense or (
                        cells.cells[member, 1] == b
                        and cells.cells[member, 2] == c
                        and cells.cells[member, 0] == a
                    )
                    its_name = np.uint64(member) if is_one else cells.names[member]
                    is_met = (square <= reach) & (its_name != name) & is_here
                    met += np.uintp(is_met)
    return int(np.int64(met))


@jit(forceinline=True)
def _cell_along(edge: Any, count: Any, x: Any) -> Any:
    """Return True if a coordinate is inside of an axis, and its cell."""
    cell, is_within = np.floor(np.float64(x) / edge), True
    if count > 0 and not 0.0 <= cell < count:
        cell, is_within = cell % np.float64(count), False
    known = cell if cell == cell else 0.0
    return is_within, np.int64(min(max(known, -FARTHEST_CELL), FARTHEST_CELL))


@jit(forceinline=True)
def _begin(count: Any) -> Any:
    """Return the first step to the cells around a cell; the last one is before `_end`."""
    return 0 if count == 1 else -1


@jit(forceinline=True)
def _end(count: Any) -> Any:
    return 1 if 0 < count < 3 else 2


@jit(forceinline=True)
def _bucket(buckets: Any, x: Any, y: Any, z: Any) -> Any:
    mixed = np.uint64(np.int64(x)) * _FACTORS[0] ^ np.uint64(np.int64(y)) * _FACTORS[1]
    mixed = (mixed ^ np.uint64(np.int64(z)) * _FACTORS[2]) * _FACTORS[0]
    return np.int64((mixed >> np.uint64(32)) & np.uint64(buckets - 1))
