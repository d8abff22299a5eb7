"""Neighbours, by the reference interpreter's space; and cases of managers that find them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import compress, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .common_cases import Cases
from .reference.grid_geometry import Coords, Space
from .reference.values import typed


def neighbours(
    radius: float,
    wrap: Sequence[float],
    points: NDArray[Any],
    places: NDArray[Any],
    seen: Sequence[bool],
) -> list[list[int]]:
    """Return which places, of those that are seen, are in reach of each point, in order.

    Points and places of one type, shape (k, axes). `wrap`: sizes of axes, 0 for open ones.
    """
    space, values = Space(wrap, places.shape[1]), [*map(typed, places)]
    space.divide(radius, places.dtype)
    with np.errstate(all="ignore"):
        by_cell = defaultdict[Coords | None, list[int]](list)
        for row in compress(range(len(places)), seen):
            by_cell[space.cell(values[row])].append(row)
        met = (space.met(by_cell, typed(point), values.__getitem__) for point in points)
        return [[row for row, _ in near] for near in met]


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
        expected = neighbours(radius, m.wrap, points, places, are_seen(m))
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
            owners = [self.subject.key(m, row) for row in rows]
            source.destroy_many(owners[::3])
            self.check(m, 2)
        if hasattr(m, "deactivate_many"):
            m.deactivate_many(range(1, m.data.n, 4))
            self.check(m, 2)
        m.clear()
        starts, rows_found = m.near(np.zeros((2, axes)), 1.0)
        assert (starts.tolist(), rows_found.tolist()) == ([0, 0, 0], [])
        assert m.near(np.empty((0, axes)), 1.0).starts.tolist() == [0]
