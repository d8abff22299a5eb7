"""Signatures: which components an entity has, as one number with a bit for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntFlag
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..handles import Entity, EntityArray

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


class ComponentHolder(Protocol):
    """Knows who has a component."""

    def has(self, entity: Entity, /) -> bool: ...

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]: ...


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


def wide_signatures(
    holders: Sequence[ComponentHolder], entities: EntityArray
) -> NDArray[np.object_]:
    """Return the signature of each entity as an int of any size; O(k) per component."""
    found: NDArray[Any] = np.zeros(len(entities), np.object_)
    for start, word in _words(holders, entities):
        found |= word.astype(np.object_) << start
    return found


def _words(
    holders: Sequence[ComponentHolder], entities: EntityArray
) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    for start in range(0, len(holders), WORD_BITS):
        yield start, signature_words(holders[start : start + WORD_BITS], entities)
