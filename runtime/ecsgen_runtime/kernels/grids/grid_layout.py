"""Numbers of cells: coordinates, ids, and offsets of the cells in reach."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import short_repr
from ...base.fast_typing import NamedTuple
from ...base.handles import Id, IdArray, RowArray
from ...values.array_coercion import as_entities
from ...values.interchange import plain_array

FIRST_CELL: Final = 1 << 32
"""Id of cell 0: ids of rows that never move are generation 1 and the row."""
NO_CELL: Final = -1
MAX_CELLS: Final = 2**31 - 1
HEXAGONAL: Final = "hex"
HOODS: Final = ("moore", "von_neumann", "axes", HEXAGONAL)

Coordinates = NDArray[np.int64]
"""Coordinates, shape (k, axes)."""


class GridLayout(NamedTuple):
    """Number of cells along each axis, and True for each axis that wraps."""

    shape: tuple[int, ...]
    wrap: tuple[bool, ...]

    @property
    def cells(self) -> int:
        """Number of all cells."""
        return prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Distance in numbers of adjacent cells along each axis; the last axis runs fastest."""
        steps = [1]
        for size in reversed(self.shape[1:]):
            steps.insert(0, steps[0] * size)
        return tuple(steps)

    def unravel(self, cells: NDArray[Any]) -> Coordinates:
        """Return the coordinates of k cells; O(k)."""
        coordinates = np.unravel_index(cells, self.shape)
        return np.stack(coordinates, axis=-1).astype(np.int64, copy=False)

    def ravel(self, coordinates: Coordinates) -> RowArray:
        """Return the cells at k coordinates, wrapped where axes wrap; -1 outside of open ones."""
        cells = np.zeros(len(coordinates), np.int64)
        outside = np.zeros(len(coordinates), np.bool_)
        axes = zip(coordinates.T, self.shape, self.wrap, self.strides, strict=True)
        for along, size, wraps, stride in axes:
            if wraps:
                along = along % size
            else:
                outside |= (along < 0) | (along >= size)
            cells += along.astype(np.int64) * stride
        cells[outside] = NO_CELL
        return cells


@lru_cache(256)
def neighbourhood_offsets(
    layout: GridLayout, hood: str, radius: int, center: bool
) -> NDArray[np.int64]:
    """Return the offsets of the cells in reach, ascending, the first axis slowest; (k, axes).

    On an axis of size s that wraps, those in (-s/2, s/2], so that each cell is met once; of
    hexagons those of fewest steps.
    """
    spans, radius = [], max(radius, -1)
    for size, wraps in zip(*layout, strict=True):
        low, high = (-((size - 1) // 2), size // 2) if wraps else (1 - size, size - 1)
        spans.append(np.arange(max(-radius, low), min(radius, high) + 1))
    steps = np.meshgrid(*spans, indexing="ij")
    offsets = np.stack([step.ravel() for step in steps], axis=-1)
    if hood == HEXAGONAL:
        offsets = _offsets_of_fewest_steps(layout, offsets)
        offsets = offsets[np.lexsort(offsets.T[::-1])]
    is_met: NDArray[np.bool_] = are_in_reach(offsets, hood, radius)
    if not center:
        is_met &= offsets.any(axis=1)
    return offsets[is_met]


def are_in_reach(offsets: NDArray[np.int64], hood: str, radius: int) -> NDArray[np.bool_]:
    """Return a mask of the offsets, shape (k, axes), that a hood reaches."""
    if hood == HEXAGONAL:
        return hexagon_steps(offsets) <= radius
    far = np.abs(offsets)
    if hood == "von_neumann":
        return np.asarray(far.sum(axis=1) <= radius)
    is_met = far.max(axis=1) <= radius
    if hood == "axes":
        is_met &= (far > 0).sum(axis=1) <= 1
    return np.asarray(is_met)


def ways_between(
    layout: GridLayout, hood: str, cell: int, others: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the offsets from one cell to others, as `neighbourhood_offsets` has them."""
    moves = shortest_moves(layout, layout.unravel(others) - layout.unravel(np.array([cell])))
    return _offsets_of_fewest_steps(layout, moves) if hood == HEXAGONAL else moves


def hexagon_steps(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the steps between hexagons at each offset in axial coordinates, shape (k, 2)."""
    steps: NDArray[np.int64] = np.abs([*offsets.T, offsets.sum(axis=1)]).max(axis=0)
    return steps


def _offsets_of_fewest_steps(layout: GridLayout, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each offset the one of fewest steps among it and those a size more or less along
    wrapped axes, the first ascending of several."""
    axes = ((-size, 0, size) if wraps else (0,) for size, wraps in zip(*layout, strict=True))
    ways = np.stack([offsets + np.array(turns) for turns in product(*axes)])
    fewest = np.argmin([hexagon_steps(way) for way in ways], axis=0)
    chosen: NDArray[np.int64] = ways[fewest, np.arange(len(offsets))]
    return chosen


def shortest_moves(layout: GridLayout, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return offsets to the same cells, in (-s/2, s/2] along wrapped axes of size s."""
    moves = offsets.copy()
    for along, size, wraps in zip(moves.T, *layout, strict=True):
        if wraps:
            along[:] = (along + (size - 1) // 2) % size - (size - 1) // 2
    return moves


def distances_at(offsets: NDArray[np.int64], hood: str) -> NDArray[np.float64]:
    """Return the distance at each offset, shape (k,): of hexagons the number of steps."""
    if hood == HEXAGONAL:
        return hexagon_steps(offsets).astype(np.float64)
    distances: NDArray[np.float64] = np.sqrt((offsets * offsets).sum(axis=1).astype(np.float64))
    return distances


def checked_shape(label: str, shape: Sequence[SupportsIndex], axes: int) -> tuple[int, ...]:
    """Return a grid's shape as ints, or raise ValueError."""
    try:
        sizes = tuple(index(size) for size in shape)
    except TypeError:
        raise ValueError(f"{label}: wanted {axes} sizes, not {short_repr(shape)}") from None
    if len(sizes) != axes:
        raise ValueError(f"{label}: the grid has {axes} axes, not {len(sizes)}")
    if min(sizes) < 1:
        raise ValueError(f"{label}: an axis has a cell at least, not {short_repr(shape)}")
    if prod(sizes) > MAX_CELLS:
        raise ValueError(f"{label}: {prod(sizes)} cells; {MAX_CELLS} are the most")
    return sizes


def checked_answers(label: str, wrap: Any, axes: int) -> tuple[bool, ...]:
    """Return a bool for each axis, or raise ValueError."""
    try:
        answers = tuple(wrap)
    except TypeError:
        answers = ()
    are_bools = all(isinstance(answer, (bool, np.bool_)) for answer in answers)
    if len(answers) != axes or not are_bools:
        raise ValueError(f"{label}: wanted {axes} bools, not {short_repr(wrap)}")
    return tuple(bool(answer) for answer in answers)


def cells_of_ids(ids: IdArray, count: int) -> RowArray:
    """Return the cells of k ids, -1 if an id is none; O(k)."""
    cells = (ids - np.uint64(FIRST_CELL)).astype(np.int64)
    return np.where((ids >= FIRST_CELL) & (cells < count), cells, NO_CELL)


if TYPE_CHECKING:

    class GridHolder(Protocol):
        """A manager of cells."""

        HOOD: ClassVar[str]
        grid_layout: GridLayout

        def __len__(self) -> int: ...


class GridView:
    """Grid of a manager: shape, and coordinates of cells."""

    __slots__ = ("_manager",)

    def __init__(self, manager: GridHolder) -> None:
        self._manager = manager

    def __repr__(self) -> str:
        return f"<grid of {' x '.join(map(str, self.shape))} cells>"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each axis."""
        return self._manager.grid_layout.shape

    def coords(self, id: Id, /) -> tuple[int, ...]:
        """Return the coordinates of a cell, -1 along each axis if the id is none; O(1)."""
        layout = self._manager.grid_layout
        cell = index(id) - FIRST_CELL
        if not 0 <= cell < layout.cells:
            return (-1,) * len(layout.shape)
        return tuple(int(coordinate) for coordinate in np.unravel_index(cell, layout.shape))

    def coords_many(self, ids: ArrayLike, /) -> Coordinates:
        """Return the coordinates of k cells, shape (k, axes), -1 if an id is none; O(k)."""
        layout = self._manager.grid_layout
        cells = cells_of_ids(as_entities(ids, "ids"), layout.cells)
        coordinates: Coordinates = layout.unravel(np.maximum(cells, 0))
        coordinates[cells < 0] = -1
        return coordinates

    def at(self, coords: Sequence[SupportsIndex], /) -> Id:
        """Return the cell at coordinates: wrapped where an axis wraps, 0 outside of others."""
        layout, coordinates = self._manager.grid_layout, [*map(index, coords)]
        if len(coordinates) == len(layout.shape):  # of any size; beyond an end all are alike
            axes = zip(coordinates, *layout, strict=True)
            coordinates = [p % s if wraps else max(-1, min(p, s)) for p, s, wraps in axes]
        return Id(int(self.at_many([coordinates])[0]))

    def at_many(self, coords: ArrayLike, /) -> IdArray:
        """Return the cells at k coordinates, shape (k, axes), as `at` does; O(k)."""
        layout = self._manager.grid_layout
        axes, label = len(layout.shape), f"{type(self._manager).__name__}.grid: coords"
        array = plain_array(coords, label)
        if array.size == 0 and array.ndim == 1:
            array = np.empty((0, axes), np.int64)
        if array.ndim != 2 or array.shape[1] != axes:
            raise ValueError(f"{label}: wanted shape (k, {axes}), not {array.shape}")
        if array.dtype.kind not in "iu":
            raise TypeError(f"{label}: wanted integers, not {array.dtype}")
        is_large = array.dtype == np.uint64
        cells = layout.ravel(array if is_large else array.astype(np.int64))
        ids: IdArray = (cells + FIRST_CELL).astype(np.uint64)
        ids[cells < 0] = 0
        return ids
