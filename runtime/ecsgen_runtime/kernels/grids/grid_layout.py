"""The numbers of cells: coordinates, ids, and which cells are in reach of which."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from operator import index
from typing import Any, Final, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import short_repr
from ...base.fast_typing import NamedTuple
from ...base.handles import Id, IdArray, RowArray
from ...values.array_coercion import as_entities
from ...values.interchange import plain_array

FIRST_CELL: Final = 1 << 32
"""The id of cell 0: the ids of rows that never move are a generation, which is 1, and the row."""
NO_CELL: Final = -1
MAX_CELLS: Final = 2**31 - 1
HOODS: Final = ("moore", "von_neumann", "axes")

Coordinates = NDArray[np.int64]
"""Shape (k, axes)."""


class GridLayout(NamedTuple):
    """How many cells there are along each axis, and which axes go around."""

    shape: tuple[int, ...]
    wrap: tuple[bool, ...]

    @property
    def cells(self) -> int:
        """How many there are in all."""
        return prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """How far apart cells side by side along each axis are: the last axis runs fastest."""
        steps = [1]
        for size in reversed(self.shape[1:]):
            steps.insert(0, steps[0] * size)
        return tuple(steps)

    def unravel(self, cells: NDArray[Any]) -> Coordinates:
        """Return the coordinates of k cells; O(k)."""
        places = np.unravel_index(cells, self.shape)
        return np.stack(places, axis=-1).astype(np.int64, copy=False)

    def ravel(self, coordinates: Coordinates) -> RowArray:
        """Return the cells at k places, around where axes go around; -1 outside of open ones."""
        found = np.zeros(len(coordinates), np.int64)
        outside = np.zeros(len(coordinates), np.bool_)
        axes = zip(coordinates.T, self.shape, self.wrap, self.strides, strict=True)
        for place, size, goes_around, stride in axes:
            if goes_around:
                place = place % size
            else:
                outside |= (place < 0) | (place >= size)
            found += place.astype(np.int64) * stride
        found[outside] = NO_CELL
        return found


@lru_cache(256)
def neighbourhood_offsets(
    layout: GridLayout, hood: str, radius: int, center: bool
) -> NDArray[np.int64]:
    """Return the offsets of the cells in reach, ascending, the first axis slowest; (k, axes).

    On an axis of size s that goes around, those in (-s/2, s/2], so that each cell is met once.
    """
    spans, radius = [], max(radius, -1)
    for size, goes_around in zip(*layout, strict=True):
        low, high = (-((size - 1) // 2), size // 2) if goes_around else (1 - size, size - 1)
        spans.append(np.arange(max(-radius, low), min(radius, high) + 1))
    places = np.meshgrid(*spans, indexing="ij")
    found = np.stack([each.ravel() for each in places], axis=-1)
    far = np.abs(found)
    is_met = np.ones(len(found), np.bool_)
    if hood == "von_neumann":
        is_met = far.sum(axis=1) <= radius
    elif hood == "axes":
        is_met = (far > 0).sum(axis=1) <= 1
    if not center:
        is_met &= far.any(axis=1)
    return found[is_met]


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
    """Return which axes go around, or raise ValueError."""
    try:
        answers = tuple(wrap)
    except TypeError:
        answers = ()
    are_bools = all(isinstance(one, (bool, np.bool_)) for one in answers)
    if len(answers) != axes or not are_bools:
        raise ValueError(f"{label}: wanted {axes} bools, not {short_repr(wrap)}")
    return tuple(bool(one) for one in answers)


def cells_of_ids(ids: IdArray, count: int) -> RowArray:
    """Return the cells of k ids, -1 for what is none; O(k)."""
    cells = (ids - np.uint64(FIRST_CELL)).astype(np.int64)
    return np.where((ids >= FIRST_CELL) & (cells < count), cells, NO_CELL)


class GridView:
    """The grid of a manager: its shape, and where cells are."""

    __slots__ = ("_manager",)

    def __init__(self, manager: Any) -> None:
        self._manager = manager

    def __repr__(self) -> str:
        return f"<grid of {' x '.join(map(str, self.shape))} cells>"

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells there are along each axis."""
        shape: tuple[int, ...] = self._manager._layout.shape
        return shape

    def coords(self, id: Id, /) -> tuple[int, ...]:
        """Return the coordinates of a cell, -1 along each axis for what is none; O(1)."""
        layout = self._manager._layout
        cell = index(id) - FIRST_CELL
        if not 0 <= cell < layout.cells:
            return (-1,) * len(layout.shape)
        return tuple(int(place) for place in np.unravel_index(cell, layout.shape))

    def coords_many(self, ids: ArrayLike, /) -> Coordinates:
        """Return the coordinates of k cells, shape (k, axes), -1 of what is none; O(k)."""
        layout = self._manager._layout
        cells = cells_of_ids(as_entities(ids, "ids"), layout.cells)
        found: Coordinates = layout.unravel(np.maximum(cells, 0))
        found[cells < 0] = -1
        return found

    def at(self, coords: Sequence[SupportsIndex], /) -> Id:
        """Return the cell at a place: around where an axis goes around, 0 outside of others."""
        layout, places = self._manager._layout, [index(place) for place in coords]
        if len(places) == len(layout.shape):  # of any size; behind an end all are alike
            axes = zip(places, *layout, strict=True)
            places = [p % s if turns else max(-1, min(p, s)) for p, s, turns in axes]
        return Id(int(self.at_many([places])[0]))

    def at_many(self, coords: ArrayLike, /) -> IdArray:
        """Return the cells at k places, shape (k, axes), as `at` does; O(k)."""
        layout = self._manager._layout
        axes, label = len(layout.shape), f"{type(self._manager).__name__}.grid: coords"
        given = plain_array(coords, label)
        if given.size == 0 and given.ndim == 1:
            given = np.empty((0, axes), np.int64)
        if given.ndim != 2 or given.shape[1] != axes:
            raise ValueError(f"{label}: wanted shape (k, {axes}), not {given.shape}")
        if given.dtype.kind not in "iu":
            raise TypeError(f"{label}: wanted integers, not {given.dtype}")
        is_large = given.dtype == np.uint64
        cells = layout.ravel(given if is_large else given.astype(np.int64))
        ids: IdArray = (cells + FIRST_CELL).astype(np.uint64)
        ids[cells < 0] = 0
        return ids
