"""Sums that depend on no order: exact, then rounded once.

A float is a mantissa of 53 bits and an exponent. Mantissas of one exponent are added in two halves
by `bincount`, which is exact for so many; what remains is a whole number of units of 2^-1126.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, isnan, nan
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_CHUNK: Final = 1 << 22
_HALF: Final = 26
_UNIT: Final = 1126
"""No float has a bit below 2^-1074, and 53 bits more are enough for any mantissa."""
_LOWEST: Final = -1073


def total_of(column: NDArray[Any]) -> tuple[int, float]:
    """Return the exact sum of a flat column, and that of its infinities and NaNs; O(n).

    Of integers and bools as it is, of floats in units of 2^-1126.
    """
    if column.dtype.kind != "f":
        return _whole(column), 0.0
    values = column.astype(np.float64)
    finite = np.isfinite(values)
    odd = 0.0
    if not finite.all():
        with np.errstate(invalid="ignore"):
            odd = float(values[~finite].sum())
        values = values[finite]
    chunks = range(0, len(values), _CHUNK)
    return sum(_units(values[k : k + _CHUNK]) for k in chunks), odd


def rounded(total: int, odd: float) -> float:
    """Return a sum of floats, rounded to the nearest."""
    if odd != 0 or isnan(odd):
        return odd
    try:
        return float(Fraction(total, 1 << _UNIT))
    except OverflowError:
        return inf if total > 0 else -inf


def odd_total(odd: list[float]) -> float:
    """Return the sum of infinities and NaNs."""
    found = {value for value in odd if value != 0}
    if not found:
        return 0.0
    return found.pop() if len(found) == 1 else nan


def _whole(column: NDArray[Any]) -> int:
    if column.dtype.kind == "b":
        return int(np.count_nonzero(column))
    wide = column.astype(np.uint64 if column.dtype.kind == "u" else np.int64)
    low, high = wide & 0xFFFF_FFFF, wide >> 32
    return (int(high.sum()) << 32) + int(low.sum())


def _units(values: NDArray[np.float64]) -> int:
    if len(values) == 0:
        return 0
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    places = exponent.astype(np.int64) - _LOWEST
    low = np.bincount(places, weights=mantissa & (1 << _HALF) - 1)
    high = np.bincount(places, weights=mantissa >> _HALF)
    total = 0
    for place in (low.astype(np.bool_) | high.astype(np.bool_)).nonzero()[0].tolist():
        part = (int(high[place]) << _HALF) + int(low[place])
        total += part << place + _LOWEST - 53 + _UNIT
    return total
