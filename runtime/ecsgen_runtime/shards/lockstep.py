"""Exchanges between ranks in lockstep, over MPI, and totals over all their rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf, prod
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import short_repr
from .parcels import MAGIC as _PARCEL
from .parcels import ShardError

_FIRST_PAUSE: Final = 1e-6
_LONGEST_PAUSE: Final = 1e-3
"""Seconds between two polls of an exchange that has a timeout."""


class MpiTransport:
    """An mpi4py communicator with the interface that `Shards` needs."""

    __slots__ = ("_timeout", "comm", "rank", "size")

    def __init__(self, comm: Any, timeout: float | None) -> None:
        self.comm = comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()
        self._timeout = timeout

    def exchange(self, parts: Sequence[Any]) -> list[memoryview]:
        """Send parts[k] to rank k, and return the part from each rank."""
        sizes = np.array([memoryview(part).nbytes for part in parts], np.int64)
        received_sizes = np.empty(self.size, np.int64)
        self._all(self.comm.Ialltoall, sizes, received_sizes)
        # every part is aligned to 8 bytes, so that its columns can be viewed in place
        offsets = np.concatenate(([0], np.cumsum(-(-received_sizes // 8) * 8)))
        received = np.empty(int(offsets[-1]) // 8, np.uint64).view(np.uint8)
        sent = np.concatenate([np.frombuffer(part, np.uint8) for part in parts])
        sent_offsets = (np.cumsum(sizes) - sizes).tolist()
        byte = _mpi().BYTE
        send = [sent, (sizes.tolist(), sent_offsets), byte]
        starts, counts = offsets[:-1].tolist(), received_sizes.tolist()
        receive = [received, (counts, starts), byte]
        self._all(self.comm.Ialltoallv, send, receive)
        return [received.data[start : start + n] for start, n in zip(starts, counts, strict=True)]

    def abort(self) -> None:
        """End all ranks."""
        self.comm.Abort(1)

    def _all(self, call: Any, send: Any, receive: Any) -> None:
        request = call(send, receive)
        if self._timeout is None:
            request.Wait()
            return
        deadline, pause = time.monotonic() + self._timeout, _FIRST_PAUSE
        while not request.Test():
            if time.monotonic() > deadline:
                raise ShardError(
                    f"rank {self.rank}: other ranks did not answer in {self._timeout} s"
                )
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _mpi() -> Any:
    from mpi4py import MPI

    return MPI


_HEAD: Final = 8
"""Bytes that begin each message and name the call; what follows is aligned."""
_FAILED: Final = b"ecserr: "
"""The head of a message of a rank whose call has failed."""

T = TypeVar("T")


def transport_of(comm: Any, timeout: float | None) -> Any:
    """Return a transport, with `rank`, `size` and `exchange(parts)`: the argument itself, or one
    for an mpi4py communicator."""
    if timeout is not None and not timeout > 0:
        raise ValueError(f"Shards: timeout {timeout}, wanted more than 0")
    if comm is None:
        comm = _mpi().COMM_WORLD
    if hasattr(comm, "exchange"):
        return comm
    if not hasattr(comm, "Get_rank"):
        raise TypeError(f"Shards: wanted a communicator, not {short_repr(comm)}")
    return MpiTransport(comm, timeout)


class LockStep:
    """The exchanges of one rank: all ranks make the same ones in the same order."""

    __slots__ = ("_transport", "broken", "rank", "size")

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.broken = ""
        """The message of the ShardError that every call raises: a failure that can't be undone."""
        self.rank: int = transport.rank
        self.size: int = transport.size

    def exchange(self, make: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        """Send the parts that `make` returns, one for each rank; return the part from each rank.

        Every part begins with the head of the call, which is compared. Parcels have a head of their
        own; an empty part stands for no parcel, which is faster to send. An error of `make` is
        raised here, and as ShardError on all other ranks.
        """
        failed: Exception | None = None
        try:
            if self.broken:
                raise ShardError(self.broken)
            parts = make()
        except Exception as error:
            failed = error
            text = f"{type(error).__name__}: {error}"
            # names of files may be invalid text
            message = text.encode(errors="backslashreplace")
            parts = [_FAILED + message] * self.size
        received: Sequence[Any] = self._transport.exchange(parts)
        if failed is not None:
            raise failed
        heads = [bytes(memoryview(part)[:_HEAD]) or _PARCEL for part in received]
        if heads.count(heads[0]) < self.size:
            _refuse(heads, received)
        return received

    def exchange_words(self, call: str, make: Callable[[], Sequence[Any]]) -> list[Any]:
        """Exchange arrays of u64; see `exchange`."""
        head = np.frombuffer(head_of(call), np.uint64)

        def parts() -> list[Any]:
            return [np.concatenate((head, part)).view(np.uint8).data for part in make()]

        return [np.frombuffer(bytes(part), np.uint64)[1:] for part in self.exchange(parts)]

    def gather(self, call: str, make: Callable[[], Any]) -> list[Any]:
        """Send a JSON value to all ranks, and return the value from each rank."""
        head = head_of(call)

        def parts() -> list[bytes]:
            return [head + json.dumps(make(), allow_nan=True).encode()] * self.size

        return [json.loads(bytes(part)[_HEAD:]) for part in self.exchange(parts)]

    def abort(self) -> None:
        """End all ranks, if the transport can do so."""
        if hasattr(self._transport, "abort"):
            self._transport.abort()


def head_of(call: str) -> bytes:
    """Return the head of the messages of a call."""
    return call.encode().ljust(_HEAD)


def require_agreement(answers: Sequence[T], difference: str) -> T:
    """Return the answer that all ranks have given; ShardError names two that differ, by a template:
    "have called {} and {}"."""
    for rank, answer in enumerate(answers):
        if answer != answers[0]:
            raise ShardError(f"ranks 0 and {rank} {difference.format(answers[0], answer)}")
    return answers[0]


def _refuse(heads: list[bytes], received: Sequence[Any]) -> None:
    """Raise ShardError for a rank that has failed, or has made another call."""
    if _FAILED in heads:
        rank = heads.index(_FAILED)
        text = bytes(memoryview(received[rank])[_HEAD:]).decode()
        raise ShardError(f"rank {rank}: {text}")
    calls = [b"migrate" if head == _PARCEL else head.rstrip() for head in heads]
    require_agreement([call.decode() for call in calls], "have called {} and {}")


# A float is a mantissa of 53 bits and an exponent. Mantissas of one exponent are added
# in two halves by `bincount`, which is exact for a chunk of them; the rest is integers
# in units of 2^-1126.

_CHUNK: Final = 1 << 22
_HALF: Final = 26
_UNIT: Final = 1126
"""No float has a bit below 2^-1074, and 53 bits more are enough for any mantissa."""
_LOWEST: Final = -1073


def total_of(column: NDArray[Any]) -> tuple[int, float]:
    """Return the exact sum of a flat column, of floats in units of 2^-1126, and the sum of its
    infinities and NaNs; O(n)."""
    if column.dtype.kind != "f":
        return _integer_total(column), 0.0
    values = column.astype(np.float64)
    finite = np.isfinite(values)
    non_finite = 0.0
    if not finite.all():
        with np.errstate(invalid="ignore"):
            non_finite = float(values[~finite].sum())
        values = values[finite]
    chunks = range(0, len(values), _CHUNK)
    return sum(_units(values[k : k + _CHUNK]) for k in chunks), non_finite


def rounded(total: int, non_finite: float) -> float:
    """Return a sum of floats, rounded to the nearest."""
    if non_finite != 0:
        return non_finite
    try:
        return float(Fraction(total, 1 << _UNIT))
    except OverflowError:
        return inf if total > 0 else -inf


def _integer_total(column: NDArray[Any]) -> int:
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
    exponents = exponent.astype(np.int64) - _LOWEST
    low = np.bincount(exponents, weights=mantissa & (1 << _HALF) - 1)
    high = np.bincount(exponents, weights=mantissa >> _HALF)
    total = 0
    for shift in (low.astype(np.bool_) | high.astype(np.bool_)).nonzero()[0].tolist():
        part = (int(high[shift]) << _HALF) + int(low[shift])
        total += part << shift + _LOWEST - 53 + _UNIT
    return total


def exact_sum(step: LockStep, values: ArrayLike) -> Any:
    """Return the sum over all rows of all ranks, as `ShardsBase.sum` does."""

    def local_part() -> Any:
        array = _numbers(values)
        flat = array.reshape(len(array), prod(array.shape[1:]))
        totals = [total_of(flat[:, k]) for k in range(flat.shape[1])]
        return (
            array.dtype.kind,
            array.shape[1:],
            [[str(t), non_finite] for t, non_finite in totals],
        )

    parts = step.gather("sum", local_part)
    shape = _same_shape([shape for _, shape, _ in parts])
    is_float = any(kind == "f" for kind, _, _ in parts)
    columns = zip(*(totals for _, _, totals in parts), strict=True)
    sums: list[Any] = []
    for column in columns:
        total = sum(
            int(part[0]) << (_UNIT if is_float and kind != "f" else 0)
            for part, (kind, _, _) in zip(column, parts, strict=True)
        )
        non_finite = sum(part[1] for part in column)
        sums.append(rounded(total, non_finite) if is_float else total)
    return sums[0] if not shape else np.array(sums).reshape(shape)


def extreme(step: LockStep, call: str, values: ArrayLike, pick: Any, none: float) -> Any:
    """Return `pick` of all rows of all ranks, `none` without rows. O(n)."""

    def local_part() -> Any:
        array = _numbers(values)
        return array.shape[1:], pick(array, axis=0).tolist() if len(array) else None

    parts = step.gather(call, local_part)
    shape = _same_shape([shape for shape, _ in parts])
    extremes = [value for _, value in parts if value is not None]
    if not extremes:
        return none if not shape else np.full(shape, none)
    best = pick(np.array(extremes), axis=0)
    return best.item() if not shape else best


def _numbers(values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim == 0 or array.dtype.kind not in "biuf":
        raise TypeError(f"wanted a column of numbers, not {array.dtype} of {array.shape}")
    return array


def _same_shape(shapes: list[Any]) -> tuple[int, ...]:
    return require_agreement([*map(tuple, shapes)], "have cells of the shapes {} and {}")
