"""Random numbers of kernels: functions of seed, kernel, call, row and number, in any order.

SplitMix64's mixer runs twice: over the key of a row, and over the number among the row's numbers.

Normal numbers are quantiles, within 1e-12, by Wichura's algorithm AS 241 (1988), with a rational
function for the middle and one for the tails; their coefficients were fitted in 60 digits by
Lawson's iteration. Only + - * / and square roots are used, for the logarithm as well, so that
compiled code gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import index
from typing import Any, ClassVar, Final, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.handles import RowArray
from ..base.specialisation import NO_SLOTS
from ..managers.manager import BaseManager
from ..values.field_types import IntField
from ..values.interchange import plain_array
from ..world.world_base import WorldBase

DrawnWords = NDArray[np.uint64]

_STEP: Final = 0x9E37_79B9_7F4A_7C15
_FIRST: Final = 0xBF58_476D_1CE4_E5B9
_SECOND: Final = 0x94D0_49BB_1331_11EB
_ALL: Final = (1 << 64) - 1

_SHIFTS: Final = np.uint64(30), np.uint64(27), np.uint64(31)
_FACTORS: Final = np.uint64(_FIRST), np.uint64(_SECOND)
_ELEVEN: Final = np.uint64(11)
_TWELVE: Final = np.uint64(12)
_HALF: Final = np.uint64(32)


def _mixed(number: int) -> int:
    """Return a number of 64 bits, each of which depends on all bits of the argument."""
    number = (number ^ number >> 30) * _FIRST & _ALL
    number = (number ^ number >> 27) * _SECOND & _ALL
    return number ^ number >> 31


def call_key(seed: int, kernel: int, call: int) -> np.uint64:
    """Return the key of a call; `kernel` is the hash of the kernel's name."""
    return np.uint64(_mixed(_mixed(seed ^ kernel) + call * _STEP & _ALL))


def derive_stream_keys(
    row_keys: Any, key: np.uint64, streams: DrawnWords, bits: DrawnWords
) -> None:
    """Write the key of each row's stream, shape (n,); `bits` is working memory."""
    np.bitwise_xor(row_keys, key, out=streams)
    _mix(streams, bits)


def draw_random(
    streams: DrawnWords, number: int, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write each row's numbers from `number` on, in [0, 1), shape (*shape, n).

    `word` and `bits` are working memory, shape (n,).
    """
    for element, cells in enumerate(_planes(out)):
        _words(streams, number + element, word, bits)
        np.right_shift(word, _ELEVEN, out=word)
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
        np.right_shift(word, _TWELVE, out=word)
        normal_into(word, cells, bits.view(np.float64))


def draw_range(
    streams: DrawnWords, number: int, bound: Any, out: Any, word: DrawnWords, bits: DrawnWords
) -> None:
    """Write whole numbers from 0 to `bound` - 1, which fits `out`; as `draw_random` otherwise.

    `bound`: from 0 to 2^32 - 1.
    """
    bounds = _planes(np.broadcast_to(np.asarray(bound, np.int64), out.shape))
    for element, cells in enumerate(_planes(out)):
        _words(streams, number + element, word, bits)
        np.right_shift(word, _HALF, out=word)
        np.multiply(word, bounds[element].view(np.uint64), out=word)
        np.right_shift(word, _HALF, out=cells.view(np.uint64))


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


def _words(streams: DrawnWords, number: int, word: DrawnWords, bits: DrawnWords) -> None:
    np.add(streams, np.uint64((number + 1) * _STEP & _ALL), out=word)
    _mix(word, bits)


def _mix(word: DrawnWords, bits: DrawnWords) -> None:
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=False):
        np.right_shift(word, shift, out=bits)
        np.bitwise_xor(word, bits, out=word)
        np.multiply(word, factor, out=word)
    np.right_shift(word, _SHIFTS[2], out=bits)
    np.bitwise_xor(word, bits, out=word)


def _planes(cells: NDArray[Any]) -> list[NDArray[Any]]:
    """Return cells, shape (*shape, n), as one array per element, in C order."""
    if cells.ndim == 1:
        return [cells]
    return [cells[element] for element in np.ndindex(cells.shape[:-1])]


class RandomWords(dict[int, list[int]]):
    """Random words by row, computed in batches of rows."""

    __slots__ = ("_count", "_done", "_key", "_order", "_size", "_row_keys")

    def __init__(
        self,
        row_keys: Any,
        key: np.uint64,
        count: int,
        order: RowArray | None = None,
        size: int = 256,
    ) -> None:
        """Take keys that tell rows apart, shape (n,), and the number of words of a row.

        `order` has the rows in the order of requests, if known; `size` is the number of rows of a
        batch, 1 if `row_keys` may change.
        """
        self._row_keys, self._key, self._count, self._size = row_keys, key, count, size
        self._order, self._done = order, 0

    def __missing__(self, row: int) -> list[int]:
        if self._order is None:
            start = row - row % self._size
            row_keys = self._row_keys[start : start + self._size]
            rows: Iterable[int] = range(start, start + len(row_keys))
        else:
            batch = self._order[self._done : self._done + self._size]
            self._done += self._size
            self.clear()  # former rows had their turns
            row_keys, rows = self._row_keys[batch], batch.tolist()
        streams, bits = np.empty(len(row_keys), np.uint64), np.empty(len(row_keys), np.uint64)
        derive_stream_keys(row_keys, self._key, streams, bits)
        numbers = np.arange(1, self._count + 1, dtype=np.uint64)
        words = streams + numbers[:, None] * np.uint64(_STEP)  # as `_words`, all at once
        _mix(words, np.empty_like(words))
        self.update(zip(rows, words.T.tolist(), strict=True))
        return self[row]


def random_at(words: list[int], number: int) -> np.float64:
    """Return a number in [0, 1)."""
    return np.float64((words[number] >> 11) * 2.0**-53)


def range_at(words: list[int], number: int, bound: Any) -> np.int64:
    """Return a whole number from 0 to `bound` - 1."""
    return np.int64((words[number] >> 32) * int(bound) >> 32)


def normal_at(words: list[int], number: int) -> np.float64:
    """Return a number of mean 0 and deviation 1."""
    word = np.array([words[number] >> 12], np.uint64)
    out = np.empty(1)
    normal_into(word, out, np.empty(1))
    return np.float64(out[0])


_Floats = NDArray[np.float64]

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
NORMAL_EDGE: Final = 0.425
"""Distance from 1/2 up to which p is in the middle."""


def normal_into(words: NDArray[np.uint64], out: Any, square: _Floats) -> None:
    """Write the quantiles at (word + 1/2) * 2^-52 for words below 2^52; all of the shape (n,).

    `square` is working memory; so are the words.
    """
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


class StreamState:
    """A seed, and the number of calls of each kernel since it was set. Pickles and copies."""

    __slots__ = ("calls", "seed")

    def __init__(self, seed: int = 0, calls: Mapping[str, int] | None = None) -> None:
        self.reset(seed, calls)

    def reset(self, seed: int, calls: Mapping[str, int] | None = None) -> None:
        """Set a seed, and the numbers of calls, 0 by default."""
        self.seed = seed
        self.calls = dict(calls or {})

    def key(self, kernel: str, number: int) -> np.uint64:
        """Count a call and return its key.

        `number`: the hash of the kernel's name.
        """
        call = self.calls.get(kernel, 0)
        self.calls[kernel] = call + 1
        return call_key(self.seed, number, call)

    def json_state(self) -> dict[str, Any]:
        """Return what differs from a new state, as JSON."""
        seed = {"seed": self.seed} if self.seed else {}
        return {**seed, **({"calls": dict(self.calls)} if self.calls else {})}


def parse_stream_state(state: Mapping[str, Any], kernels: Mapping[str, int]) -> StreamState:
    """Return the state of a JSON state, without calls of kernels that no longer draw."""
    calls = state.get("calls", {})
    known = {kernel: calls[kernel] for kernel in calls if kernel in kernels}
    return StreamState(state.get("seed", 0), known)


def checked_seed(owner: object, seed: int) -> int:
    """Return a seed as an int, or raise OverflowError or TypeError if it is no u64."""
    number: int = IntField(f"{type(owner).__name__}.seed", "u64").to_cell(seed)
    return number


class Seeded(BaseManager):
    """A manager whose kernels draw random numbers."""

    __slots__ = NO_SLOTS
    _RANDOM_KERNELS: ClassVar[Mapping[str, int]]
    """Hashes of the names of kernels that draw, by name."""
    _stream_state: StreamState

    @property
    def seed(self) -> int:
        """Seed of all random numbers, 0 to 2^64 - 1; 0 at first.

        The same seed, kernels, calls and entities give the same numbers. Assigning one
        counts calls from 0 again. Saved and copied with the rest.
        """
        return self._stream_state.seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self._stream_state = StreamState(checked_seed(self, seed))

    def _next_call_key(self, kernel: str) -> np.uint64:
        return self._stream_state.key(kernel, self._RANDOM_KERNELS[kernel])

    def _init_empty(self) -> None:
        super()._init_empty()
        self._stream_state = StreamState()

    def _json_state(self) -> dict[str, Any]:
        return {**super()._json_state(), **self._stream_state.json_state()}

    def _load_json_state(self, notes: Mapping[str, Any]) -> None:
        super()._load_json_state(notes)
        self._stream_state = parse_stream_state(notes, self._RANDOM_KERNELS)


_CHILDREN: Final = 2**32 - 1
"""Stream of keys for children."""
_KEYS: Final = IntField("Draws: keys", "u64")
_TICK: Final = IntField("Draws: tick", "u64")
_STREAM: Final = IntField("Draws: stream", "u64")
_SEED: Final = IntField("Draws: seed", "u64")

_Draw: TypeAlias = Callable[[DrawnWords, int, Any, DrawnWords, DrawnWords], None]


class Draws:
    """Random numbers as functions of keys, tick and stream: no state, no order.

    `keys` are u64, shape (n,). Numbers have the shape (n,), or (n, count) with a count.
    Those of one key, tick, stream and seed are always the same, whatever the others are,
    and the first ones are the same for every count. O(n * count).

    Raises:
        TypeError, OverflowError, ValueError: keys that are no u64, shape (n,); a tick,
            stream or seed that is no u64; a stream 2^32 - 1, which is for children; a
            count below 0.
    """

    @staticmethod
    def bits(
        keys: ArrayLike,
        tick: SupportsIndex,
        stream: SupportsIndex = 0,
        count: SupportsIndex | None = None,
        *,
        seed: SupportsIndex = 0,
    ) -> NDArray[np.uint64]:
        """Return u64 of which every bit is random."""
        return _drawn(draw_words, np.uint64, keys, tick, _checked_stream(stream), count, seed)

    @staticmethod
    def uniform(
        keys: ArrayLike,
        tick: SupportsIndex,
        stream: SupportsIndex = 0,
        count: SupportsIndex | None = None,
        *,
        seed: SupportsIndex = 0,
    ) -> NDArray[np.float64]:
        """Return f64 in [0, 1)."""
        return _drawn(draw_random, np.float64, keys, tick, _checked_stream(stream), count, seed)

    @staticmethod
    def normal(
        keys: ArrayLike,
        tick: SupportsIndex,
        stream: SupportsIndex = 0,
        count: SupportsIndex | None = None,
        *,
        seed: SupportsIndex = 0,
    ) -> NDArray[np.float64]:
        """Return f64 of mean 0 and deviation 1."""
        return _drawn(draw_normal, np.float64, keys, tick, _checked_stream(stream), count, seed)

    @staticmethod
    def child_keys(
        keys: ArrayLike, tick: SupportsIndex, child: SupportsIndex = 0
    ) -> NDArray[np.uint64]:
        """Return a key for a child of each key's bearer, the `child`-th one of this tick."""
        return _drawn(draw_words, np.uint64, keys, tick, _CHILDREN, None, child)


def _checked_stream(stream: SupportsIndex) -> int:
    number: int = _STREAM.to_cell(stream)
    if number == _CHILDREN:
        raise ValueError(f"Draws: stream: {_CHILDREN} is for child_keys")
    return number


def _drawn(
    draw: _Draw,
    dtype: Any,
    keys: ArrayLike,
    tick: SupportsIndex,
    stream: int,
    count: SupportsIndex | None,
    seed: SupportsIndex,
) -> NDArray[Any]:
    """Return random numbers, shape (n,) or (n, count)."""
    array = plain_array(keys, "Draws: keys")
    if array.ndim != 1:
        raise ValueError(f"Draws: keys: shape {array.shape}, wanted (n,)")
    many = 1 if count is None else index(count)
    if many < 0:
        raise ValueError(f"Draws: count: {many}, wanted 0 or more")
    n = len(array)
    row_keys = _KEYS.to_column(keys, n, None)
    streams, word, bits = (np.empty(n, np.uint64) for _ in range(3))
    derive_stream_keys(
        row_keys, call_key(_SEED.to_cell(seed), stream, _TICK.to_cell(tick)), streams, bits
    )
    numbers = np.empty((many, n), dtype)
    draw(streams, 0, numbers, word, bits)
    return numbers[0] if count is None else np.ascontiguousarray(numbers.T)


class SeededWorld(WorldBase):
    """A world that has a seed."""

    __slots__ = ()

    _RANDOM_KERNELS: ClassVar[Mapping[str, int]] = {}
    """Hashes of the names of the world's kernels that draw, by name."""
    _stream_state: StreamState

    @property
    def seed(self) -> int:
        """Seed of all random numbers, 0 to 2^64 - 1; 0 at first.

        Assigning one sets that of all managers whose kernels draw as well, and counts
        calls from 0 again. Saved and copied with the rest.
        """
        return self._stream_state.seed

    @seed.setter
    def seed(self, seed: int) -> None:
        number = checked_seed(self, seed)
        self._stream_state.reset(number)
        for manager in self._all_managers():
            if isinstance(manager, Seeded):
                manager.seed = number

    def __getstate__(self) -> Any:
        attributes, slots = super().__getstate__()
        return {**attributes, "_stream_state": self._json_state()}, slots

    def __setstate__(self, state: Any) -> None:
        attributes, slots = state
        stream_state = parse_stream_state(attributes["_stream_state"], self._RANDOM_KERNELS)
        super().__setstate__(({**attributes, "_stream_state": stream_state}, slots))

    def _next_call_key(self, kernel: str) -> np.uint64:
        return self._stream_state.key(kernel, self._RANDOM_KERNELS[kernel])

    def _json_state(self) -> dict[str, Any]:
        return {**super()._json_state(), **self._stream_state.json_state()}  # type: ignore[misc]  # of saved ones

    def _load_json_state(self, notes: Mapping[str, Any]) -> None:
        super()._load_json_state(notes)  # type: ignore[misc]  # of saved worlds
        state = parse_stream_state(notes, self._RANDOM_KERNELS)
        self._stream_state.reset(state.seed, state.calls)
