"""Axes, distances and neighbourhoods of grids for plain kernels."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache, cached_property, lru_cache, partial
from itertools import product
from math import prod, sqrt
from typing import Any, Final

import numpy as np

from .grid_layout import (
    FIRST_CELL,
    Coordinates,
    GridLayout,
    are_in_reach,
    neighbourhood_offsets,
    ways_between,
)
from .grid_manager import GridManager

MOORE: Final = "moore"
VON_NEUMANN: Final = "von_neumann"
AXES: Final = "axes"
HEX: Final = "hex"
"""Last of the hoods, by the names that kernels give them."""

_MAX_CACHED: Final = 1 << 21
"""Number of neighbours that are cached."""
_BATCH: Final = 1 << 10
"""Number of neighbours that are computed together: numpy takes as long for a few."""
_SEARCHED: Final = 1000
"""Number of cells in reach that cost as much as numpy takes to search few occupied cells."""


class CellNeighbourhood(dict[int, list[int]]):
    """Cells in reach of each cell, by offset; none for a number below 0."""

    def __init__(self, layout: GridLayout, hood: str, radius: int, center: bool) -> None:
        self._layout = layout
        self._reach = hood, radius
        self._center = center
        spans = [min(size, 2 * radius + 1) for size in layout.shape]
        self._most = sum(spans) if hood == AXES else prod(spans)
        """At least the number of cells in reach of a cell."""
        self._offsets: dict[int, list[list[int]]] = {}

    @cached_property
    def _steps(self) -> Coordinates:
        return neighbourhood_offsets(self._layout, *self._reach, self._center)

    @cached_property
    def _all_offsets(self) -> list[list[int]]:
        offsets: list[list[int]] = self._steps.tolist()
        return offsets

    @cached_property
    def _shifts(self) -> list[int]:
        """Distances in numbers to the cells in reach of a cell far from all borders."""
        shifts: list[int] = (self._steps @ np.array(self._layout.strides)).tolist()
        return shifts

    @cached_property
    def _inner(self) -> list[tuple[int, ...]]:
        """Stride and size of each axis, and the coordinates between which no border is crossed."""
        shape, steps = self._layout.shape, self._steps
        low, high = -steps.min(axis=0, initial=0), shape - steps.max(axis=0, initial=0)
        axes = zip(self._layout.strides, shape, low.tolist(), high.tolist(), strict=True)
        return list(axes)

    def __missing__(self, cell: int) -> list[int]:
        if cell < 0:
            return []
        if len(self) * len(self._steps) > _MAX_CACHED:
            self.clear()
            self._offsets.clear()
        if all(low <= cell // stride % size < high for stride, size, low, high in self._inner):
            self[cell], self._offsets[cell] = [cell + by for by in self._shifts], self._all_offsets
        else:
            self._find(cell)
        return self[cell]

    def ways(self, cell: int) -> list[list[int]]:
        """Return the offsets of the cells in reach of a cell."""
        return self._offsets[cell] if self[cell] else []

    def occupied(self, cell: int, here: Collection[int]) -> list[int]:
        """Return the cells in reach of a cell, itself too, in order: at least those that are
        occupied; O(the fewer of cells in reach and occupied ones)."""
        if cell < 0 or self._most < _SEARCHED + 2 * len(here):
            return self[cell]
        hood, radius = self._reach
        cells = np.fromiter(here, np.int64, len(here))
        ways = ways_between(self._layout, hood, cell, cells)
        are_met = are_in_reach(ways, hood, radius)
        order = np.lexsort(ways[are_met].T[::-1])
        occupied: list[int] = cells[are_met][order].tolist()
        return occupied

    def _find(self, cell: int) -> None:
        """Compute the neighbours of a cell near a border, and of cells beside it."""
        count, axes = self._steps.shape
        layout, batch = self._layout, 1 + _BATCH // (1 + count)
        first = cell - cell % batch
        cells = np.arange(first, min(first + batch, layout.cells))
        positions = layout.unravel(cells)[:, None, :] + self._steps
        neighbours = layout.ravel(positions.reshape(-1, axes)).reshape(len(cells), count)
        are_inside = np.all(neighbours >= 0, axis=1)
        columns = cells.tolist(), neighbours.tolist(), are_inside.tolist()
        for center, near, is_inside in zip(*columns, strict=True):
            offsets = self._all_offsets
            if not is_inside:
                offsets = [w for w, c in zip(offsets, near, strict=True) if c >= 0]
                near = [c for c in near if c >= 0]
            self[center], self._offsets[center] = near, offsets


class GridAxes:
    """Three axes of a grid; the first ones have one cell where the grid has fewer axes."""

    def __init__(self, layout: GridLayout) -> None:
        more = 3 - len(layout.shape)
        self.sizes = (1,) * more + layout.shape
        self.wrap = (False,) * more + layout.wrap
        self.strides = (layout.cells,) * more + layout.strides
        self.cells = layout.cells
        self.reach = cache(partial(CellNeighbourhood, layout))
        """Neighbourhood by hood, radius and center; cached for the next call."""


_axes = lru_cache(16)(GridAxes)


def grid_axes(grid: GridManager) -> GridAxes:
    """Return the axes of a grid."""
    return _axes(grid.grid_layout)


def refuse_radius(label: str, radius: Any) -> None:
    """Raise ValueError for a radius below 0."""
    if radius < 0:
        raise ValueError(f"{label}: wanted 0 or more, not {radius}")


def cell_neighbourhood(
    grid: GridManager, hood: str, radius: Any, center: bool
) -> CellNeighbourhood:
    """Return the cells in reach of each cell."""
    return grid_axes(grid).reach(hood, int(radius), center)


def coordinate_along(axes: GridAxes, cell: int, axis: int) -> int:
    """Return a cell's coordinate along an axis; 2 is the last one."""
    return cell // axes.strides[axis] % axes.sizes[axis]


def distance_along(axes: GridAxes, cell: int, other: int, axis: int) -> int:
    """Return the shortest distance to another cell along an axis: in (-s/2, s/2] if it wraps."""
    size = axes.sizes[axis]
    apart = coordinate_along(axes, other, axis) - coordinate_along(axes, cell, axis)
    if axes.wrap[axis]:
        if 2 * apart > size:
            apart -= size
        elif 2 * apart <= -size:
            apart += size
    return apart


def hex_steps(q: int, r: int) -> int:
    """Return the number of steps between hexagons at an offset in axial coordinates."""
    return max(abs(q), abs(r), abs(q + r))


def hex_offset(axes: GridAxes, cell: int, other: int) -> tuple[int, int]:
    """Return the offset of fewest steps to another hexagon, the first ascending of several: the
    shortest along each axis, or a size more or less where it wraps."""
    along = [distance_along(axes, cell, other, axis) for axis in (1, 2)]
    ways = zip(along, axes.sizes[1:], axes.wrap[1:], strict=True)
    q, r = ((o - size, o, o + size) if wraps else (o,) for o, size, wraps in ways)
    return min(product(q, r), key=lambda way: hex_steps(*way))


root_of: Final = sqrt
"""Square root of a Python number, with the bits of numpy's in a fraction of the time."""


def cell_at(axes: GridAxes, x: Any, y: Any, z: Any) -> int:
    """Return the id of the cell at coordinates, 0 outside of axes that do not wrap."""
    number = 0
    for coordinate, size, wraps, stride in zip(
        (int(x), int(y), int(z)), axes.sizes, axes.wrap, axes.strides, strict=True
    ):
        if wraps:
            coordinate %= size
        elif not 0 <= coordinate < size:
            return 0
        number += coordinate * stride
    return FIRST_CELL + number


def cell_number(id: Any) -> int:
    """Return the number of a cell by its id; below 0 for 0."""
    return int(id) - FIRST_CELL


def id_of_cell(cell: int) -> int:
    """Return the id of a cell."""
    return FIRST_CELL + int(cell)


def is_cell(axes: GridAxes, id: Any) -> bool:
    """Return True if an id is that of a cell."""
    return 0 <= cell_number(id) < axes.cells


def make_cell_id(slot: Any, generation: Any) -> int:
    """Return the id of a slot."""
    return int(generation) << 32 | int(slot)


def compare_nan_lowest(number: Any, other: Any) -> int:
    """Return 1 if a number is greater than another, -1 if less, 0 if equal; NaN is the least."""
    if number > other:
        return 1
    return -1 if number < other else int(number == number) - int(other == other)


def compare_nan_highest(number: Any, other: Any) -> int:
    """Return 1 if a number is less than another, -1 if greater, 0 if equal; NaN is the greatest."""
    if number < other:
        return 1
    return -1 if number > other else int(number == number) - int(other == other)
