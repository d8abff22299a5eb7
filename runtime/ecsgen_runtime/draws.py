"""Random numbers for Python code: those that kernels draw, for keys of one's own."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, Final, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .field_types import IntField
from .interchange import plain_array
from .kernels.chance import (
    DrawnWords,
    draw_key,
    draw_normal,
    draw_random,
    draw_stems,
    draw_words,
)

_CHILDREN: Final = 2**32 - 1
"""The stream of keys for children."""
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
        return _drawn(draw_words, np.uint64, keys, tick, _own(stream), count, seed)

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
        return _drawn(draw_random, np.float64, keys, tick, _own(stream), count, seed)

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
        return _drawn(draw_normal, np.float64, keys, tick, _own(stream), count, seed)

    @staticmethod
    def child_keys(
        keys: ArrayLike, tick: SupportsIndex, child: SupportsIndex = 0
    ) -> NDArray[np.uint64]:
        """Return a key for a child of each key's bearer, the `child`-th one of this tick."""
        return _drawn(draw_words, np.uint64, keys, tick, _CHILDREN, None, child)


def _own(stream: SupportsIndex) -> int:
    number: int = _STREAM.one(stream)
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
    """Return numbers of a kind, shape (n,) or (n, count)."""
    given = plain_array(keys, "Draws: keys")
    if given.ndim != 1:
        raise ValueError(f"Draws: keys: shape {given.shape}, wanted (n,)")
    many = 1 if count is None else index(count)
    if many < 0:
        raise ValueError(f"Draws: count: {many}, wanted 0 or more")
    n = len(given)
    who = _KEYS.many(keys, n, None)
    stem, word, bits = (np.empty(n, np.uint64) for _ in range(3))
    draw_stems(who, draw_key(_SEED.one(seed), stream, _TICK.one(tick)), stem, bits)
    found = np.empty((many, n), dtype)
    draw(stem, 0, found, word, bits)
    return found[0] if count is None else np.ascontiguousarray(found.T)
