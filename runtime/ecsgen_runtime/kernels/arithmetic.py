"""Arithmetic of loops in plain Python: numpy's own scalars, which round and wrap as columns do.

What compiled loops call functions for, under the same names.
"""

from __future__ import annotations

from operator import add, floordiv, mod, mul, sub
from typing import Any, Final

import numpy as np

from ..base.handles import RowArray

add_int64: Final = add
subtract_int64: Final = sub
multiply_int64: Final = mul
absolute_int64: Final = abs
floor_divide: Final = floordiv
floor_divide_int64: Final = floordiv
remainder: Final = mod
remainder_int64: Final = mod
sign_of: Final = np.sign
binary_logarithm: Final = np.log2
NAT: Final = np.int64(-(2**63))
"""The number of units of NaT."""


def wrap_int64(number: int) -> int:
    """Return an integer of Python's own as an i64 has it."""
    if -(2**63) <= number < 2**63:
        return number
    return (number + 2**63) % 2**64 - 2**63


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller float; NaN if one is NaN."""
    return a if a < b or a != a else b


def maximum(a: Any, b: Any) -> Any:
    """Return the larger float; NaN if one is NaN."""
    return a if a > b or a != a else b


def less_than_unsigned(a: Any, b: Any) -> bool:
    """Return True if a signed integer is less than a u64."""
    return int(a) < int(b)


def at_most_unsigned(a: Any, b: Any) -> bool:
    """Return True if a signed integer is less than a u64 or equal."""
    return int(a) <= int(b)


def equals_unsigned(a: Any, b: Any) -> bool:
    """Return True if a signed integer is equal to a u64."""
    return int(a) == int(b)


def whole_power(base: Any, exponent: Any) -> Any:
    """Return the power of an integer to an exponent from 0; it wraps."""
    result, exponent = type(base)(1), int(exponent)
    while exponent > 0:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent >>= 1
    return result


def shift_up(a: Any, n: Any, bits: int) -> Any:
    """Return an integer of so many bits times 2 ** n, or 0 for n below 0 and from `bits` on."""
    return a << n


def shift_down(a: Any, n: Any, bits: int) -> Any:
    """Return an integer of so many bits by 2 ** n, rounded down; n as in `shift_up`."""
    return a >> n


def between(value: Any, low: float, high: float) -> Any:
    """Return a float within bounds, to be cut to an integer; 0 for NaN."""
    value = float(value)  # beside an f32 numpy would round the bounds
    if value != value:
        return 0.0
    return low if value < low else high if value > high else value


def as_int64(value: Any) -> np.int64:
    """Return a float truncated and clipped to i64, 0 for NaN."""
    value = float(value)  # Python's own compares sooner
    if value >= 2.0**63:
        return np.int64(2**63 - 1)
    if value >= -(2.0**63):
        return np.int64(value)
    return np.int64(-(2**63) if value < 0 else 0)


def as_uint64(value: Any) -> np.uint64:
    """Return a float truncated and clipped to u64, 0 for NaN."""
    value = float(value)
    if value >= 2.0**64:
        return np.uint64(2**64 - 1)
    return np.uint64(value if value > 0 else 0)


def weighted_index(weights: Any, count: int, drawn: float) -> int:
    """Return the first index of which the running sum of weights exceeds `drawn`, in [0, 1), times
    all of them; -1 if none does. Those that are not finite or not above 0 count as 0."""
    total = 0.0
    for k in range(count):
        if 0 < weights[k] < np.inf:
            total += weights[k]
    limit, running = drawn * total, 0.0
    for k in range(count):
        if 0 < weights[k] < np.inf:
            running += weights[k]
            if running > limit:
                return k
    return -1


def most_frequent(values: Any, count: int) -> int:
    """Return the first index of the most frequent value, of several the one first met; O(k)."""
    often: dict[Any, int] = {}
    firsts: dict[Any, int] = {}
    for k in range(count):
        firsts.setdefault(values[k], k)
        often[values[k]] = often.get(values[k], 0) + 1
    return firsts[max(often, key=often.__getitem__)]


def row_at(rows: RowArray, position: int) -> int:
    """Return the row at a position; of consecutive rows only the first is stored."""
    return int(rows[position] if len(rows) > 1 else rows[0] + position)


# Times: an i64 counts the units, and the least one is NaT


def add_times(a: Any, b: Any) -> Any:
    """Return the sum of two times; NaT if one is NaT."""
    return NAT if NAT in (a, b) else a + b


def subtract_times(a: Any, b: Any) -> Any:
    """Return the difference of two times; NaT if one is NaT."""
    return NAT if NAT in (a, b) else a - b


def multiply_time(a: Any, n: Any) -> Any:
    """Return a timedelta `n` times; NaT of NaT."""
    return NAT if a == NAT else a * n


def divide_times(a: Any, b: Any) -> Any:
    """Return the ratio of two timedeltas; NaN if one is NaT."""
    return np.float64(np.nan) if a == NAT or b == NAT else np.float64(a) / np.float64(b)


def negate_time(a: Any) -> Any:
    """Return the negative of a timedelta; NaT of NaT."""
    return np.int64(0) - a


def absolute_time(a: Any) -> Any:
    """Return the absolute value of a timedelta; NaT of NaT."""
    return np.int64(0) - a if a < 0 else a


def earliest(a: Any, b: Any) -> Any:
    """Return the smaller time; NaT if one is NaT."""
    return a if a < b else b


def latest(a: Any, b: Any) -> Any:
    """Return the larger time; NaT if one is NaT."""
    if a == NAT or b == NAT:
        return NAT
    return a if a > b else b


def is_before(a: Any, b: Any) -> Any:
    """Return True if a time is less than another; False for NaT."""
    return a != NAT and a < b


def is_at_most(a: Any, b: Any) -> Any:
    """Return True if a time is less than another or equal; False for NaT."""
    return a != NAT and a <= b


def is_same_time(a: Any, b: Any) -> Any:
    """Return True if two times are equal; False for NaT."""
    return a != NAT and a == b


def is_other_time(a: Any, b: Any) -> Any:
    """Return True if two times are not equal; True for NaT."""
    return a == NAT or a != b
