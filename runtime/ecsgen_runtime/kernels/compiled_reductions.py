"""Reductions of values for a table, as loops, with the bits of `reductions`."""

from __future__ import annotations

from math import nan, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..base.jit import jit
from . import reductions

LANES: Final = reductions.LANES
"""Rows whose values are added in parallel."""
_LINES: Final = reductions.BLOCK // reductions.LANES


@jit()
def in_order(values: NDArray[np.float64]) -> float:
    """Return the sum of values, added in order; 0 for none."""
    total = 0.0
    for value in values:
        total += value
    return total


@jit()
def carried(lanes: NDArray[np.float64], sums: NDArray[np.float64], start: int) -> None:
    """Add the lanes of a block to those of all blocks, if rows from `start` on were its last."""
    if start // LANES % _LINES == _LINES - 1:
        for lane in range(len(lanes)):
            sums[lane] += lanes[lane]
            lanes[lane] = 0.0


@jit()
def lane_sum(lanes: NDArray[np.float64], sums: NDArray[np.float64]) -> float:
    """Return the sum of the lanes of all blocks and of the last, unfinished one."""
    total = 0.0
    for lane in range(len(lanes)):
        total += sums[lane] + lanes[lane]
    return total


@jit()
def _square_sum(values: NDArray[np.float64], mean: float) -> float:
    total = 0.0
    for value in values:
        apart = value - mean
        total += apart * apart
    return total


def std_of(values: NDArray[np.float64]) -> float:
    """Return the population standard deviation, in two passes; NaN for none."""
    n = len(values)
    if n == 0:
        return nan
    return sqrt(_square_sum(values, in_order(values) / n) / n)


@jit()
def ranked_sums(ranked: NDArray[np.float64]) -> tuple[float, float]:
    """Return the sum of values weighted by rank from 1, and the plain sum."""
    weighted = total = 0.0
    for index in range(len(ranked)):
        weighted += (index + 1) * ranked[index]
        total += ranked[index]
    return weighted, total


def gini_of(values: NDArray[np.float64]) -> float:
    """Return the Gini coefficient; NaN for none, or if all are 0."""
    return reductions.gini_of(values, ranked_sums)
