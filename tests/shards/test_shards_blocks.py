"""A box cut into blocks: whose a point is, and which blocks are near it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sharded_package import package

Blocks = package.Blocks


def test_shapes() -> None:
    assert Blocks((0, 0), (1, 1), 4).shape == (2, 2)
    assert Blocks((0, 0), (4, 1), 4).shape == (4, 1)
    assert Blocks((0, 0, 0), (1, 1, 1), 8).shape == (2, 2, 2)
    assert Blocks((0, 0), (1, 1), (1, 5)).size == 5
    assert Blocks(0, 1, 3).owner([0.1, 0.5, 0.9, -7, 7]).tolist() == [0, 1, 2, 0, 2]
    assert Blocks(0, 1, 3, periodic=True).owner([-0.1, 1.1, 1.0]).tolist() == [2, 0, 0]
    assert repr(Blocks(0, 1, 3)) == "<Blocks: 3 between [0.0] and [1.0]>"


@pytest.mark.parametrize(
    "wrong",
    [
        ((0, 0), (1, 0), 2),
        ((0,) * 4, (1,) * 4, 2),
        ((0, 0), (1, 1, 1), 2),
        (0, 1, 0),
        ((0, 0), (1, 1), (2, 2, 2)),
        ((0, 0), (1, 1), (0, 2)),
        (0, math.inf, 2),
        (-math.inf, 0, 2),
    ],
)
def test_what_is_no_box(wrong: tuple[object, ...]) -> None:
    with pytest.raises(ValueError, match="Blocks"):
        Blocks(*wrong)


def test_what_is_no_point() -> None:
    space = Blocks((0, 0), (1, 1), 2)
    for points in ([1, 2], [[1, 2, 3]], 5):
        with pytest.raises(ValueError, match="Blocks: points"):
            space.owner(points)
    with pytest.raises(ValueError, match="radius"):
        space.borders([[0, 0]], -1, 0)


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    points=st.lists(st.lists(st.floats(-3, 13), min_size=3, max_size=3), max_size=12),
    radius=st.floats(0, 12),
    periodic=st.booleans(),
)
def test_points_near_a_block_are_at_its_border(
    shape: list[int], points: list[list[float]], radius: float, periodic: bool
) -> None:
    axes = len(shape)
    space = Blocks((0,) * axes, (10,) * axes, shape, periodic=periodic)
    positions = np.array(points).reshape(-1, 3)[:, :axes]
    owners = space.owner(positions)
    for rank in range(space.size):
        rows, ranks = space.borders(positions, radius, rank)
        borders = set(zip(rows.tolist(), ranks.tolist(), strict=True))
        assert len(borders) == len(rows)
        assert all(other != rank for _, other in borders)
        for row, owner in enumerate(owners.tolist()):
            assert owner == rank or (row, owner) in borders
    shifts = (-10, 0, 10) if periodic else (0,)
    pairs = set(zip(*(a.tolist() for a in space.borders(positions, radius, -1)), strict=True))
    for position in range(len(positions)):
        for other in range(len(positions)):
            away = np.abs(
                positions[position] % 10 - positions[other] % 10
                if periodic
                else positions[position] - positions[other]
            )
            if periodic:
                away = np.min([np.abs(away + shift) for shift in shifts], axis=0)
            is_inside = ((positions[other] >= 0) & (positions[other] < 10)).all()
            if (away < radius * 0.999999).all() and (periodic or is_inside):
                assert (position, int(owners[other])) in pairs
