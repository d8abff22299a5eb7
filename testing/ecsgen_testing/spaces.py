"""Neighbours, found by looking at all pairs; and cases of managers that find them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .common_cases import Cases

Cell = tuple[int, ...]


class Space:
    """A radius, and an axis each: f32 or f64 places, sizes with 0 for open ones."""

    def __init__(self, radius: float, wrap: Sequence[float], dtype: Any) -> None:
        self._kind = np.dtype(dtype).type
        self._reach = self._kind(radius) * self._kind(radius)
        self._wrap = [self._kind(size) for size in wrap]
        edge = 1.001 * float(radius)
        self._counts = [max(1, math.floor(size / edge)) if size else 0 for size in wrap]
        sizes = zip(wrap, self._counts, strict=True)
        self._edges = [size / count if count else edge for size, count in sizes]

    def offset(self, start: Any, target: Any) -> list[Any]:
        """Return the way from a place to another."""
        offset = []
        for x, y, size in zip(start, target, self._wrap, strict=True):
            apart = y - x
            if size and abs(apart) > size / 2:
                apart = apart - size * np.rint(apart / size)
            offset.append(apart)
        return offset

    def square(self, offset: Sequence[Any]) -> Any:
        """Return `dot(offset, offset)`."""
        return sum((apart * apart for apart in offset), self._kind(0))

    def cell(self, point: Any) -> Cell:
        """Return the cell of a finite place."""
        axes = zip(point, self._edges, self._counts, strict=True)
        cells = ((math.floor(float(x) / edge), count) for x, edge, count in axes)
        return tuple(cell % count if count else cell for cell, count in cells)

    def around(self, cell: Cell) -> list[Cell]:
        """Return the cells around one, each once, in order."""
        steps = product((-1, 0, 1), repeat=len(cell))
        axes = [tuple(map(sum, zip(cell, step, strict=True))) for step in steps]
        met = [
            tuple(c % n if n else c for c, n in zip(around, self._counts, strict=True))
            for around in axes
        ]
        return list(dict.fromkeys(met))

    def met(
        self, by_cell: Mapping[Cell, Sequence[int]], point: Any, places: NDArray[Any]
    ) -> Iterator[tuple[int, list[Any], Any]]:
        """Yield the rows in reach of a point, cell by cell: the way there, its square.

        The cells have rows with finite places alone.
        """
        if not np.isfinite(point).all():
            return
        for cell in self.around(self.cell(point)):
            for row in by_cell.get(cell, ()):
                offset = self.offset(point, places[row])
                square = self.square(offset)
                if square <= self._reach:
                    yield row, offset, square


def neighbours(
    space: Space, points: NDArray[Any], places: NDArray[Any], seen: Sequence[bool]
) -> list[list[int]]:
    """Return which places, of those that are seen, are in reach of each point, in order.

    Points and places of one type, shape (k, axes).
    """
    with np.errstate(all="ignore"):
        by_cell: dict[Cell, list[int]] = {}
        for row, position in enumerate(places):
            if seen[row] and np.isfinite(position).all():
                by_cell.setdefault(space.cell(position), []).append(row)
        met = (space.met(by_cell, point, places) for point in points)
        return [[row for row, *_ in near] for near in met]


def are_seen(manager: Any) -> list[bool]:
    """Return which rows are visible: active ones of live entities."""
    data = manager.data
    active = int(getattr(manager, "n_active", data.n))
    seen = [row < active for row in range(data.n)]
    if hasattr(data, "entity"):
        alive = manager._entities.alive_many(data.entity).tolist()
        seen = [is_active and other for is_active, other in zip(seen, alive, strict=True)]
    return seen


COUNT = 40


class SpatialCases(Cases):
    """Searches for rows around points."""

    def placed(self) -> tuple[Any, Any, list[int]]:
        """Return rows at random places in a square of 10, two of them at none."""
        source, m = self.new(COUNT)
        axes = len(m.wrap)
        places = np.random.default_rng(1).random((COUNT, axes)) * 10
        places[3, 0], places[4, axes - 1] = np.nan, np.inf
        places[5:7] = 1  # two just in reach of each other
        places[6, 0] = 3
        field, (column, *_) = m._SPACE.field, m._SPACE.columns
        is_scalar = column == f"_{field}_column" and getattr(m.data, column).ndim == 1
        rows = self.add(source, m, COUNT, **{field: places[:, 0] if is_scalar else places})
        return source, m, rows

    def check(self, m: Any, radius: float) -> None:
        """Compare with the definition, for points among the rows and elsewhere."""
        columns = [getattr(m.data, name)[: m.data.n] for name in m._SPACE.columns]
        places = np.stack(columns, axis=1) if columns[1:] else np.array(columns[0])
        places = places.reshape(-1, len(m.wrap))
        points = np.vstack([places, places[:5] * 0.5, places[:5] - 11])
        space = Space(radius, m.wrap, places.dtype)
        expected = neighbours(space, points, places, are_seen(m))
        starts, rows = m.near(points, radius)
        assert (starts.dtype, rows.dtype) == (np.intp, np.intp)
        pairs = pairwise(starts)
        assert [rows[start:end].tolist() for start, end in pairs] == expected

    def test_who_is_near(self) -> None:
        source, m, rows = self.placed()
        axes = len(m.wrap)
        same = ((size,) * axes for size in (0, 10, 5))
        for wrap in (*same, (0, 2.5, 10)[:axes], (20, 3, 0)[:axes]):
            m.wrap = wrap
            for radius in (0.5, 2, 30):
                self.check(m, radius)
        if hasattr(source, "destroy_many"):
            owners = [self.owner(m, row) for row in rows]
            source.destroy_many(owners[::3])
            self.check(m, 2)
        if hasattr(m, "deactivate_many"):
            m.deactivate_many(range(1, m.data.n, 4))
            self.check(m, 2)
        m.clear()
        starts, rows_found = m.near(np.zeros((2, axes)), 1.0)
        assert (starts.tolist(), rows_found.tolist()) == ([0, 0, 0], [])
        assert m.near(np.empty((0, axes)), 1.0).starts.tolist() == [0]
