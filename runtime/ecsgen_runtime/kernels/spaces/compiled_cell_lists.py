"""Cell lists for compiled kernels in which neighbours move, come and go."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...base.fast_typing import NamedTuple
from ...base.jit import jit
from . import cell_lists
from .cell_lists import CellGrid, CellNumbers, EntityKeys, Positions, cell_grid

PlaceNumbers = NDArray[np.uint32]
"""Numbers of positions in an order: unsigned, so that no index has its sign tested."""


cell_along: Final[Any] = jit(forceinline=True)(cell_lists.cell_along)

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
    wrap: tuple[float, ...],
) -> LiveCellList:
    """Return the cells for arguments that `live_search_arguments` returns; O(k)."""
    grid, frame = _frame_of(radius, wrap, positions.dtype)
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
    radius: float, wrap: tuple[float, ...], dtype: np.dtype[Any]
) -> tuple[CellGrid, NDArray[np.float64]]:
    grid, more = cell_grid(radius, wrap, dtype), 3 - len(wrap)
    edges, counts = [np.inf] * more + [*grid.edges], [1] * more + [*grid.counts]
    return grid, np.array([edges, counts])


@jit()
def _enter_all(cells: LiveCellList, positions: Positions) -> None:
    axes, cell_number, buckets = len(positions), cells.cells, cells.buckets
    edges, counts = _frame(cells.frame)
    is_dense, last = cells.is_dense, len(buckets) - 1
    for member in range(positions.shape[1]):
        z = positions[axes - 1, member]
        y = positions[axes - 2, member] if axes > 1 else z - z
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
    """Return True if a position, of one to three axes, is inside of all wrapped axes; its bucket,
    -1 if it is not finite; and its cell."""
    axes = len(position)
    is_in_x, x, is_in_y, y = True, np.int64(0), True, np.int64(0)
    is_known = np.isfinite(position[axes - 1])
    if axes == 3:
        is_known = is_known and np.isfinite(position[0])
        is_in_x, x = cell_along(edges[0], counts[0], position[0])
    if axes > 1:
        is_known = is_known and np.isfinite(position[axes - 2])
        is_in_y, y = cell_along(edges[1], counts[1], position[axes - 2])
    is_in_z, z = cell_along(edges[2], counts[2], position[axes - 1])
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
    is_plain = is_plain and counts[2] > 3 and (axes < 2 or counts[1] > 3)
    is_plain = is_plain and (axes < 3 or counts[0] > 3)
    met = np.uintp(0)  # numbers without a sign, as slots are
    for i in range(_begin(counts[0]), _end(counts[0]) if bucket >= 0 else -1):
        a = wrapped_number(x + i, counts[0])
        for j in range(_begin(counts[1]), _end(counts[1])):
            b = wrapped_number(y + j, counts[1])
            for k in range(_begin(counts[2]), _end(counts[2])):
                c = wrapped_number(z + k, counts[2])
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


@jit(inline="always")
def wrapped_number(number: Any, count: Any) -> Any:
    """Return a number, at most one beyond the border of an axis, wrapped."""
    if count > 0:
        if number < 0:
            number += count
        elif number >= count:
            number -= count
    return number


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
