"""Worlds that tell which components an entity has, as flags."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..given_arrays import as_entities
from ..handles import Entity
from .base import ComponentFlags, WorldBase, signature_words, wide_signatures

FlagsT = TypeVar("FlagsT", bound=ComponentFlags)


class _Signed(WorldBase, Generic[FlagsT]):
    __slots__ = ()

    _FLAGS: type[FlagsT]

    def signature(self, entity: Entity, /) -> FlagsT:
        """Return which components the entity has, as flags; O(components).

        Rows of a dead entity count until they are collected, as in the managers' `has`.
        """
        bits = 0
        for place, (_, holder) in enumerate(self._members()):
            if holder.has(entity):
                bits |= 1 << place
        return self._FLAGS(bits)


class SignedWorld(_Signed[FlagsT]):
    """A world whose signatures fit into 64 bits."""

    __slots__ = ()

    def signatures(self, entities: ArrayLike, /) -> NDArray[np.uint64]:
        """Return the signatures of k entities as numbers, shape (k,); O(k) per component."""
        holders = [holder for _, holder in self._members()]
        return signature_words(holders, as_entities(entities))


class WideSignedWorld(_Signed[FlagsT]):
    """A world with more components than an unsigned integer of 64 bits has room for."""

    __slots__ = ()

    def signatures(self, entities: ArrayLike, /) -> NDArray[np.object_]:
        """Return the signatures of k entities as ints, shape (k,); O(k) per component."""
        holders = [holder for _, holder in self._members()]
        return wide_signatures(holders, as_entities(entities))
