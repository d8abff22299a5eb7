"""Whether numbers are all different, and rows in order."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..handles import RowArray

_MANY: Final = 1024
"""So many numbers are put into a table in less time than they are sorted in."""
_SPREAD: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
_SPARSE: Final = 32
"""Among so many times more rows, some are sorted in less time than all are looked at."""


def are_distinct_below(n: int, values: RowArray) -> bool:
    """Return whether no number below n is there twice; O(n), or O(k) for a few."""
    if n > _SPARSE * len(values):
        return are_distinct(values)
    seen = np.zeros(n, np.bool_)
    seen[values] = True
    return int(np.count_nonzero(seen)) == len(values)


def are_distinct(values: NDArray[Any]) -> bool:
    """Return whether no integer is there twice; O(k)."""
    if (values[1:] > values[:-1]).all():
        return True
    if len(values) < _MANY:
        return _differ(values)
    numbers = values.astype(np.uint64)
    places = numbers * _SPREAD
    places >>= np.uint64(64 - (2 * len(numbers) - 1).bit_length())
    own = np.arange(len(numbers))
    table = np.empty(1 << (2 * len(numbers) - 1).bit_length(), np.intp)
    table[places.view(np.intp)] = own
    held = table.take(places.view(np.intp))
    lost = (held != own).nonzero()[
        0
    ]  # whose place another one has: an equal one, or not
    return not (numbers[held[lost]] == numbers[lost]).any() and _differ(numbers[lost])


def _differ(values: NDArray[Any]) -> bool:
    ordered = np.sort(values)
    return not bool((ordered[1:] == ordered[:-1]).any())


def ascending(rows: RowArray, n: int) -> RowArray:
    """Return distinct rows below n in ascending order; O(n), or O(k log k) for a few."""
    if n > _SPARSE * len(rows):
        return np.sort(rows)
    chosen = np.zeros(n, np.bool_)
    chosen[rows] = True
    return chosen.nonzero()[0]
