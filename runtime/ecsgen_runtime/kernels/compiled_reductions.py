"""What is made of values for a table, as loops: the same bits as those of `kernels/folds.py`."""

from __future__ import annotations

from math import nan, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..base.jit import jit
from . import reductions

LANES: Final = reductions.LANES
"""Rows whose values are added side by side."""
_LINES: Final = reductions.BLOCK // reductions.LANES


@jit()
def in_order(values: NDArray[np.float64]) -> float:
    """Return the sum of values, added one after the other; 0 for none."""
    total = 0.0
    for value in values:
        total += value
    return total


@jit()
def carried(lanes: NDArray[np.float64], whole: NDArray[np.float64], start: int) -> None:
    """Add the lanes of a block to those of all blocks, if rows from `start` on were its last."""
    if start // LANES % _LINES == _LINES - 1:
        for place in range(len(lanes)):
            whole[place] += lanes[place]
            lanes[place] = 0.0


@jit()
def lane_sum(lanes: NDArray[np.float64], whole: NDArray[np.float64]) -> float:
    """Return the sum of the lanes of all blocks and of what is left of the last one."""
    total = 0.0
    for place in range(len(lanes)):
        total += whole[place] + lanes[place]
    return total


@jit()
def _square_sum(values: NDArray[np.float64], mean: float) -> float:
    total = 0.0
    for value in values:
        apart = value - mean
        total += apart * apart
    return total


def std_of(values: NDArray[np.float64]) -> float:
    """Return the standard deviation of a whole population, in two passes; NaN of none."""
    n = len(values)
    if n == 0:
        return nan
    return sqrt(_square_sum(values, in_order(values) / n) / n)


@jit()
def ranked_sums(ranked: NDArray[np.float64]) -> tuple[float, float]:
    """Return the sum of values, each by its place from 1, and their own."""
    weighted = total = 0.0
    for place in range(len(ranked)):
        weighted += (place + 1) * ranked[place]
        total += ranked[place]
    return weighted, total


def gini_of(values: NDArray[np.float64]) -> float:
    """Return the Gini coefficient; NaN of none, or if all are 0."""
    return reductions.gini_of(values, ranked_sums)
