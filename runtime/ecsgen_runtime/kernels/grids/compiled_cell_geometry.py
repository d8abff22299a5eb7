"""Axes and neighbourhoods of grids for compiled kernels, with the names of the plain twins."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...base.fast_typing import NamedTuple
from ...base.jit import jit
from ..compiled_random_streams import stream_of_id
from . import cell_geometry as plain
from .grid_layout import (
    GridLayout,
    distances_at,
    hexagon_steps,
    neighbourhood_offsets,
    shortest_moves,
)
from .grid_manager import GridManager

MOORE: Final = 0
VON_NEUMANN: Final = 1
AXES: Final = 2
HEX: Final = 3
FIRST: Final = np.uint64(1 << 32)
CellArray = NDArray[np.int32]


class GridAxes(NamedTuple):
    """Three axes of a grid; the first ones have one cell where the grid has fewer axes."""

    cells: int
    x: int
    y: int
    z: int
    wraps_x: bool
    wraps_y: bool
    wraps_z: bool
    per_y: float
    """Reciprocal of y: a product takes a fraction of the time of a quotient."""
    per_z: float


def grid_axes(grid: GridManager) -> GridAxes:
    """Return the axes of a grid."""
    return _axes_of(grid.grid_layout)


@lru_cache(16)
def _axes_of(layout: GridLayout) -> GridAxes:
    more = 3 - len(layout.shape)
    sizes = (1,) * more + layout.shape
    (x, y, z), (a, b, c) = sizes, (False,) * more + layout.wrap
    return GridAxes(layout.cells, x, y, z, a, b, c, 1 / y, 1 / z)


CellNeighbourhood = NDArray[np.int32]
"""Neighbours of any cell, by offset; shape (6, 1 + k), the first column has the greatest radius.

Rows: the distance in cells where no end of an axis is in reach, the offset along three axes, the
least radius that reaches the neighbour, and the last column of each radius. Of hexagons two more
have the offset in axial coordinates: rows 2 and 3 are the shortest along each axis."""


def cell_neighbourhood(
    grid: GridManager, hood: str, radius: Any, center: bool, *, nearest_first: bool = False
) -> CellNeighbourhood:
    """Return the offsets of the cells in reach, ascending, or nearest first."""
    return _neighbourhood(grid.grid_layout, hood, int(radius), center, nearest_first)


def cell_neighbourhood_within(
    grid: GridManager, hood: str, radii: NDArray[Any], center: bool, *, nearest_first: bool = False
) -> CellNeighbourhood:
    """Return the neighbourhood of the greatest of the radii, shape (n,); O(n)."""
    radius = int(radii.max()) if len(radii) else -1
    return cell_neighbourhood(grid, hood, radius, center, nearest_first=nearest_first)


@lru_cache(16)
def _neighbourhood(
    layout: GridLayout, hood: str, radius: int, center: bool, nearest_first: bool
) -> CellNeighbourhood:
    steps = neighbourhood_offsets(layout, hood, radius, center)
    if nearest_first:
        steps = steps[np.argsort(distances_at(steps, hood), kind="stable")]
    moves, far = shortest_moves(layout, steps), np.abs(steps)
    reach = np.zeros((8 if hood == plain.HEX else 6, 1 + len(steps)), np.int32)
    reach[0, 0] = max(-1, min(radius, layout.cells))
    reach[0, 1:] = moves @ np.array(layout.strides)
    reach[4 - steps.shape[1] : 4, 1:] = moves.T
    reach[4, 1:] = far.sum(axis=1) if hood == "von_neumann" else far.max(axis=1)
    if hood == plain.HEX:
        reach[4, 1:], reach[6:, 1:] = hexagon_steps(steps), steps.T
    reach[5, reach[4, 1:]] = np.arange(1, reach.shape[1])
    np.maximum.accumulate(reach[5], out=reach[5])
    return reach


@jit(forceinline=True)
def _reached(coordinate: Any, size: Any, wraps: Any, radius: Any) -> Any:
    """Return the first step within a radius along an axis, and the one after the last."""
    if wraps:
        return max(-radius, -((size - 1) // 2)), min(radius, size // 2) + 1
    return max(-radius, -coordinate), min(radius + 1, size - coordinate)


@jit(forceinline=True)
def _moved(coordinate: Any, size: Any, wraps: Any) -> Any:
    """Return a coordinate, at most one size outside, wrapped; below 0 if the axis does not wrap."""
    if wraps:
        if coordinate < 0:
            return coordinate + size
        return coordinate - size if coordinate >= size else coordinate
    return coordinate if coordinate < size else -1


@jit(forceinline=True)
def _coordinates(axes: Any, cell: Any) -> Any:
    """Return a cell's coordinate along each axis. Exact: below 2^31 the error of a quotient is less
    than half a step."""
    strip = np.int64((np.float64(cell) + 0.5) * axes.per_z)
    z = np.int64(cell) - strip * axes.z
    if axes.x == 1:
        return 0, strip, z
    plane = np.int64((np.float64(strip) + 0.5) * axes.per_y)
    return plane, strip - plane * axes.y, z


@jit(forceinline=True)
def _is_inner(coordinate: Any, size: Any, radius: Any) -> Any:
    """Return True if no end of an axis is in reach."""
    return size == 1 or radius <= coordinate < size - radius


@jit(forceinline=True)
def reached_cells(
    axes: GridAxes,
    cell: int,
    reach: CellNeighbourhood,
    cells: CellArray,
    steps: Any = None,
    radius: Any = None,
) -> int:
    """Write the cells in reach of a cell, by offset, none if it is below 0; return their number.
    `steps` receives their columns in `reach`. `radius` is the cell's own, if each has one."""
    if cell < 0:
        return 0
    x, y, z = _coordinates(axes, cell)
    most: Any = np.int64(reach[0, 0])
    last: Any = np.int64(reach.shape[1] - 1)
    met = 0
    if radius is not None:
        most = np.int64(max(-1, min(radius, most)))
        last = np.int64(reach[5, max(0, min(most, last))])
    if _is_inner(z, axes.z, most) and _is_inner(y, axes.y, most) and _is_inner(x, axes.x, most):
        for k in range(1, last + 1):
            cells[met] = cell + reach[0, k]
            if steps is not None:
                steps[met] = k
            met += 1 if radius is None else reach[4, k] <= most
        return met
    for k in range(1, last + 1):
        i = _moved(x + reach[1, k], axes.x, axes.wraps_x)
        j = _moved(y + reach[2, k], axes.y, axes.wraps_y)
        layer = _moved(z + reach[3, k], axes.z, axes.wraps_z)
        cells[met] = (i * axes.y + j) * axes.z + layer
        if steps is not None:
            steps[met] = k
        is_met = (i | j | layer) >= 0
        met += is_met if radius is None else is_met & (reach[4, k] <= most)
    return met


@jit()
def _hexagons_near(axes: GridAxes, cell: int, radius: int, center: bool, cells: CellArray) -> int:
    """Write the hexagons within a number of steps, each by its offset of fewest steps."""
    _, y, z = _coordinates(axes, cell)
    met, far = 0, min(radius, 2 * (axes.y + axes.z))
    for q in range(max(-far, -2 * axes.y), min(far, 2 * axes.y) + 1):
        low, high = max(-far, -far - q), min(far, far - q)
        for r in range(max(low, -2 * axes.z), min(high, 2 * axes.z) + 1):
            line = _along(y + q, axes.y, axes.wraps_y)
            layer = _along(z + r, axes.z, axes.wraps_z)
            if line >= 0 and layer >= 0:
                cells[met] = line * axes.z + layer
                is_least = hex_offset(axes, cell, cells[met]) == (q, r)
                met += is_least and (center or q != 0 or r != 0)
    return met


@jit()
def cells_near(
    axes: GridAxes, cell: int, hood: int, radius: int, center: bool, cells: CellArray
) -> int:
    """Write the cells within a radius of a cell, none if it is below 0; return their number."""
    if cell < 0 or radius < 0:
        return 0
    if hood == HEX:
        return _hexagons_near(axes, cell, radius, center, cells)
    x, y, z = _coordinates(axes, cell)
    first, end = _reached(x, axes.x, axes.wraps_x, radius)
    met = 0
    for i in range(first, end):
        left = _left(hood, radius, i)
        strip = _moved(x + i, axes.x, axes.wraps_x) * axes.y
        first, end = _reached(y, axes.y, axes.wraps_y, left)
        for j in range(first, end):
            rest = _left(hood, left, j)
            line = (strip + _moved(y + j, axes.y, axes.wraps_y)) * axes.z
            low, high = _reached(z, axes.z, axes.wraps_z, rest)
            for k in range(low, high):
                cells[met] = line + _moved(z + k, axes.z, axes.wraps_z)
                met += center or i != 0 or j != 0 or k != 0
    return met


@jit(forceinline=True)
def _left(hood: Any, radius: Any, step: Any) -> Any:
    """Return the radius that is left along the other axes after a step along one."""
    if hood == AXES:
        return radius if step == 0 else 0
    return radius - abs(step) if hood == VON_NEUMANN else radius


NO_STRIP: Final[Any] = np.int64(-(1 << 62))


@jit(forceinline=True)
def strip_shift(axes: GridAxes, strip: int, i: int, j: int, radius: int) -> Any:
    """Return the distance in cells to the strip i and j steps along the first two axes; `NO_STRIP`
    if there is none, or if steps within the radius meet one twice."""
    x, y, _ = _coordinates(axes, strip * axes.z)
    if axes.wraps_x:
        if i != 0 and axes.x <= 2 * radius:
            return NO_STRIP
    elif not 0 <= x + i < axes.x:
        return NO_STRIP
    if axes.wraps_y:
        if j != 0 and axes.y <= 2 * radius:
            return NO_STRIP
    elif not 0 <= y + j < axes.y:
        return NO_STRIP
    plane, line = _moved(x + i, axes.x, axes.wraps_x), y + j
    other = plane * axes.y + _moved(line, axes.y, axes.wraps_y)
    return (other - strip) * axes.z


@jit(forceinline=True)
def coordinate_along(axes: GridAxes, cell: Any, axis: Any) -> Any:
    """Return a cell's coordinate along an axis; 2 is the last one."""
    return _coordinates(axes, cell)[axis]


@jit(forceinline=True)
def distance_along(axes: GridAxes, cell: Any, other: Any, axis: Any) -> Any:
    """Return the shortest distance to another cell along an axis: in (-s/2, s/2] if it wraps."""
    size, wraps = axes.z, axes.wraps_z
    if axis == 1:
        size, wraps = axes.y, axes.wraps_y
    elif axis == 0:
        size, wraps = axes.x, axes.wraps_x
    apart = coordinate_along(axes, other, axis) - coordinate_along(axes, cell, axis)
    if wraps:
        if 2 * apart > size:
            apart -= size
        elif 2 * apart <= -size:
            apart += size
    return apart


@jit()
def hex_offset(axes: GridAxes, cell: Any, other: Any) -> tuple[Any, Any]:
    """Return the offset of fewest steps to another hexagon, the first ascending of several: the
    shortest along each axis, or a size more or less where it wraps."""
    along_y, along_z = distance_along(axes, cell, other, 1), distance_along(axes, cell, other, 2)
    turns_y, turns_z = np.int64(axes.wraps_y), np.int64(axes.wraps_z)
    least, fewest = (along_y, along_z), np.int64(1) << np.int64(62)
    for turn_y in range(-turns_y, turns_y + 1):
        for turn_z in range(-turns_z, turns_z + 1):
            way = along_y + turn_y * axes.y, along_z + turn_z * axes.z
            steps = hex_steps(way[0], way[1])
            if steps < fewest:
                least, fewest = way, steps
    return least


@jit(forceinline=True)
def _along(coordinate: Any, size: Any, wraps: Any) -> Any:
    """Return a coordinate wrapped into an axis; -1 outside of one that does not wrap."""
    if wraps:
        return coordinate % size
    return coordinate if 0 <= coordinate < size else -1


@jit()
def cell_at(axes: GridAxes, x: Any, y: Any, z: Any) -> Any:
    """Return the id of the cell at coordinates, 0 outside of axes that do not wrap."""
    i = _along(x, axes.x, axes.wraps_x)
    j = _along(y, axes.y, axes.wraps_y)
    k = _along(z, axes.z, axes.wraps_z)
    if i < 0 or j < 0 or k < 0:
        return np.uint64(0)
    return FIRST + np.uint64((i * axes.y + j) * axes.z + k)


@jit(forceinline=True)
def cell_number(id: Any) -> Any:
    """Return the number of a cell by its id; below 0 for 0."""
    return np.int64(np.uint64(id) - FIRST)


@jit(forceinline=True)
def id_of_cell(cell: Any) -> Any:
    """Return the id of a cell."""
    return FIRST + np.uint64(cell)


@jit(forceinline=True)
def is_cell(axes: GridAxes, id: Any) -> Any:
    """Return True if an id is that of a cell."""
    return 0 <= np.int64(id - FIRST) < axes.cells


make_cell_id: Final = stream_of_id
hex_steps: Final[Any] = jit(forceinline=True)(plain.hex_steps)
compare_nan_lowest: Final = jit(forceinline=True)(plain.compare_nan_lowest)
compare_nan_highest: Final = jit(forceinline=True)(plain.compare_nan_highest)
