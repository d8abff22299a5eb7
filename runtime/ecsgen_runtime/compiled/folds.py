"""Reductions: blocks of values, folded in halves, which is exact enough and quick."""

from __future__ import annotations

from typing import Any, Final

from numpy.typing import NDArray

from .arithmetic import maximum, minimum
from .kernel import kernel

BLOCK: Final = 1024
"""Rows whose values are computed before they are folded."""


@kernel()
def blocks_of(n: int) -> int:
    """Return how many blocks n rows make, at least one."""
    return max(1, (n + BLOCK - 1) // BLOCK)


@kernel()
def sum_of(values: NDArray[Any], n: int) -> Any:
    """Return the sum of the first n values, which are used up; 0 for none.

    Sums of pairs are added, so that the error grows with the logarithm of n.
    """
    if n == 0:
        values[0] = 0
    while n > 1:
        half = (n + 1) // 2
        for i in range(n // 2):
            values[i] += values[half + i]
        n = half
    return values[0]


@kernel()
def least_of(values: NDArray[Any], n: int) -> Any:
    """Return the least of the first n values, which are used up; NaN if one is."""
    while n > 1:
        half = (n + 1) // 2
        for i in range(n // 2):
            values[i] = minimum(values[i], values[half + i])
        n = half
    return values[0]


@kernel()
def greatest_of(values: NDArray[Any], n: int) -> Any:
    """Return the greatest of the first n values, which are used up; NaN if one is."""
    while n > 1:
        half = (n + 1) // 2
        for i in range(n // 2):
            values[i] = maximum(values[i], values[half + i])
        n = half
    return values[0]
