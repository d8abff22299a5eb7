"""Grids and continuous spaces: where cells are, how far they reach, and the offsets to others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .values import Value, dot, typed

FIRST_CELL = 2**32
"""The id of a grid's first cell."""
Coords = tuple[int, ...]
_Who = TypeVar("_Who")


@dataclass
class Grid:
    """Cells in C order; cell k has the id 2**32 + k."""

    shape: Coords
    wrap: tuple[bool, ...]

    def has(self, cell: int) -> bool:
        """Return True if an id is a cell's."""
        return 0 <= cell - FIRST_CELL < math.prod(self.shape)

    def coords(self, cell: int) -> Coords:
        """Return the coordinates of a cell; -1s for an id that is none."""
        if not self.has(cell):
            return (-1,) * len(self.shape)
        return tuple(int(x) for x in np.unravel_index(cell - FIRST_CELL, self.shape))

    def at(self, coords: Iterable[int]) -> int:
        """Return the cell at coordinates: wrapped along wrapped axes, 0 outside of open ones."""
        row = 0
        for x, size, wraps in zip(coords, self.shape, self.wrap, strict=True):
            if not wraps and not 0 <= x < size:
                return 0
            row = row * size + int(x) % size
        return FIRST_CELL + row

    def offset(self, cell: int, other: int, hood: str) -> Coords:
        """Return the coordinates of a cell less another's, along wrapped axes in (-s/2, s/2].

        Of hexagons it is the one of fewest steps of these and of those a size more or less, the
        first of several in ascending order.
        """
        pairs = zip(self.coords(cell), self.coords(other), self.shape, self.wrap, strict=True)
        offset = tuple(
            (b - a + (s - 1) // 2) % s - (s - 1) // 2 if wraps else b - a
            for a, b, s, wraps in pairs
        )
        if hood != "hex":
            return offset
        ways = zip(offset, self.shape, self.wrap, strict=True)
        axes = [(o - s, o, o + s) if wraps else (o,) for o, s, wraps in ways]
        return min(product(*axes), key=lambda way: (hex_steps(way), way))

    def around(self, cell: int, radius: int, hood: str) -> Iterator[tuple[Coords, int]]:
        """Yield offsets and ids of the cells in reach, by ascending offset.

        The cell itself is among them. `hood`: the shape of the neighbourhood.
        """
        here = self.coords(cell)
        for offset in product(*(self._steps(axis, radius, hood) for axis in range(len(here)))):
            there = self.at(x + o for x, o in zip(here, offset, strict=True))
            is_least = hood != "hex" or (there and offset == self.offset(cell, there, hood))
            if there and is_least and _reaches(offset, radius, hood):
                yield offset, there

    def _steps(self, axis: int, radius: int, hood: str) -> range:
        """Return the offsets along an axis: in (-s/2, s/2] along a wrapped one of size s, of
        hexagons perhaps a size more or less."""
        size = self.shape[axis]
        if hood == "hex":
            return range(max(-2 * size, -radius), min(2 * size, radius) + 1)
        low, high = (-((size - 1) // 2), size // 2) if self.wrap[axis] else (1 - size, size - 1)
        return range(max(low, -radius), min(high, radius) + 1)


def _reaches(offset: Coords, radius: int, hood: str) -> bool:
    if hood == "hex":
        return hex_steps(offset) <= radius
    steps = [abs(o) for o in offset]
    if hood == "von_neumann":
        return sum(steps) <= radius
    return max(steps) <= radius and (hood == "moore" or sum(o > 0 for o in steps) <= 1)


def hex_steps(offset: Coords) -> int:
    """Return the number of steps between hexagons at an offset, in axial coordinates."""
    q, r = offset
    return max(abs(q), abs(r), abs(q + r))


class Space:
    """A continuous space: offsets in the field's type, and cells a bit wider than a radius."""

    def __init__(self, wrap: Sequence[float], axes: int) -> None:
        self._wrap = wrap or (0.0,) * axes
        self._wraps, self._sizes = any(self._wrap), dict[np.dtype[Any], NDArray[Any]]()

    def divide(self, radius: float, kind: np.dtype[Any]) -> None:
        """Divide the space into cells; into one where the radius has no square of its type."""
        with np.errstate(all="ignore"):
            self._limit = square = np.square(kind.type(radius))
        is_square = np.finfo(kind).tiny <= square < math.inf
        least = 1.001 * radius if is_square else math.inf
        self._counts = [max(1, math.floor(size / least)) if size else 0 for size in self._wrap]
        counted = zip(self._wrap, self._counts, strict=True)
        self._edges = [size / count if size else least for size, count in counted]

    def cell(self, position: Value) -> Coords | None:
        """Return the cell of a position; None for one that is not finite."""
        xs = np.ravel(position.data).tolist()
        if not all(map(math.isfinite, xs)):
            return None
        pairs = zip(xs, self._edges, strict=True)
        return self._wrapped(math.floor(x / edge) for x, edge in pairs)

    def _wrapped(self, cell: Iterable[int]) -> Coords:
        return tuple(k % n if n else k for k, n in zip(cell, self._counts, strict=True))

    def met(
        self,
        by_cell: Mapping[Coords | None, Iterable[_Who]],
        here: Value,
        place_of: Callable[[_Who], Value],
    ) -> Iterator[tuple[_Who, Value]]:
        """Yield who is within the radius of a place, and the way there, by the order of cells."""
        cell = self.cell(here)
        if cell is None:
            return
        steps = product((-1, 0, 1), repeat=len(cell))
        around = (self._wrapped(k + s for k, s in zip(cell, step, strict=True)) for step in steps)
        for other in dict.fromkeys(around):
            for who in by_cell.get(other, ()):
                offset = self.offset(here, place_of(who))
                if square(offset).data <= self._limit:
                    yield who, offset

    def _sizes_of(self, kind: np.dtype[Any]) -> NDArray[Any]:
        if kind not in self._sizes:
            self._sizes[kind] = np.array(self._wrap, kind)
        return self._sizes[kind]

    def offset(self, here: Value, there: Value) -> Value:
        """Return the way from a place to another, the shorter one along wrapped axes."""
        o = there.data - here.data
        if not self._wraps:
            return typed(o)
        sizes = self._sizes_of(o.dtype).reshape(np.shape(o))
        turned = o - sizes * np.rint(o / sizes)
        return typed(np.where((sizes > 0) & (np.abs(o) > sizes / 2), turned, o)[()])


def square(offset: Value) -> Value:
    """Return the square of the distance at an offset."""
    return dot(offset, offset) if np.ndim(offset.data) else typed(offset.data * offset.data)
