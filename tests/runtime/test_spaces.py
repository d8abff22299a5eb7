"""Neighbours against all pairs: any places, any wraps, any radius."""

from __future__ import annotations

from itertools import compress, pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from ecsgen_runtime.kernels.spaces import cell_lists as cells
from ecsgen_runtime.kernels.spaces import neighbour_search
from ecsgen_runtime.kernels.spaces.neighbour_search import NeighbourSearch as Search
from ecsgen_testing.reference.grid_geometry import Space, square
from ecsgen_testing.reference.values import typed
from ecsgen_testing.spaces import neighbours
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.soak import examples

Case = tuple[NDArray[Any], float, tuple[float, ...]]
ODD = (float("nan"), float("inf"), float("-inf"), 1e9, -1e9, 3e9, 1e19, 3e38, -0.0)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Places, a radius and a wrap: some on borders of cells and of the space, some far off."""
    axes = draw(st.sampled_from([2, 3]))
    dtype = draw(st.sampled_from(["f4", "f8"]))
    radius = draw(st.sampled_from([1.0, 0.5, 2.0, 3.7, 10.0]))
    sizes = st.sampled_from([0.0, 0.0, 0.3, 1.0, 2.1, 3.1, 4.2, 6.0, 12.0])
    wrap = draw(st.tuples(*[sizes] * axes))
    edge = 1.001 * radius
    coordinates = [k * edge for k in range(-3, 6)] + [
        k * radius for k in (-1.0, 0.0, 0.5, 1.0, 2.0)
    ]
    coordinates += [size * k for size in wrap for k in (0.5, 1.0, -1.0, 0.999)]
    numbers = st.sampled_from(coordinates) | st.floats(-12, 12, width=32) | st.sampled_from(ODD)
    count = draw(st.integers(0, 14))
    rows = draw(st.lists(st.lists(numbers, min_size=axes, max_size=axes), min_size=count))
    return np.array(rows, dtype).reshape(-1, axes), radius, wrap


def found(starts: NDArray[Any], members: NDArray[Any]) -> list[list[int]]:
    """Lists as `neighbours` has them."""
    return [members[start:end].tolist() for start, end in pairwise(starts)]


@settings(max_examples=examples(200), deadline=None)
@given(case=cases(), seed=st.integers(0, 99))
def test_points_among_places(case: Case, seed: int) -> None:
    """Every point finds whom the definition says, in its order; so it is for all pairs."""
    places, radius, wrap = case
    random = np.random.default_rng(seed)
    seen = random.random(len(places)) < 0.8
    hidden = np.where(seen, places.T, np.nan).astype(places.dtype)
    points = places[random.permutation(len(places))]
    search = Search(points.T, hidden, radius, wrap)
    expected = neighbours(radius, wrap, points, places, seen.tolist())
    assert found(*search.neighbours()) == expected
    if is_exact(case):
        space, reach = Space(wrap, len(wrap)), np.square(places.dtype.type(radius))
        ends = (seen & np.isfinite(places).all(1)).nonzero()[0].tolist()
        with np.errstate(all="ignore"):
            for point, rows in zip(points, expected, strict=True):
                candidates = ends if np.isfinite(point).all() else []
                ways = [space.offset(typed(point), typed(places[k])) for k in candidates]
                squares = [square(way).data for way in ways]
                assert sorted(rows) == [*compress(candidates, np.array(squares) <= reach)]


def is_exact(case: Case) -> bool:
    """Return True unless positions are so far outside of a wrapped axis that they lose digits."""
    places, radius, wrap = case
    finite = np.where(np.isfinite(places), places, 0)
    wrapped = [abs(finite[:, axis]).max(initial=0) for axis, size in enumerate(wrap) if size]
    return all(
        4 * float(far) * float(np.finfo(places.dtype).eps) < 0.0005 * radius for far in wrapped
    )


@settings(max_examples=examples(100), deadline=None)
@given(case=cases())
@example(case=(np.zeros((9, 2), "f4"), 1.0, (0.0, 1.0)))
def test_places_among_themselves(case: Case) -> None:
    """A row that asks does not find itself; in many blocks or in one."""
    places, radius, wrap = case
    expected = neighbours(radius, wrap, places, places, [True] * len(places))
    without = [[row for row in rows if row != k] for k, rows in enumerate(expected)]
    for size in (1, 7, 1 << 15):
        with patch.object(neighbour_search, "_CANDIDATES", size):
            search = Search(places.T, places.T, radius, wrap, is_one=True)
            assert found(*search.neighbours()) == without
    names = np.arange(len(places)).astype(np.uint64)
    search = Search(places.T, places.T.copy(), radius, wrap, names=(names, names))
    assert found(*search.neighbours()) == without


@settings(max_examples=examples(100), deadline=None)
@given(case=cases())
def test_cells_that_are_too_many(case: Case) -> None:
    """Few keys for many cells: they are numbered anew, and share keys if that is not enough."""
    places, radius, wrap = case
    expected = neighbours(radius, wrap, places, places, [True] * len(places))
    for most, sparse in ((1 << 62, 0), (1 << 20, 0), (50_000, 4), (5000, 4)):
        with patch.object(cells, "_MOST", most), patch.object(cells, "SPARSE", sparse):
            search = Search(places.T, places.T.copy(), radius, wrap)
            assert found(*search.neighbours()) == expected


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_radii_whose_square_is_no_number_of_the_type(dtype: str) -> None:
    """All that is in reach is found, however far off in terms of the radius."""
    tiny, huge = (1e-30, 1e30) if dtype == "f4" else (1e-200, 1e200)
    places = np.array([[0, 1e3 * tiny, 1], [0, 0, 0]], dtype)
    found_, members = Search(places, places, tiny, (0.0, 0.0), is_one=True).neighbours()
    assert (found_.tolist(), members.tolist()) == ([0, 1, 2, 2], [1, 0])
    places = np.array([[0, 3 * huge, 0.01], [0, 0, 0]], dtype)
    found_, members = Search(places, places, huge, (0.0, 0.0), is_one=True).neighbours()
    assert members.tolist() == [1, 2, 0, 2, 0, 1]


def test_a_few_far_apart_take_no_room() -> None:
    """The work goes by the places, not by the cells between them."""
    places = np.array([[0, 1e9, -1e9, 1e15, 0.5], [0, 1e9, 1e9, -1e15, 0]], "f8")
    search = Search(places, places, 1.0, (0.0, 0.0), is_one=True)
    _, members = search.neighbours()
    assert members.tolist() == [4, 0]
    places = np.array([[0.5, 5e8, 1e9 - 0.2], [0, 0, 0], [0, 1e9, 0]], "f8")
    search = Search(places, places, 1.0, (1e9, 0.0, 1e9), is_one=True)
    assert search.neighbours()[1].tolist() == [2, 0]


def test_places_whose_cell_has_no_number() -> None:
    """They are finite, but so far off that even the quotient is infinite; nobody minds."""
    far = np.random.default_rng(0).uniform(-1, 1, (60, 2)) * 1e308
    assert found(*Search(far.T, far.T, 1e-5, (10.0, 0.0)).neighbours()) == [[k] for k in range(60)]
