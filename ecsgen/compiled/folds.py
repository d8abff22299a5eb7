"""Reductions: blocks of values, folded in halves, which is exact enough and quick."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .arithmetic import maximum, minimum

BLOCK: Final = 1024
"""Rows whose values are computed before they are folded."""


@njit(cache=True, error_model="numpy")
def blocks_of(n: int) -> int:
    """Return how many blocks n rows make."""
    return (n + BLOCK - 1) // BLOCK


@njit(cache=True, error_model="numpy")
def sum_of(values: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the sum of the first n cells of each line, which are used up; 0 for none.

    Pairs of sums are added, so that the error grows with the logarithm of n.
    """
    if n == 0:
        return np.zeros(values.shape[0], values.dtype)
    while n > 1:
        half = (n + 1) // 2
        for line in values:
            for i in range(n // 2):
                line[i] += line[half + i]
        n = half
    return values[:, 0].copy()


@njit(cache=True, error_model="numpy")
def least_of(values: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the least of the first n cells of each line, which are used up; NaN if one is."""
    while n > 1:
        half = (n + 1) // 2
        for line in values:
            for i in range(n // 2):
                line[i] = minimum(line[i], line[half + i])
        n = half
    return values[:, 0].copy()


@njit(cache=True, error_model="numpy")
def greatest_of(values: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the greatest of the first n cells of each line, which are used up; NaN if one is."""
    while n > 1:
        half = (n + 1) // 2
        for line in values:
            for i in range(n // 2):
                line[i] = maximum(line[i], line[half + i])
        n = half
    return values[:, 0].copy()
