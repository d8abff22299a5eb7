"""Rows have places: who is near a point, and around what the space goes."""

from __future__ import annotations

import pickle
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from .. import base, machine
from ..spaces import Space, neighbours

COUNT = 40


class Rules(machine.Machine):
    """Structural changes have nothing to do with places."""


class Cases(base.Cases):
    """What rows are found around points."""

    def placed(self) -> tuple[Any, Any, list[int]]:
        """Return rows at random places in a square of 10, two of them at none."""
        source, m = self.new(COUNT)
        axes = len(m.wrap)
        places = np.random.default_rng(1).random((COUNT, axes)) * 10
        places[3, 0], places[4, axes - 1] = np.nan, np.inf
        places[5:7] = 1  # two just in reach of each other
        places[6, 0] = 3
        rows = self.add(source, m, COUNT, **{m._SPACE.field: places})
        return source, m, rows

    def seen(self, source: Any, m: Any) -> list[bool]:
        """Return which rows others see."""
        found = []
        for row in range(m.data.n):
            owner = int(m.data.entity[row]) if hasattr(m.data, "entity") else None
            is_active = row < getattr(m, "n_active", m.data.n)
            found.append(is_active and (owner is None or source.alive(owner)))
        return found

    def places(self, m: Any) -> NDArray[Any]:
        """Return all rows' places, shape (n, axes)."""
        field = m._SPACE.field
        if field in self.subject.split:
            parts = self.subject.split[field]
            return np.stack([getattr(m.data, name) for name in parts], axis=1)
        return np.array(getattr(m.data, field))

    def check(self, source: Any, m: Any, radius: float) -> None:
        """Compare with the definition, for points among the rows and others."""
        places = self.places(m)
        some = np.vstack([places, places[:5] * 0.5, places[:5] - 11])
        space = Space(radius, m.wrap, places.dtype)
        expected = neighbours(space, some, places, self.seen(source, m))
        starts, rows = m.near(some, radius)
        assert (starts.dtype, rows.dtype) == (np.intp, np.intp)
        pairs = pairwise(starts)
        assert [rows[start:end].tolist() for start, end in pairs] == expected

    def test_who_is_near(self) -> None:
        source, m, rows = self.placed()
        axes = len(m.wrap)
        for wrap in (
            (0,) * axes,
            (10,) * axes,
            (5,) * axes,
            (0, 2.5, 10)[:axes],
            (20, 3, 0)[:axes],
        ):
            m.wrap = wrap
            for radius in (0.5, 2, 30):
                self.check(source, m, radius)
        if hasattr(source, "destroy_many"):
            owners = [self.owner(m, row) for row in rows]
            source.destroy_many(owners[::3])
            self.check(source, m, 2)
        if hasattr(m, "deactivate_many"):
            m.deactivate_many(range(1, m.data.n, 4))
            self.check(source, m, 2)

    def test_near_nothing(self) -> None:
        _, m = self.new()
        axes = len(m.wrap)
        starts, rows = m.near(np.zeros((2, axes)), 1.0)
        assert (starts.tolist(), rows.tolist()) == ([0, 0, 0], [])
        assert m.near(np.empty((0, axes)), 1.0).starts.tolist() == [0]

    def test_what_is_no_point_or_radius(self) -> None:
        _, m, _ = self.placed()
        axes = len(m.wrap)
        points = np.zeros((2, axes))
        for radius in (0, -1.0, np.nan, np.inf, "1", None, True):
            with pytest.raises(ValueError, match="radius"):
                m.near(points, radius)
        for wrong in (
            0.0,
            [0.0] * axes,
            np.zeros((2, axes + 1)),
            np.zeros((1, 2, axes)),
        ):
            with pytest.raises(ValueError, match="points"):
                m.near(wrong, 1.0)

    def test_what_is_no_wrap(self) -> None:
        _, m = self.new()
        axes = len(m.wrap)
        for wrap in (-1, np.nan, np.inf, "x", None, True):
            with pytest.raises(ValueError, match="wrap"):
                m.wrap = (wrap,) * axes
        for other in ((), (1,) * (axes + 1), 7, None, "abc"):
            with pytest.raises(ValueError, match="wrap"):
                m.wrap = other
        assert m.wrap == m._SPACE.wrap
        m.wrap = np.arange(axes)
        assert m.wrap == tuple(map(float, range(axes)))
        assert all(type(size) is float for size in m.wrap)

    def test_copies_are_as_wide(self) -> None:
        _, m = self.new()
        wrap = tuple(m._SPACE.wrap[::-1])
        m.wrap = wrap = tuple(size + 0.1 for size in wrap)
        assert deepcopy(m).wrap == pickle.loads(pickle.dumps(m)).wrap == wrap
