"""Parcels: entities with all that they have, as one run of bytes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from operator import mul
from pickle import PickleBuffer
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from ..handles import EntityArray
from .errors import ParcelError
from .tables import PackedColumn, ParcelPlan, plan_of

MAGIC: Final = b"ecsparc1"
_MAGIC: Final = int.from_bytes(MAGIC, "little")
_HEAD: Final = 7
"""Words before those of tables: magic, fingerprint, length, number of entities."""
LENGTH: Final = 5
"""Which of them is the length."""


class ParcelBase:
    """Entities that left a world, with all their components.

    The buffer is a header (magic, fingerprint of the schema, length, number of entities, rows
    per table; `u64` each) and a body: the entities, then all columns by falling alignment,
    without gaps. Pickles, out of band with protocol 5.
    """

    __slots__ = ("_buffer", "_counts", "_starts")

    _world: ClassVar[Any]
    """The class of the worlds that it is for."""

    def __init__(self, buffer: Any) -> None:
        """Look at the bytes of a parcel, which are not copied.

        Raises:
            ParcelError: they are none, not all, or those of other schemas.
        """
        data = np.frombuffer(memoryview(buffer).cast("B"), np.uint8)
        if data.__array_interface__["data"][0] % 8:
            data = data.copy()
        data.flags.writeable = False
        self._buffer = data
        self._counts = checked_counts(data, self._plan())
        self._starts = starts_of(self._plan(), len(self), self._counts)

    @classmethod
    def _plan(cls) -> ParcelPlan:
        return plan_of(cls._world)

    def __len__(self) -> int:
        """Return how many entities there are."""
        return self._buffer[: 8 * _HEAD].view(np.uint64).item(6)

    @property
    def nbytes(self) -> int:
        """How many bytes the buffer has."""
        return self._buffer.nbytes

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """All bytes, contiguous; read-only."""
        return self._buffer

    def __bytes__(self) -> bytes:
        return self._buffer.tobytes()

    @property
    def entities(self) -> EntityArray:
        """All entities, descendants included, shape (n,); read-only."""
        start = 8 * (_HEAD + self._plan().n_tables)
        return self._buffer[start : start + 8 * len(self)].view(np.uint64)

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Read-only views by name: "Position.value"; those with a `~` are bookkeeping."""
        plan = self._plan()
        found = {c.name: self._column(number) for number, c in enumerate(plan.columns)}
        return MappingProxyType(found)

    def _column(self, number: int) -> NDArray[Any]:
        column = self._plan().columns[number]
        count = self._counts[column.table]
        return view_of(self._buffer, self._starts[number], count, column)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} entities, {self.nbytes} bytes>"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if protocol >= 5:
            return type(self), (PickleBuffer(self._buffer.data),)
        return type(self), (self._buffer.tobytes(),)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parcel as a safetensors file, which takes the place of an old one as a whole.

        OSError as for every file.
        """
        from .files import save_parcel  # imports what snapshots need

        save_parcel(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the parcel in a file.

        Raises:
            ParcelError: it is none, is damaged, or of other schemas.
            OSError: as for every file.
        """
        from .files import load_parcel

        return cls(load_parcel(cls._plan(), path))


def header_of(plan: ParcelPlan, n: int, counts: list[int]) -> NDArray[np.uint64]:
    """Return the header of a parcel."""
    length = nbytes_of(plan, n, counts)
    fingerprint = np.frombuffer(plan.fingerprint, np.uint64)
    head = np.array([_MAGIC, 0, 0, 0, 0, length, n, *counts], np.uint64)
    head[1:5] = fingerprint
    return head


def header_nbytes(plan: ParcelPlan) -> int:
    """Return how many bytes a header has."""
    return 8 * (_HEAD + plan.n_tables)


def nbytes_of(plan: ParcelPlan, n: int, counts: list[int]) -> int:
    """Return how many bytes a parcel has."""
    of_tables: int = sum(map(mul, plan.row_nbytes, counts))
    return header_nbytes(plan) + 8 * n + of_tables


def starts_of(plan: ParcelPlan, n: int, counts: list[int]) -> list[int]:
    """Return the first byte of each column."""
    starts = [0] * len(plan.columns)
    place = header_nbytes(plan) + 8 * n
    for number in plan.order:
        starts[number] = place
        column = plan.columns[number]
        place += column.nbytes * counts[column.table]
    return starts


def view_of(
    body: NDArray[np.uint8], start: int, count: int, column: PackedColumn
) -> NDArray[Any]:
    """Return a column of so many rows in a run of bytes."""
    cells = body[start : start + count * column.nbytes].view(column.dtype)
    return cells.reshape(count, *column.shape) if column.shape else cells


def checked_counts(data: NDArray[np.uint8], plan: ParcelPlan) -> list[int]:
    """Return the rows of each table, or raise ParcelError."""
    if sys.byteorder != "little":
        raise ParcelError("parcels are little-endian, and this machine is not")
    size = header_nbytes(plan)
    if len(data) < size or int(data[:8].view(np.uint64)[0]) != _MAGIC:
        raise ParcelError(f"{len(data)} bytes that are no parcel")
    head = data[:size].view(np.uint64)
    if head[1:5].tobytes() != plan.fingerprint:
        raise ParcelError("a parcel of other schemas")
    counts: list[int]
    length, n, *counts = head[5:].tolist()
    if length != len(data):
        raise ParcelError(f"a parcel of {length} bytes, cut to {len(data)}")
    if nbytes_of(plan, n, counts) != length:
        raise ParcelError("a parcel whose tables do not have its length")
    return counts
