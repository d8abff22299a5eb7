"""Who is near whom, as the definition has it: place by place, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Cell = tuple[int, ...]


class Space:
    """A radius, and an axis each: f32 or f64 places, sizes with 0 for open ones."""

    def __init__(self, radius: float, wrap: Sequence[float], dtype: Any) -> None:
        self._kind = np.dtype(dtype).type
        self._reach = self._kind(radius) * self._kind(radius)
        self._wrap = wrap
        edge = 1.001 * float(radius)
        self._counts = [max(1, math.floor(size / edge)) if size else 0 for size in wrap]
        sizes = zip(wrap, self._counts, strict=True)
        self._edges = [size / count if count else edge for size, count in sizes]

    def offset(self, place: Any, other: Any) -> list[Any]:
        """Return the way from a place to another."""
        found = []
        for x, y, size in zip(place, other, map(self._kind, self._wrap), strict=True):
            apart = y - x
            if size and abs(apart) > size / 2:
                apart = apart - size * np.rint(apart / size)
            found.append(apart)
        return found

    def square(self, offset: Sequence[Any]) -> Any:
        """Return `dot(offset, offset)`."""
        total = offset[0] * offset[0]
        for apart in offset[1:]:
            total = total + apart * apart
        return total

    def in_reach(self, place: Any, other: Any) -> bool:
        """Return whether two places are."""
        known = bool(np.isfinite(place).all() and np.isfinite(other).all())
        return known and bool(self.square(self.offset(place, other)) <= self._reach)

    def cell(self, place: Any) -> Cell:
        """Return the cell of a finite place."""
        axes = zip(place, self._edges, self._counts, strict=True)
        cells = ((math.floor(float(x) / edge), count) for x, edge, count in axes)
        return tuple(cell % count if count else cell for cell, count in cells)

    def around(self, cell: Cell) -> list[Cell]:
        """Return the cells around one, each once, in order."""
        steps = product((-1, 0, 1), repeat=len(cell))
        axes = [tuple(map(sum, zip(cell, step, strict=True))) for step in steps]
        met = [
            tuple(c % n if n else c for c, n in zip(one, self._counts, strict=True))
            for one in axes
        ]
        return list(dict.fromkeys(met))


def neighbours(
    space: Space,
    points: NDArray[Any],
    places: NDArray[Any],
    seen: Sequence[bool],
) -> list[list[int]]:
    """Return which places, of those that are seen, are in reach of each point, in order.

    Points and places of one type, shape (k, axes).
    """
    with np.errstate(all="ignore"):
        by_cell: dict[Cell, list[int]] = {}
        for row, place in enumerate(places):
            if seen[row] and np.isfinite(place).all():
                by_cell.setdefault(space.cell(place), []).append(row)
        found: list[list[int]] = []
        for point in points:
            known = bool(np.isfinite(point).all())
            cells = space.around(space.cell(point)) if known else []
            rows = (row for cell in cells for row in by_cell.get(cell, []))
            found.append([row for row in rows if space.in_reach(point, places[row])])
        return found
