"""Signatures: which components an entity has, as one number with a bit for each."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntFlag
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.handles import Entity, EntityArray
from ..values.array_coercion import as_entities
from .world_base import ComponentHolder, WorldBase

WORD_BITS: Final = 64


class ComponentFlags(IntFlag):
    """What a set of components is asked: flags of one world, or numbers from `signatures`."""

    def any_of(self, other: int, /) -> bool:
        """Return whether this has one of the other's components at least."""
        return self & other != 0

    def all_of(self, other: int, /) -> bool:
        """Return whether this has all of the other's components."""
        return self & other == other

    def none_of(self, other: int, /) -> bool:
        """Return whether this has none of the other's components."""
        return self & other == 0


def signature_words(
    holders: Sequence[ComponentHolder], entities: EntityArray
) -> NDArray[np.uint64]:
    """Return the signature of each entity, over 64 components at most; O(k) per component."""
    found = np.zeros(len(entities), np.uint64)
    bits = np.empty(len(entities), np.uint64)
    for place, holder in enumerate(holders):
        np.multiply(holder.has_many(entities), np.uint64(1 << place), out=bits)
        found |= bits
    return found


FlagsT = TypeVar("FlagsT", bound=ComponentFlags)


class _SignatureBase(WorldBase, Generic[FlagsT]):
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


class SignatureWorld(_SignatureBase[FlagsT]):
    """A world whose signatures fit into 64 bits."""

    __slots__ = ()

    def signatures(self, entities: ArrayLike, /) -> NDArray[np.uint64]:
        """Return the signatures of k entities as numbers, shape (k,); O(k) per component."""
        holders = [holder for _, holder in self._members()]
        return signature_words(holders, as_entities(entities))


class WideSignatureWorld(_SignatureBase[FlagsT]):
    """A world with more components than an unsigned integer of 64 bits has room for."""

    __slots__ = ()

    def signatures(self, entities: ArrayLike, /) -> NDArray[np.object_]:
        """Return the signatures of k entities as ints, shape (k,); O(k) per component."""
        holders = [holder for _, holder in self._members()]
        given = as_entities(entities)
        found: NDArray[Any] = np.zeros(len(given), np.object_)
        for start in range(0, len(holders), WORD_BITS):
            word = signature_words(holders[start : start + WORD_BITS], given)
            found |= word.astype(np.object_) << start
        return found
