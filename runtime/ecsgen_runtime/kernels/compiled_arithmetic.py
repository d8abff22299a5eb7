"""Arithmetic as numpy has it, one number at a time."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..base.jit import jit
from . import arithmetic

minimum: Final = jit()(arithmetic.minimum)
maximum: Final = jit()(arithmetic.maximum)
between: Final = jit()(arithmetic.between)
as_int64: Final = jit()(arithmetic.as_int64)
as_uint64: Final = jit()(arithmetic.as_uint64)
weighted_index: Final = jit()(arithmetic.weighted_index)
NAT: Final = arithmetic.NAT


@jit()
def most_frequent(values: Any, count: int) -> int:
    """Return the first index of the most frequent value, of several the first met; O(k log k)."""
    order = values[:count].argsort(kind="mergesort")  # stable: equal ones stay in order
    best, most, start = 0, 0, 0
    for k in range(1, count + 1):
        if k < count and values[order[k]] == values[order[start]]:
            continue
        first = order[start]
        if k - start > most or (k - start == most and first < best):
            best, most = first, k - start
        start = k
    return best


@jit()
def sign_of(a: Any) -> Any:
    """Return -1, 0 or 1 as a number of the same type; NaN of NaN."""
    below = type(a)(-1) if a < 0 else a - a
    return type(a)(1) if a > 0 else below


@jit()
def binary_logarithm(a: Any) -> Any:
    """Return the logarithm to base 2: numba has np.log2 of one type in a function only."""
    return math.log2(a)


@jit()
def remainder(a: Any, b: Any) -> Any:
    """Return what `floor_divide` leaves of a float, of the divisor's sign."""
    if 0 <= a < b:  # most places that go around; fmod takes ten times as long
        return a + type(a)(0)
    rest = np.fmod(a, b)
    if b == 0:
        return rest
    if rest == 0:
        return type(a)(math.copysign(0.0, b))
    return rest + b if (b < 0) != (rest < 0) else rest


@jit()
def floor_divide(a: Any, b: Any) -> Any:
    """Return the quotient of floats rounded down; inf or NaN for a zero divisor."""
    if b == 0:
        return a / b
    rest = np.fmod(a, b)
    quotient = (a - rest) / b
    if rest != 0 and (b < 0) != (rest < 0):
        quotient = quotient - type(a)(1)
    if quotient == 0:
        return type(a)(math.copysign(0.0, a / b))
    below = np.floor(quotient)
    return np.ceil(quotient) if quotient - below > 0.5 else below


@jit()
def square_of(root: Any) -> Any:
    """Return the least number whose rounded square root is not less than `root`: comparing with it
    needs no root."""
    if root <= 0:
        return type(root)(0)
    none, square = type(root)(0), root * root
    while np.sqrt(square) < root:
        square = np.nextafter(square, type(root)(np.inf))
    while square > 0 and np.sqrt(np.nextafter(square, none)) >= root:
        square = np.nextafter(square, none)
    return square


@jit()
def square_within(root: Any) -> Any:
    """Return the greatest number whose rounded square root is not greater than `root`, or -1."""
    if root < 0:
        return type(root)(-1)
    if root == np.inf:
        return root
    beyond = square_of(np.nextafter(root, type(root)(np.inf)))
    return np.nextafter(beyond, type(root)(0))


@jit()
def less_than_unsigned(a: Any, b: Any) -> Any:
    """Return True if a signed integer is less than a u64; numba would compare them as floats."""
    return a < 0 or np.uint64(a) < b


@jit()
def at_most_unsigned(a: Any, b: Any) -> Any:
    """Return True if a signed integer is less than a u64 or equal."""
    return a < 0 or np.uint64(a) <= b


@jit()
def equals_unsigned(a: Any, b: Any) -> Any:
    """Return True if a signed integer is equal to a u64."""
    return a >= 0 and np.uint64(a) == b


@jit()
def add_int64(a: Any, b: Any) -> Any:
    """Return the sum of two i64; it wraps. LLVM takes it that signed integers never overflow, and
    leaves out tests that only make a difference if they do. Unsigned ones wrap."""
    return np.int64(np.uint64(a) + np.uint64(b))


@jit()
def subtract_int64(a: Any, b: Any) -> Any:
    """Return the difference of two i64; it wraps."""
    return np.int64(np.uint64(a) - np.uint64(b))


@jit()
def multiply_int64(a: Any, b: Any) -> Any:
    """Return the product of two i64; it wraps."""
    return np.int64(np.uint64(a) * np.uint64(b))


@jit()
def absolute_int64(a: Any) -> Any:
    """Return the absolute value of an i64; the smallest one stays as it is."""
    return subtract_int64(0, a) if a < 0 else np.int64(a)


@jit()
def floor_divide_int64(a: Any, b: Any) -> Any:
    """Return the quotient of i64 rounded down; 0 for a zero divisor."""
    # The machine's own division traps where -a wraps.
    return subtract_int64(0, a) if b == -1 else np.int64(a // b)


@jit()
def remainder_int64(a: Any, b: Any) -> Any:
    """Return what `floor_divide_int64` leaves; 0 for a zero divisor."""
    return 0 if b == -1 else a % b


@jit()
def whole_power(base: Any, exponent: int) -> Any:
    """Return the power of an integer to an exponent from 0; it wraps."""
    result, factor = np.uint64(1), np.uint64(base)
    while exponent > 0:
        if exponent & 1:
            result = result * factor
        factor = factor * factor
        exponent >>= 1
    return type(base)(result)


@jit()
def shift_up(a: Any, n: Any, bits: int) -> Any:
    """Return an integer of so many bits times 2 ** n, or 0 for n below 0 and from `bits` on."""
    return a << n if 0 <= n < bits else a - a


@jit()
def shift_down(a: Any, n: Any, bits: int) -> Any:
    """Return an integer of so many bits by 2 ** n, rounded down; n as in `shift_up`."""
    if 0 <= n < bits:
        return a >> n
    return a >> (bits - 1) if a < 0 else a - a


# Times: an i64 counts the units, and the least one is NaT


@jit()
def add_times(a: Any, b: Any) -> Any:
    """Return the sum of two times; NaT if one is NaT."""
    return NAT if a == NAT or b == NAT else add_int64(a, b)


@jit()
def subtract_times(a: Any, b: Any) -> Any:
    """Return the difference of two times; NaT if one is NaT."""
    return NAT if a == NAT or b == NAT else subtract_int64(a, b)


@jit()
def multiply_time(a: Any, n: Any) -> Any:
    """Return a timedelta `n` times; NaT of NaT."""
    return NAT if a == NAT else multiply_int64(a, n)


@jit()
def negate_time(a: Any) -> Any:
    """Return the negative of a timedelta; NaT of NaT."""
    return subtract_int64(0, a)


absolute_time: Final = absolute_int64
divide_times: Final = jit()(arithmetic.divide_times)
earliest: Final = jit()(arithmetic.earliest)
latest: Final = jit()(arithmetic.latest)
is_before: Final = jit()(arithmetic.is_before)
is_at_most: Final = jit()(arithmetic.is_at_most)
is_same_time: Final = jit()(arithmetic.is_same_time)
is_other_time: Final = jit()(arithmetic.is_other_time)

BLOCK: Final = 1024
"""Rows whose values are computed before they are reduced."""


@jit()
def blocks_of(n: int) -> int:
    """Return the number of blocks of n rows, at least one."""
    return max(1, (n + BLOCK - 1) // BLOCK)


@jit()
def sum_of(values: NDArray[Any], n: int) -> Any:
    """Return the sum of the first n values, which are used up; 0 for none. Sums of pairs are added,
    so that the error grows with the logarithm of n."""
    if n == 0:
        values[0] = 0
    while n > 1:
        half = (n + 1) // 2
        for i in range(n // 2):
            values[i] += values[half + i]
        n = half
    return values[0]


@jit()
def least_of(values: NDArray[Any], n: int) -> Any:
    """Return the least of the first n values, which are used up; NaN if one is NaN."""
    while n > 1:
        half = (n + 1) // 2
        for i in range(n // 2):
            values[i] = minimum(values[i], values[half + i])
        n = half
    return values[0]


@jit()
def greatest_of(values: NDArray[Any], n: int) -> Any:
    """Return the greatest of the first n values, which are used up; NaN if one is NaN."""
    while n > 1:
        half = (n + 1) // 2
        for i in range(n // 2):
            values[i] = maximum(values[i], values[half + i])
        n = half
    return values[0]
