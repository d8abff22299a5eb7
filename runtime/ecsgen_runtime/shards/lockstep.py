"""What ranks tell each other in lock-step, over MPI, and totals over all their rows."""

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

# --- Exchanging bytes over MPI: counts, then bytes; nothing pickled, no barrier -------

_FIRST: Final = 1e-6
_LONGEST: Final = 1e-3
"""Seconds between two looks at an exchange that has a timeout."""


class MpiTransport:
    """An mpi4py communicator as what `Shards` needs."""

    __slots__ = ("_timeout", "comm", "rank", "size")

    def __init__(self, comm: Any, timeout: float | None) -> None:
        self.comm = comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()
        self._timeout = timeout

    def exchange(self, parts: Sequence[Any]) -> list[memoryview]:
        """Send parts[k] to rank k, and return what came from each."""
        sizes = np.array([memoryview(part).nbytes for part in parts], np.int64)
        coming = np.empty(self.size, np.int64)
        self._all(self.comm.Ialltoall, sizes, coming)
        # every part on 8 bytes, so that columns of it can be looked at where they are
        places = np.concatenate(([0], np.cumsum(-(-coming // 8) * 8)))
        whole = np.empty(int(places[-1]) // 8, np.uint64).view(np.uint8)
        out = np.concatenate([np.frombuffer(part, np.uint8) for part in parts])
        before = (np.cumsum(sizes) - sizes).tolist()
        byte = _mpi().BYTE
        send = [out, (sizes.tolist(), before), byte]
        starts, counts = places[:-1].tolist(), coming.tolist()
        receive = [whole, (counts, starts), byte]
        self._all(self.comm.Ialltoallv, send, receive)
        return [whole.data[at : at + n] for at, n in zip(starts, counts, strict=True)]

    def abort(self) -> None:
        """End all ranks."""
        self.comm.Abort(1)

    def _all(self, call: Any, send: Any, receive: Any) -> None:
        request = call(send, receive)
        if self._timeout is None:
            request.Wait()
            return
        deadline, pause = time.monotonic() + self._timeout, _FIRST
        while not request.Test():
            if time.monotonic() > deadline:
                raise ShardError(f"rank {self.rank}: no answer from others in {self._timeout} s")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)


def _mpi() -> Any:
    from mpi4py import MPI

    return MPI


# --- Exchanges: all ranks have the same ones in the same order; errors are everyone's

_HEAD: Final = 8
"""Bytes that begin each message, and name the call; what comes behind them is aligned."""
_FAILED: Final = b"ecserr: "
"""What begins a message that says that a rank has refused."""

T = TypeVar("T")


def transport_of(comm: Any, timeout: float | None) -> Any:
    """Return what exchanges, with `rank`, `size` and `exchange(parts)`: the argument, or one for an
    mpi4py communicator."""
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
    """All exchanges of one rank."""

    __slots__ = ("_transport", "broken", "rank", "size")

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.broken = ""
        """Why every call raises ShardError: something failed that can't be undone."""
        self.rank: int = transport.rank
        self.size: int = transport.size

    def exchange(self, make: Callable[[], Sequence[Any]]) -> Sequence[Any]:
        """Send what `make` returns, a part for each rank, and return what came from each.

        Every part begins with the head of the call, which is compared: parcels with their own,
        and nothing is no parcel, which takes less time to send. What `make` raises is raised
        here, and as ShardError on all other ranks.
        """
        failed: Exception | None = None
        try:
            if self.broken:
                raise ShardError(self.broken)
            parts = make()
        except Exception as error:
            failed = error
            text = f"{type(error).__name__}: {error}"
            # names of files may be no text
            said = text.encode(errors="backslashreplace")
            parts = [_FAILED + said] * self.size
        came: Sequence[Any] = self._transport.exchange(parts)
        if failed is not None:
            raise failed
        heads = [bytes(memoryview(part)[:_HEAD]) or _PARCEL for part in came]
        if heads.count(heads[0]) < self.size:
            _refuse(heads, came)
        return came

    def exchange_words(self, call: str, make: Callable[[], Sequence[Any]]) -> list[Any]:
        """The same of arrays of u64."""
        head = np.frombuffer(head_of(call), np.uint64)

        def parts() -> list[Any]:
            return [np.concatenate((head, part)).view(np.uint8).data for part in make()]

        return [np.frombuffer(bytes(part), np.uint64)[1:] for part in self.exchange(parts)]

    def gather(self, call: str, make: Callable[[], Any]) -> list[Any]:
        """Tell all ranks something that JSON can say, and return what each one has told."""
        head = head_of(call)

        def parts() -> list[bytes]:
            return [head + json.dumps(make(), allow_nan=True).encode()] * self.size

        return [json.loads(bytes(part)[_HEAD:]) for part in self.exchange(parts)]

    def abort(self) -> None:
        """End all ranks, if the transport can."""
        if hasattr(self._transport, "abort"):
            self._transport.abort()


def head_of(call: str) -> bytes:
    """Return what begins the messages of a call."""
    return call.encode().ljust(_HEAD)


def require_agreement(told: Sequence[T], said: str) -> T:
    """Return what all ranks have told, or raise ShardError, which names two that differ.

    `said`: what these do, "have called {} and {}".
    """
    for rank, its in enumerate(told):
        if its != told[0]:
            raise ShardError(f"ranks 0 and {rank} {said.format(told[0], its)}")
    return told[0]


def _refuse(heads: list[bytes], came: Sequence[Any]) -> None:
    """Raise ShardError for a rank that has failed, or has called something else."""
    if _FAILED in heads:
        rank = heads.index(_FAILED)
        text = bytes(memoryview(came[rank])[_HEAD:]).decode()
        raise ShardError(f"rank {rank}: {text}")
    calls = [b"migrate" if head == _PARCEL else head.rstrip() for head in heads]
    require_agreement([call.decode() for call in calls], "have called {} and {}")


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
    if odd != 0:
        return odd
    try:
        return float(Fraction(total, 1 << _UNIT))
    except OverflowError:
        return inf if total > 0 else -inf


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
        return (given.dtype.kind, given.shape[1:], [[str(t), odd] for t, odd in totals])

    parts = step.gather("sum", told)
    shape = _same_shape([shape for _, shape, _ in parts])
    is_float = any(kind == "f" for kind, _, _ in parts)
    columns = zip(*(totals for _, _, totals in parts), strict=True)
    found: list[Any] = []
    for column in columns:
        total = sum(
            int(part[0]) << (_UNIT if is_float and kind != "f" else 0)
            for part, (kind, _, _) in zip(column, parts, strict=True)
        )
        odd = sum(part[1] for part in column)
        found.append(rounded(total, odd) if is_float else total)
    return found[0] if not shape else np.array(found).reshape(shape)


def extreme(step: LockStep, call: str, values: ArrayLike, pick: Any, none: float) -> Any:
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


def _numbers(values: ArrayLike) -> NDArray[Any]:
    given = np.asarray(values)
    if given.ndim == 0 or given.dtype.kind not in "biuf":
        raise TypeError(f"wanted a column of numbers, not {given.dtype} of {given.shape}")
    return given


def _same_shape(shapes: list[Any]) -> tuple[int, ...]:
    return require_agreement([*map(tuple, shapes)], "have cells of the shapes {} and {}")
