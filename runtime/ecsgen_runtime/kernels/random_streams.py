"""Random numbers of kernels: functions of seed, kernel, call, row and number, in any order.

SplitMix64's mixer runs twice: over the key of a row, and over the number among the row's numbers.

Normal numbers are quantiles, within 1e-12, by Wichura's algorithm AS 241 (1988), with a rational
function for the middle and one for the tails; their coefficients were fitted in 60 digits by
Lawson's iteration. Only + - * / and square roots are used, for logarithms and exponentials as
well, so that compiled code gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..base.handles import RowArray

DrawnWords = NDArray[np.uint64]
_Floats = NDArray[np.float64]

_STEP: Final = 0x9E37_79B9_7F4A_7C15
_FIRST: Final = 0xBF58_476D_1CE4_E5B9
_SECOND: Final = 0x94D0_49BB_1331_11EB
_ALL: Final = (1 << 64) - 1

_SHIFTS: Final = [np.array(shift, np.uint64) for shift in (30, 27, 31)]
"""As arrays without axes, with which ufuncs start sooner than with numbers."""
_FACTORS: Final = [np.array(factor, np.uint64) for factor in (_FIRST, _SECOND)]
_ELEVEN: Final = np.uint64(11)
_TWELVE: Final = np.uint64(12)
_HALF: Final = np.uint64(32)
_BATCH: Final = 1024
"""Rows whose words are computed at once."""


def _mixed(number: int) -> int:
    """Return a number of 64 bits, each of which depends on all bits of the argument."""
    number = (number ^ number >> 30) * _FIRST & _ALL
    number = (number ^ number >> 27) * _SECOND & _ALL
    return number ^ number >> 31


@lru_cache(1 << 14)
def _mixed_pass(number: int) -> int:
    """Return what the words of a pass, or with a neighbour, have of its number."""
    return _mixed(number + _STEP & _ALL)


def call_key(seed: int, kernel: int, call: int) -> np.uint64:
    """Return the key of a call; `kernel` is the hash of the kernel's name."""
    return np.uint64(_mixed(_mixed(seed ^ kernel) + call * _STEP & _ALL))


def derive_stream_keys(
    row_keys: Any, key: np.uint64, streams: DrawnWords, bits: DrawnWords
) -> None:
    """Write the key of each row's stream, shape (n,); `bits` is working memory."""
    np.bitwise_xor(row_keys, key, streams)
    _mix(streams, bits)


def draw_random(
    streams: DrawnWords, number: int, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write each row's numbers from `number` on, in [0, 1), shape (*shape, n). `word` and `bits`
    are working memory, shape (n,)."""
    for element, cells in enumerate(_planes(out)):
        _words(streams, number + element, word, bits)
        np.right_shift(word, _ELEVEN, word)
        np.copyto(cells, word.view(np.int64), casting="unsafe")
        cells *= 2.0**-53


def draw_words(
    streams: DrawnWords, number: int, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write random words; as `draw_random` otherwise."""
    for element, cells in enumerate(_planes(out)):
        _words(streams, number + element, cells, bits)


def draw_normal(
    streams: DrawnWords, number: int, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write numbers of mean 0 and deviation 1; as `draw_random` otherwise."""
    for element, cells in enumerate(_planes(out)):
        _words(streams, number + element, word, bits)
        np.right_shift(word, _TWELVE, word)
        normal_into(word, cells, bits.view(np.float64))


def draw_range(
    streams: DrawnWords, number: int, bound: Any, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write whole numbers from 0 to `bound` - 1, which fits `out`; as `draw_random` otherwise.
    `bound`: from 0 to 2^32 - 1."""
    bounds = _planes(np.broadcast_to(np.asarray(bound, np.int64), out.shape))
    for element, cells in enumerate(_planes(out)):
        _words(streams, number + element, word, bits)
        np.right_shift(word, _HALF, word)
        np.multiply(word, bounds[element].view(np.uint64), word)
        np.right_shift(word, _HALF, out=cells.view(np.uint64))


def draw_bernoulli(
    streams: DrawnWords, number: int, probability: Any, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write true with a probability, false if that is negative or not finite; shape (n,)."""
    _words(streams, number, word, bits)
    np.right_shift(word, _ELEVEN, word)
    numbers = bits.view(np.float64)
    np.multiply(word.view(np.int64), 2.0**-53, out=numbers)
    np.less(numbers, probability, out=out)
    out &= np.less(probability, np.inf)


def draw_exponential(
    streams: DrawnWords, number: int, scale: Any, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write numbers of an exponential distribution with the mean `scale`, shape (n,); 0 if that is
    negative or not finite."""
    _words(streams, number, word, bits)
    out[...] = _exponential_numbers(word, scale)


def draw_poisson(
    streams: DrawnWords, number: int, mean: Any, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write whole numbers of a Poisson distribution, shape (n,); 0 if the mean is negative or not
    finite. O(n * mean), above a mean of 500 O(n)."""
    _words(streams, number, word, bits)
    out[...] = _poisson_numbers(word, mean)


def turn_order(row_keys: NDArray[np.uint64], key: np.uint64, chosen: Any = None) -> RowArray:
    """Return all rows, or the chosen ones, sorted stably by their first random words; `row_keys`,
    shape (n,), tells rows apart. O(n log n)."""
    if chosen is not None:
        rows: RowArray = chosen.rows[turn_order(row_keys[chosen.rows], key)]
        return rows
    streams, word, bits = (np.empty(len(row_keys), np.uint64) for _ in range(3))
    derive_stream_keys(row_keys, key, streams, bits)
    draw_words(streams, 0, word, bits, bits)
    return word.argsort(kind="stable")


def _unit_numbers(words: DrawnWords) -> _Floats:
    """Return the number in [0, 1) of each word."""
    numbers = (words >> _ELEVEN).view(np.int64).astype(np.float64)
    numbers *= 2.0**-53
    return numbers


def _is_parameter(values: Any) -> Any:
    """Return True for each number that is finite and not negative."""
    return (np.asarray(values) >= 0.0) & (np.asarray(values) < np.inf)


def _exponential_numbers(words: DrawnWords, scale: Any) -> Any:
    lengths = _minus_log(1.0 - _unit_numbers(words))
    return np.where(_is_parameter(scale), lengths * scale, 0.0)


def _poisson_numbers(words: DrawnWords, mean: Any) -> NDArray[np.int64]:
    means = np.broadcast_to(np.asarray(mean, np.float64), words.shape)
    is_small, is_parameter = means <= MOST_SUMMED, _is_parameter(means)
    numbers = np.zeros(len(words), np.int64)
    rows = np.flatnonzero(is_parameter & is_small)
    numbers[rows] = _poisson_sums(means[rows], _unit_numbers(words[rows]))
    rows = np.flatnonzero(is_parameter & ~is_small)
    normals, large = np.empty(rows.size), means[rows]
    normal_into(words[rows] >> _TWELVE, normals, np.empty(rows.size))
    rounded = np.rint(large + np.sqrt(large) * normals)
    fits = rounded < 2.0**63
    numbers[rows] = np.where(fits, rounded, 0.0).astype(np.int64)
    numbers[rows[~fits]] = 2**63 - 1
    return numbers


def _poisson_sums(means: _Floats, u: _Floats) -> NDArray[np.int64]:
    """Return the first number at which the sum of probabilities exceeds u, or no longer grows."""
    counts, rows, count = np.zeros(len(means), np.int64), np.arange(len(means)), 0
    probability = _exponential(-means)
    total = probability.copy()
    goes_on = total <= u
    while True:
        if not goes_on.all():
            counts[rows[~goes_on]] = count
            rows, means, u = rows[goes_on], means[goes_on], u[goes_on]
            probability, total = probability[goes_on], total[goes_on]
        if not rows.size:
            return counts
        count += 1
        probability *= means
        probability /= count
        former, total = total, total + probability
        goes_on = (total <= u) & (total > former)


def streams_of_passes(who: DrawnWords, passes: DrawnWords) -> DrawnWords:
    """Return what the random numbers of passes of loops depend on but for the call, shape (k,);
    `who` tells the row of each pass apart, `passes` which pass of it this is."""
    streams = passes + np.uint64(_STEP)
    _mix(streams, bits := np.empty_like(streams))
    streams ^= who
    _mix(streams, bits)
    return streams


def words_of_passes(streams: DrawnWords, key: np.uint64, numbers: range) -> memoryview[int]:
    """Return the random words of passes of loops: `numbers.stop` for each pass, of which those
    before `numbers` are 0. O(k)."""
    words = np.zeros((len(streams), numbers.stop), np.uint64)
    keys, word, bits = (np.empty_like(streams) for _ in range(3))
    derive_stream_keys(streams, key, keys, bits)
    for number in numbers:
        _words(keys, number, word, bits)
        words[:, number] = word
    return words.ravel().data


def _words(streams: DrawnWords, number: int, word: DrawnWords, bits: DrawnWords) -> None:
    np.add(streams, np.uint64((number + 1) * _STEP & _ALL), out=word)
    _mix(word, bits)


def _mix(word: DrawnWords, bits: DrawnWords) -> None:
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        np.right_shift(word, shift, bits)
        np.bitwise_xor(word, bits, word)
        np.multiply(word, factor, word)
    np.right_shift(word, _SHIFTS[2], bits)
    np.bitwise_xor(word, bits, word)


def _planes(cells: NDArray[Any]) -> list[NDArray[Any]]:
    """Return cells, shape (*shape, n), as one array per element, in C order."""
    if cells.ndim == 1:
        return [cells]
    return [cells[element] for element in np.ndindex(cells.shape[:-1])]


class RandomWords(dict[int, list[int]]):
    """Random words by row, computed in batches of rows."""

    __slots__ = ("_count", "_key", "_row_keys", "_size")

    def __init__(
        self,
        row_keys: Any,
        key: np.uint64,
        count: int,
        order: RowArray | None = None,
        size: int = 256,
    ) -> None:
        """Take keys that tell rows apart, shape (n,), and the number of words of a row.

        `size` is the number of rows of a batch, 1 if `row_keys` may change. Packages of interface 5
        give the `order` of turns, which makes no difference.
        """
        self._row_keys, self._key, self._count, self._size = row_keys, key, count, size

    def __missing__(self, row: int) -> list[int]:
        start = row - row % self._size
        row_keys = self._row_keys[start : start + self._size]
        words = _words_of_rows(row_keys, self._key, range(self._count))
        self.update(enumerate(words.T.tolist(), start))
        return self[row]


def words_of_turns(
    row_keys: Any, key: np.uint64, numbers: range, order: RowArray
) -> Iterator[tuple[int, ...]]:
    """Yield the random words of each turn's row, 0 for those before `numbers`; O(1) each.

    `row_keys`, shape (n,), tell rows apart, and stay as they are until the last turn.
    """
    others = [repeat(0)] * numbers.start
    batches = (order[start : start + _BATCH] for start in range(0, len(order), _BATCH))
    words = (_words_of_rows(row_keys[rows], key, numbers).tolist() for rows in batches)
    return chain.from_iterable(zip(*others, *columns, strict=False) for columns in words)


def _words_of_rows(row_keys: Any, key: np.uint64, numbers: range) -> DrawnWords:
    """Return the random words of rows, shape (len(numbers), n)."""
    streams, bits = np.empty(len(row_keys), np.uint64), np.empty(len(row_keys), np.uint64)
    derive_stream_keys(row_keys, key, streams, bits)
    steps = np.arange(numbers.start + 1, numbers.stop + 1, dtype=np.uint64)
    words = streams + steps[:, None] * np.uint64(_STEP)  # as `_words`, all at once
    _mix(words, np.empty_like(words))
    return words


class PassWords:
    """Random words of one pass of a loop, made when they are asked for."""

    __slots__ = ("_key", "_number", "_outer", "_stream")

    def __init__(self, who: int, number: int, key: int) -> None:
        """`who`: what tells the row, or the pass around, apart; `number`: which pass it is."""
        self._outer, self._number, self._key = who, number, key
        self._stream = -1

    @property
    def who(self) -> int:
        """A number that tells the pass apart."""
        return _mixed(self._outer ^ _mixed_pass(self._number))

    def __getitem__(self, number: int) -> int:
        stream = self._stream
        if stream < 0:
            who = _mixed(self._outer ^ _mixed_pass(self._number))  # a property takes longer
            stream = self._stream = _mixed(who ^ self._key)
        return _mixed(stream + (number + 1) * _STEP & _ALL)


Words = Sequence[int] | PassWords


def random_at(words: Words, number: int) -> np.float64:
    """Return a number in [0, 1)."""
    return np.float64((words[number] >> 11) * 2.0**-53)


def range_at(words: Words, number: int, bound: Any) -> np.int64:
    """Return a whole number from 0 to `bound` - 1."""
    return np.int64((words[number] >> 32) * int(bound) >> 32)


def normal_at(words: Words, number: int) -> np.float64:
    """Return a number of mean 0 and deviation 1."""
    word = np.array([words[number] >> 12], np.uint64)
    out = np.empty(1)
    normal_into(word, out, np.empty(1))
    return np.float64(out[0])


def bernoulli_at(words: Words, number: int, probability: Any) -> bool:
    """Return true with a probability, false if that is negative or not finite."""
    return bool((words[number] >> 11) * 2.0**-53 < probability < np.inf)


def exponential_at(words: Words, number: int, scale: Any) -> np.float64:
    """Return a number of an exponential distribution with a mean `scale`, or 0."""
    return np.float64(_exponential_numbers(np.array([words[number]], np.uint64), scale)[0])


def poisson_at(words: Words, number: int, mean: Any) -> np.int64:
    """Return a whole number of a Poisson distribution, or 0."""
    return np.int64(_poisson_numbers(np.array([words[number]], np.uint64), mean)[0])


# From the highest power down: numerator, denominator.
NORMAL_MIDDLE: Final = (
    (
        -1.1944577879678191e2,
        1.6341656801955446e3,
        5.841521331569575e3,
        4.126240725334335e3,
        1.0238248869831436e3,
        1.0098102541280734e2,
        3.3871328727958647e0,
    ),
    (
        1.912110031606302e3,
        3.5265098236027557e3,
        1.8411036256608932e3,
        3.78838588807949e2,
        3.2818385068127284e1,
        1.0,
    ),
)
"""Coefficients by 0.180625 - (p - 1/2)^2: the quantile of p by p - 1/2, within 5e-13."""
NORMAL_TAIL: Final = (
    (
        1.894116800771391e-3,
        5.827496022621153e-2,
        5.600921881026423e-1,
        2.3338979657283696e0,
        4.646422227010278e0,
        4.279500290428596e0,
        1.4234371107499828e0,
    ),
    (
        1.3392519321819435e-3,
        3.907622507896159e-2,
        3.3718896780570357e-1,
        1.1830981527366924e0,
        1.8067195113211847e0,
        1.0,
    ),
)
"""Coefficients by sqrt(-log(p)) - 1.6: minus the quantile of p, within 1.3e-13 down to 2^-53."""
LOG_TERMS: Final = (
    1.9364343362107378e-1,
    2.2191302235144839e-1,
    2.8571756233378684e-1,
    3.999999878685531e-1,
    6.666666666738463e-1,
)
"""Coefficients by s^2: (log((1 + s) / (1 - s)) - 2 s) / s^3, within 8e-12."""
LN2: Final = 6.93147180559945309417e-01
MIDDLE_WORD: Final = 2.0**51 - 0.5
"""Centre of the words, between both halves."""
ROOT_HALF: Final = 0x3FE6_A09E_0000_0000
"""Bits of a float just below the square root of 1/2."""
PER_LN2: Final = 1.44269504088896340736
LN2_HIGH: Final = 6.93147180369123816490e-01
"""The first 33 bits of LN2: its products with small integers are exact."""
LN2_LOW: Final = 1.90821492927058770002e-10
"""LN2 less LN2_HIGH."""
EXPONENTIAL_TERMS: Final = tuple(1.0 / math.factorial(power) for power in range(13, -1, -1))
"""Coefficients of exp(x), within 1e-16 for x up to LN2 / 2."""
MOST_SUMMED: Final = 500.0
"""Mean up to which the probabilities of a Poisson distribution are summed."""
NORMAL_EDGE: Final = 0.425
"""Distance from 1/2 up to which p is in the middle."""


def normal_into(words: NDArray[np.uint64], out: Any, square: _Floats) -> None:
    """Write the quantiles at (word + 1/2) * 2^-52 for words below 2^52; all of the shape (n,).
    `square` is working memory; so are the words."""
    distance = words.view(np.float64)
    np.copyto(square, words.view(np.int64))
    square -= MIDDLE_WORD
    np.multiply(square, 2.0**-52, out=distance)
    np.multiply(distance, distance, out=square)
    tails = np.flatnonzero(square > NORMAL_EDGE * NORMAL_EDGE)
    outside = distance[tails]
    np.subtract(0.180625, square, out=square)
    is_plain = out.dtype == np.float64 and out.flags.c_contiguous
    quantiles = _polynomial(square, NORMAL_MIDDLE[0], out if is_plain else None)
    quantiles /= _polynomial(square, NORMAL_MIDDLE[1])
    quantiles *= distance
    quantiles[tails] = _tail(outside)
    if not is_plain:
        out[...] = quantiles


def _tail(distance: _Floats) -> _Floats:
    """Return quantiles in the tails, by the distance of p from 1/2."""
    root = _minus_log(0.5 - np.abs(distance))
    np.sqrt(root, out=root)
    root -= 1.6
    quantiles = _polynomial(root, NORMAL_TAIL[0])
    quantiles /= _polynomial(root, NORMAL_TAIL[1])
    return np.copysign(quantiles, distance, out=quantiles)


def _polynomial(x: _Floats, coefficients: tuple[float, ...], out: _Floats | None = None) -> _Floats:
    """Return c0 * x^k + c1 * x^(k - 1) + …, by Horner."""
    total: _Floats = np.multiply(x, coefficients[0], out=out)
    total += coefficients[1]
    for coefficient in coefficients[2:]:
        total *= x
        total += coefficient
    return total


def _minus_log(x: _Floats) -> _Floats:
    """Return minus the natural logarithm of numbers from 2^-60 to 1/2."""
    bits = x.view(np.int64)
    exponent = (bits - ROOT_HALF) >> 52
    f = (bits - (exponent << 52)).view(np.float64) - 1.0
    k = exponent.astype(np.float64)
    s = f + 2.0
    np.divide(f, s, out=s)
    z = s * s
    rest = _polynomial(z, LOG_TERMS)
    rest *= z
    half = f * f
    half *= 0.5
    rest += half
    s *= rest
    half -= s
    half -= f
    k *= LN2
    half -= k
    return half


def _exponential(x: _Floats) -> _Floats:
    """Return e to the power of numbers from -500 to 0."""
    k = (0.5 - x * PER_LN2).astype(np.int64)
    rest = x + k * LN2_HIGH
    rest += k * LN2_LOW
    power = _polynomial(rest, EXPONENTIAL_TERMS)
    power *= ((1023 - k) << 52).view(np.float64)
    return power
