"""Columns of chunks for compiled loops, which go through all chunks in one call."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_void_p
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.np.numpy_support import carray
from numpy.typing import NDArray

from ..base.jit import intrinsic_of, jit
from ..world.archetypes.archetype_store import ChunkQuery
from ..world.archetypes.chunks import Archetype
from .chunk_blocks import ChunkCache, ChunkField


class ChunkAddresses(ChunkCache):
    """Row counts of chunks, shape (chunks,), and addresses of their fields, shape (chunks, fields);
    cached until a structural change of the archetypes."""

    __slots__ = ("_fields",)

    _held: tuple[NDArray[np.intp], NDArray[np.intp]]

    def __init__(self, query: ChunkQuery[Any, Any, Any], fields: Sequence[ChunkField]) -> None:
        self._fields = fields
        super().__init__(query)

    def drop(self) -> None:
        """Drop all addresses."""
        self._version = -1
        self._held = np.empty(0, np.intp), np.empty((0, len(self._fields)), np.intp)

    def current(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return rows and addresses; O(chunks) after a structural change, otherwise O(1)."""
        self._renew_if_changed()
        return self._held

    def _renew(self, archetypes: Sequence[Archetype]) -> None:
        rows, addresses = [self._held[0][:0]], [self._held[1][:0]]
        for archetype in archetypes:
            layout, chunks = archetype.layout, archetype.used()
            starts = np.array([chunk._address for chunk in chunks], np.intp)
            offsets = [layout.places[f.place(layout)].offset for f in self._fields]
            addresses.append(starts[:, None] + np.array(offsets, np.intp))
            rows.append(np.array([chunk.n for chunk in chunks], np.intp))
        self._held = np.concatenate(rows), np.concatenate(addresses)


def _as_pointer(context: Any, address: Any) -> Any:
    """Return a code generator that casts an address to a pointer, and its type."""

    def cast(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.intp), cast


@intrinsic_of(_as_pointer)
def _pointer_to(address: Any) -> Any:
    return c_void_p(int(address))


@jit()
def cells_at(address: int, count: int, dtype: Any) -> Any:
    """Return the cells that begin at an address, shape (count,); unchecked."""
    return carray(_pointer_to(address), count, dtype)
