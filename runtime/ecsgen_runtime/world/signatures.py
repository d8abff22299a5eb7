"""Signatures: the components of an entity as one number with a bit for each."""

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
    """Set of components: flags of one world, to be compared with numbers from `signatures`."""

    def any_of(self, other: int, /) -> bool:
        """Return True if this set has at least one of the other's components."""
        return self & other != 0

    def all_of(self, other: int, /) -> bool:
        """Return True if this set has all of the other's components."""
        return self & other == other

    def none_of(self, other: int, /) -> bool:
        """Return True if this set has none of the other's components."""
        return self & other == 0


def signature_words(
    holders: Sequence[ComponentHolder], entities: EntityArray
) -> NDArray[np.uint64]:
    """Return the signature of each entity, of at most 64 components; O(k) per component."""
    words = np.zeros(len(entities), np.uint64)
    bits = np.empty(len(entities), np.uint64)
    for number, holder in enumerate(holders):
        np.multiply(holder.has_many(entities), np.uint64(1 << number), out=bits)
        words |= bits
    return words


FlagsT = TypeVar("FlagsT", bound=ComponentFlags)


class _SignatureBase(WorldBase, Generic[FlagsT]):
    __slots__ = ()

    _FLAGS: type[FlagsT]

    def signature(self, entity: Entity, /) -> FlagsT:
        """Return the components of the entity as flags; O(components). Rows of a dead entity count
        until they are collected, as in the managers' `has`."""
        bits = 0
        for number, (_, holder) in enumerate(self._members()):
            if holder.has(entity):
                bits |= 1 << number
        return self._FLAGS(bits)


class SignatureWorld(_SignatureBase[FlagsT]):
    """A world whose signatures fit into 64 bits."""

    __slots__ = ()

    def signatures(self, entities: ArrayLike, /) -> NDArray[np.uint64]:
        """Return the signatures of k entities as numbers, shape (k,); O(k) per component."""
        holders = [holder for _, holder in self._members()]
        return signature_words(holders, as_entities(entities))


class WideSignatureWorld(_SignatureBase[FlagsT]):
    """A world with more components than 64 bits hold."""

    __slots__ = ()

    def signatures(self, entities: ArrayLike, /) -> NDArray[np.object_]:
        """Return the signatures of k entities as ints, shape (k,); O(k) per component."""
        holders = [holder for _, holder in self._members()]
        handles = as_entities(entities)
        numbers: NDArray[Any] = np.zeros(len(handles), np.object_)
        for start in range(0, len(holders), WORD_BITS):
            word = signature_words(holders[start : start + WORD_BITS], handles)
            numbers |= word.astype(np.object_) << start
        return numbers
