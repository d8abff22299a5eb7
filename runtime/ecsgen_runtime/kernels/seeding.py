"""Seeds: managers and worlds whose kernels draw, and random numbers of keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index
from typing import Any, ClassVar, Final, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.specialisation import NO_SLOTS
from ..managers.manager import BaseManager
from ..values.field_types import IntField
from ..values.interchange import plain_array
from ..world.world_base import WorldBase
from .random_streams import (
    DrawnWords,
    call_key,
    derive_stream_keys,
    draw_normal,
    draw_random,
    draw_words,
)


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
        """Count a call and return its key. `number`: the hash of the kernel's name."""
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

    def json_state(self) -> dict[str, Any]:
        return {**super().json_state(), **self._stream_state.json_state()}

    def load_json_state(self, notes: Mapping[str, Any]) -> None:
        super().load_json_state(notes)
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
        for manager in self.all_managers():
            if isinstance(manager, Seeded):
                manager.seed = number

    def __getstate__(self) -> Any:
        attributes, slots = super().__getstate__()
        return {**attributes, "_stream_state": self.json_state()}, slots

    def __setstate__(self, state: Any) -> None:
        attributes, slots = state
        stream_state = parse_stream_state(attributes["_stream_state"], self._RANDOM_KERNELS)
        super().__setstate__(({**attributes, "_stream_state": stream_state}, slots))

    def _next_call_key(self, kernel: str) -> np.uint64:
        return self._stream_state.key(kernel, self._RANDOM_KERNELS[kernel])

    def json_state(self) -> dict[str, Any]:
        return {**super().json_state(), **self._stream_state.json_state()}

    def load_json_state(self, notes: Mapping[str, Any]) -> None:
        super().load_json_state(notes)
        state = parse_stream_state(notes, self._RANDOM_KERNELS)
        self._stream_state.reset(state.seed, state.calls)
