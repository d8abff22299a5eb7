"""Random numbers of compiled kernels, one at a time, with the bits of `random_streams`."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numba import types
from numpy.typing import NDArray

from ..base.handles import RowArray
from ..base.jit import intrinsic_of, jit
from .compiled_arithmetic import as_int64
from .random_streams import (
    EXPONENTIAL_TERMS,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LOG_TERMS,
    MIDDLE_WORD,
    MOST_SUMMED,
    NORMAL_EDGE,
    NORMAL_MIDDLE,
    NORMAL_TAIL,
    PER_LN2,
    ROOT_HALF,
)


def _as_choice(context: Any, test: Any, then: Any, otherwise: Any) -> Any:
    """Return one of two floats, without a branch."""

    def cast(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    kinds = types.boolean, types.float64, types.float64
    return types.float64(*kinds), cast


@intrinsic_of(_as_choice)
def _choice(test: Any, then: Any, otherwise: Any) -> Any:
    return then if test else otherwise


_ONE_ROUND: Final = np.uint64(13)
"""Bits of row numbers up to which words are sorted in one round."""
_STEP: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
_FIRST: Final = np.uint64(0xBF58_476D_1CE4_E5B9)
_SECOND: Final = np.uint64(0x94D0_49BB_1331_11EB)


@jit(forceinline=True)
def _mix(x: Any) -> Any:
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


@jit(forceinline=True)
def stream_key(row_key: Any, key: Any) -> Any:
    """Return the key of a row's stream."""
    return _mix(np.uint64(row_key) ^ key)


@jit(forceinline=True)
def id_stream_key(slot: Any, generation: Any, key: Any) -> Any:
    """Return the key of a row's stream, by the row's id."""
    return _mix(stream_of_id(slot, generation) ^ key)


@jit(forceinline=True)
def stream_of_id(slot: Any, generation: Any) -> Any:
    """Return the id of a row."""
    return np.uint64(generation) << np.uint64(32) | np.uint64(slot)


@jit(forceinline=True)
def pass_stream(who: Any, number: Any) -> Any:
    """Return what the random numbers of one pass of a loop depend on."""
    return _mix(who ^ _mix(np.uint64(number) + _STEP))


@jit(forceinline=True)
def _word(stream: Any, number: Any) -> Any:
    return _mix(stream + np.uint64(number + 1) * _STEP)


@jit(forceinline=True)
def random_at(stream: Any, number: Any) -> Any:
    """Return a number in [0, 1)."""
    return np.float64(np.int64(_word(stream, number) >> np.uint64(11))) * 2.0**-53


@jit(forceinline=True)
def range_at(stream: Any, number: Any, bound: Any) -> Any:
    """Return a whole number from 0 to `bound` - 1."""
    high = _word(stream, number) >> np.uint64(32)
    return np.int64(high * np.uint64(bound) >> np.uint64(32))


@jit(forceinline=True)
def normal_at(stream: Any, number: Any) -> Any:
    """Return a number of mean 0 and deviation 1. Without branches, so that loops stay vector loops:
    only coefficients are chosen."""
    high = np.int64(_word(stream, number) >> np.uint64(12))
    distance = (np.float64(high) - MIDDLE_WORD) * 2.0**-52
    square = distance * distance
    is_middle = square <= NORMAL_EDGE * NORMAL_EDGE
    root = math.sqrt(_minus_log(0.5 - abs(distance)))
    x = _choice(is_middle, 0.180625 - square, root - 1.6)
    sign = _choice(distance > 0.0, 1.0, -1.0)
    (a, c), (b, d) = NORMAL_MIDDLE, NORMAL_TAIL
    above = _choice(is_middle, a[0], b[0]) * x + _choice(is_middle, a[1], b[1])
    above = _horner(above, x, is_middle, a[2:], b[2:])
    below = _horner(_choice(is_middle, c[0], d[0]), x, is_middle, c[1:], d[1:])
    return above / below * _choice(is_middle, distance, sign)


@jit(forceinline=True)
def bernoulli_at(stream: Any, number: Any, probability: Any) -> Any:
    """Return true with a probability, false if that is negative or not finite."""
    # words are compared as whole numbers, which is quicker
    is_parameter = probability > 0.0 and probability < np.inf
    bound = math.ceil(min(probability, 1.0) * 2.0**53) if is_parameter else 0.0
    return _word(stream, number) >> np.uint64(11) < np.uint64(np.int64(bound))


@jit(forceinline=True)
def exponential_at(stream: Any, number: Any, scale: Any) -> Any:
    """Return an exponential number of mean `scale`; 0 if that is negative or not finite."""
    length = _minus_log(1.0 - random_at(stream, number))
    return length * scale if scale >= 0.0 and scale < np.inf else 0.0


@jit()
def poisson_at(stream: Any, number: Any, mean: Any) -> Any:
    """Return a whole number of a Poisson distribution; 0 if the mean is negative or not finite.
    O(mean), above a mean of 500 O(1)."""
    if not (mean >= 0.0 and mean < np.inf):
        return np.int64(0)
    if mean > MOST_SUMMED:
        return as_int64(np.rint(mean + math.sqrt(mean) * normal_at(stream, number)))
    u, probability = random_at(stream, number), _exponential(-mean)
    former, total, count = -1.0, probability, 0
    while total <= u and total > former:
        count += 1
        probability = probability * mean / count
        former, total = total, total + probability
    return np.int64(count)


@jit(forceinline=True)
def _exponential(x: Any) -> Any:
    """Return e to the power of a number from -500 to 0."""
    k = np.int64(0.5 - x * PER_LN2)
    rest = x + k * LN2_HIGH + k * LN2_LOW
    power = EXPONENTIAL_TERMS[0]
    for coefficient in EXPONENTIAL_TERMS[1:]:
        power = power * rest + coefficient
    return power * np.int64((1023 - k) << 52).view(np.float64)


@jit(forceinline=True)
def _horner(total: Any, x: Any, is_middle: Any, a: Any, b: Any) -> Any:
    """Continue a polynomial for five powers, with the coefficients of the middle or the tails."""
    total = total * x + _choice(is_middle, a[0], b[0])
    total = total * x + _choice(is_middle, a[1], b[1])
    total = total * x + _choice(is_middle, a[2], b[2])
    total = total * x + _choice(is_middle, a[3], b[3])
    return total * x + _choice(is_middle, a[4], b[4])


@jit(forceinline=True)
def _minus_log(x: Any) -> Any:
    """Return minus the natural logarithm of a number from 2^-60 to 1/2."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits - ROOT_HALF) >> 52
    f = np.int64(bits - (exponent << 52)).view(np.float64) - 1.0
    k = np.float64(exponent)
    s = f / (f + 2.0)
    z = s * s
    c = LOG_TERMS
    rest = z * ((((c[0] * z + c[1]) * z + c[2]) * z + c[3]) * z + c[4])
    half = f * f * 0.5
    return half - s * (rest + half) - f - k * LN2


def turn_order(row_keys: NDArray[np.uint64], key: np.uint64, chosen: Any = None) -> RowArray:
    """Return all rows, or the chosen ones, sorted stably by their first random words; `row_keys`,
    shape (n,), tells rows apart. O(n)."""
    if chosen is not None:
        rows: RowArray = chosen.rows[turn_order(row_keys[chosen.rows], key)]
        return rows
    order = np.empty(len(row_keys), np.intp)
    _write_turns(row_keys, key, order)
    return order


@jit()
def _write_turns(row_keys: NDArray[np.uint64], key: Any, order: RowArray) -> None:
    """Sort words, with rows in their lowest bits, by their highest bits in a round or two, then by
    insertion: nearly all are in place by then."""
    count, bits = len(row_keys), np.uint64(1)
    while 1 << bits <= count:
        bits += np.uint64(1)
    row_mask, words = np.uint64((1 << bits) - 1), np.empty(count, np.uint64)
    for row in range(count):
        word = _word(_mix(row_keys[row] ^ key), 0)
        words[row] = word >> bits << bits | np.uint64(row)
    digit = bits + np.uint64(1)
    if bits > _ONE_ROUND:
        digit = min(np.uint64(11), bits // np.uint64(2) + np.uint64(2))
        words = _by_digit(words, digit, digit)
    words = _by_digit(words, digit, np.uint64(0))
    for k in range(1, count):
        word = words[k]
        if _comes_later(words[k - 1], word, row_keys, key, bits):
            position = k
            while position > 0 and _comes_later(words[position - 1], word, row_keys, key, bits):
                words[position] = words[position - 1]
                position -= 1
            words[position] = word
    for k in range(count):
        order[k] = np.intp(words[k] & row_mask)


@jit()
def _by_digit(words: NDArray[np.uint64], bits: Any, above: Any) -> NDArray[np.uint64]:
    """Return words sorted stably by so many bits, below those above."""
    down, total = np.uint64(64) - bits, np.int32(0)
    starts, ordered = np.zeros(1 << bits, np.int32), np.empty_like(words)
    for word in words:
        starts[word << above >> down] += np.int32(1)
    for k in range(len(starts)):
        starts[k], total = total, total + starts[k]
    for word in words:
        position = starts[word << above >> down]
        ordered[position] = word
        starts[word << above >> down] = position + np.int32(1)
    return ordered


@jit(forceinline=True)
def _comes_later(word: Any, other_word: Any, row_keys: Any, key: Any, bits: Any) -> Any:
    """Return True if a row comes after another; the words' lost bits decide between equal rests."""
    if word >> bits != other_word >> bits:
        return word > other_word
    mask = (np.uint64(1) << bits) - np.uint64(1)
    first = _word(_mix(row_keys[word & mask] ^ key), 0)
    second = _word(_mix(row_keys[other_word & mask] ^ key), 0)
    return word > other_word if first == second else first > second
