"""Places counted into cells, and the runs of places around each, in loops over a table of all
cells."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..spaces.cells import CellNumbers, Places
from .kernel import kernel

PlaceNumbers = NDArray[np.uint32]
"""Which places come k-th: without a sign, which would be looked at again and again."""

_FARTHEST: Final = 2.0**61
_LOST: Final = -(2**63)
"""The number of a cell where there is none."""


@kernel()
def numbered_cells(
    places: Places,
    edges: NDArray[np.float64],
    counts: CellNumbers,
    wrap: NDArray[np.float64],
    numbers: CellNumbers,
    ends: CellNumbers,
) -> bool:
    """Write the number of each place's cell along each axis, and the least and greatest; return
    whether no place is outside of a wrapped axis."""
    is_inside = True
    for axis in range(len(places)):
        edge, count, size = edges[axis], counts[axis], wrap[axis]
        least, greatest = 2**62, -(2**62)
        for k in range(places.shape[1]):
            x = np.float64(places[axis, k])
            if not np.isfinite(x):
                numbers[axis, k] = _LOST
                continue
            cell = np.floor(x / edge)
            if count > 0:
                if not 0.0 <= x < size:
                    is_inside = False
                if not 0.0 <= cell < count:
                    cell = cell % np.float64(count)
            number: Any = np.int64(min(max(cell, -_FARTHEST), _FARTHEST))
            numbers[axis, k] = number
            least, greatest = min(least, number), max(greatest, number)
        if least <= greatest:
            ends[0, axis], ends[1, axis] = least, greatest
    return is_inside


@kernel()
def counted_cells(
    numbers: CellNumbers,
    low: CellNumbers,
    spans: CellNumbers,
    table: PlaceNumbers,
    order: PlaceNumbers,
) -> int:
    """Sort places into cells, those of one in their own order; return how many have any."""
    keys = np.empty(len(order), np.uint32)
    for k in range(len(order)):
        key: Any = np.int64(0)
        for axis in range(len(spans)):
            number = (
                max(numbers[axis, k] - low[axis], 0) if numbers[axis, k] != _LOST else 0
            )
            key = key * spans[axis] + number
        keys[k] = key
        table[key + 1] += 1
    cells = 0
    for key in range(len(table) - 1):
        cells += table[key + 1] > 0
        table[key + 1] += table[key]
    for k in range(len(order)):
        key = keys[k]
        order[table[key]] = k
        table[key] += 1
    before: Any = np.uint32(0)  # each is where the next one begins now
    for key in range(len(table)):
        before, table[key] = table[key], before
    return cells


@kernel()
def cells_around(
    table: PlaceNumbers,
    sides: CellNumbers,
    counts: CellNumbers,
    is_inside: bool,
    starts: PlaceNumbers,
    runs: PlaceNumbers,
    ends: PlaceNumbers,
    crosses: NDArray[np.bool_],
) -> tuple[int, int]:
    """Write where the places of each cell begin and which runs are around it; return how many runs
    there are, and how many places are around a cell at most.

    The first side is 1 where there are two axes.
    """
    found, cell, most = 0, 0, 0
    begin, end = (counts == 1) - 1, 2 - (counts == 1) - (counts == 2)
    is_narrow = ((counts > 0) & (counts < 4) & (sides > 1)).any() or counts[2] == 1
    is_narrow = is_narrow or counts[1] == 1
    around, count = np.empty(9, np.intp), counts[2]
    for x in range(sides[0]):
        for y in range(sides[1]):
            strips = 0
            for i in range(begin[0], end[0]):
                for j in range(begin[1], end[1]):
                    strip = _moved(x + i, counts[0]) * sides[1] + _moved(
                        y + j, counts[1]
                    )
                    around[strips] = strip * sides[2]
                    strips += 1
            is_rim = not is_inside or is_narrow
            is_rim = is_rim or (counts[0] > 1 and (x == 0 or x == counts[0] - 1))
            is_rim = is_rim or (counts[1] > 1 and (y == 0 or y == counts[1] - 1))
            first = (x * sides[1] + y) * sides[2]
            for z in range(sides[2]):
                if table[first + z] == table[first + z + 1]:
                    continue
                starts[cell], runs[cell] = table[first + z], found
                is_end = count > 0 and (z == 0 or z == count - 1)
                crosses[cell] = is_rim or is_end
                places = 0
                for k in range(strips):
                    strip = around[k]
                    if is_end:
                        before = found
                        found = _stretch(table, strip, z, count, ends, found)
                        for run in range(before, found):
                            places += ends[1, run] - ends[0, run]
                        continue
                    low, high = table[strip + z - 1], table[strip + z + 2]
                    ends[0, found], ends[1, found] = low, high
                    found += low < high
                    places += high - low
                most = max(most, places)
                cell += 1
    starts[cell], runs[cell] = table[-1], found
    return found, most


@kernel(inline="always")
def _moved(number: int, count: int) -> int:
    """Return a number one beyond the border as it is on the other side."""
    if count > 0:
        if number < 0:
            number += count
        elif number >= count:
            number -= count
    return number


@kernel()
def _stretch(
    table: PlaceNumbers, strip: int, z: int, count: int, ends: PlaceNumbers, found: int
) -> int:
    """Write the runs of a strip of cells that goes around, seen from one of its ends."""
    low, high, again = z - 1, z + 2, 0
    if count == 1:
        low, high = z, z + 1
    elif z == 0:
        low, high, again = count - 1, count, min(count - 1, 2)
    else:
        high, again = count, int(count > 2)
    if table[strip + low] < table[strip + high]:
        ends[0, found], ends[1, found] = table[strip + low], table[strip + high]
        found += 1
    if table[strip] < table[strip + again]:
        ends[0, found], ends[1, found] = table[strip], table[strip + again]
        found += 1
    return found


@kernel()
def gathered_places(places: Places, order: PlaceNumbers) -> Places:
    """Return places in an order, NaN for those that are not finite."""
    found = np.empty((len(places), len(order)), places.dtype)
    for k in range(len(order)):
        row, is_known = order[k], True
        for axis in range(len(places)):
            x = places[axis, row]
            is_known = is_known and np.isfinite(x)
            found[axis, k] = x
        if not is_known:
            for axis in range(len(places)):
                found[axis, k] = np.nan
    return found
