"""Totals over all rows of all ranks: sums depend on no order."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isnan, nan, prod
from operator import index
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .lockstep import LockStep, agreed

# --- Sums that depend on no order: exact, then rounded once ---------------------------
#
# A float is a mantissa of 53 bits and an exponent. Mantissas of one exponent are added
# in two halves by `bincount`, which is exact for so many; what remains is a whole
# number of units of 2^-1126.


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


# --- Totals over all rows of all ranks ------------------------------------------------


def exact_sum(step: LockStep, values: ArrayLike) -> Any:
    """Return the sum over all rows of all ranks, axis 0: exact, of floats rounded once.

    A Python number for a flat column, else an array; 0 without rows. O(n).
    """

    def told() -> Any:
        given = _numbers(values)
        flat = given.reshape(len(given), prod(given.shape[1:]))
        totals = [total_of(flat[:, k]) for k in range(flat.shape[1])]
        return (
            given.dtype.kind,
            given.shape[1:],
            [[str(t), odd] for t, odd in totals],
        )

    parts = step.gather("sum", told)
    shape = _same_shape([shape for _, shape, _ in parts])
    is_float = any(kind == "f" for kind, _, _ in parts)
    columns = zip(*(totals for _, _, totals in parts), strict=True)
    found: list[Any] = []
    for column in columns:
        total = sum(
            _in_units(part[0], kind, is_float)
            for part, (kind, _, _) in zip(column, parts, strict=True)
        )
        found.append(
            rounded(total, odd_total([p[1] for p in column])) if is_float else total
        )
    return found[0] if not shape else np.array(found).reshape(shape)


def extreme(
    step: LockStep, call: str, values: ArrayLike, pick: Any, none: float
) -> Any:
    """Return the value that `pick` finds in all rows, `none` without rows. O(n)."""

    def told() -> Any:
        given = _numbers(values)
        return given.shape[1:], pick(given, axis=0).tolist() if len(given) else None

    parts = step.gather(call, told)
    shape = _same_shape([shape for shape, _ in parts])
    found = [value for _, value in parts if value is not None]
    if not found:
        return none if not shape else np.full(shape, none)
    best = pick(np.array(found), axis=0)
    return best.item() if not shape else best


def whole_number(label: str, given: Any) -> int:
    """Return an integer from 0 on, or raise TypeError or ValueError."""
    if isinstance(given, bool):
        raise TypeError(f"{label}: wanted a number, not {given}")
    number = index(given)
    if number < 0:
        raise ValueError(f"{label}: wanted 0 or more, not {number}")
    return number


def _numbers(values: ArrayLike) -> NDArray[Any]:
    given = np.asarray(values)
    if given.ndim == 0 or given.dtype.kind not in "biuf":
        raise TypeError(
            f"wanted a column of numbers, not {given.dtype} of {given.shape}"
        )
    return given


def _same_shape(shapes: list[Any]) -> tuple[int, ...]:
    return agreed([*map(tuple, shapes)], "have cells of the shapes {} and {}")


def _in_units(total: str, kind: str, is_float: bool) -> int:
    """Return a total in the units of floats, if others have those."""
    return int(total) if kind == "f" or not is_float else int(total) << 1126
