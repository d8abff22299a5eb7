"""Readers of which entities came and died: differences of two states, not logs."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..base.fast_typing import NamedTuple
from ..base.handles import EntityArray, RowArray
from .entity_pool import EntityPool


class KeyChanges(NamedTuple):
    """Positions at which two arrays of keys differ, all ascending but those of moved keys."""

    removed: RowArray
    """Positions in the old array of keys that the new one lacks."""
    added: RowArray
    """Positions in the new array of keys that the old one lacks."""
    src: RowArray
    """Positions in the old array of keys that are elsewhere in the new one."""
    dst: RowArray
    """Their positions in the new array."""


def compare_keys(old: NDArray[np.uint64], new: NDArray[np.uint64]) -> KeyChanges:
    """Compare two arrays of distinct keys, with 0 where there is none; O(n + k log k) for k
    positions that differ."""
    common = min(len(old), len(new))
    differing = np.flatnonzero(old[:common] != new[:common])
    old_rows = np.concatenate((differing, np.arange(common, len(old))))
    new_rows = np.concatenate((differing, np.arange(common, len(new))))
    old_rows, new_rows = old_rows[old[old_rows] != 0], new_rows[new[new_rows] != 0]
    old_order, new_order = old[old_rows].argsort(), new[new_rows].argsort()
    old_keys, new_keys = old[old_rows[old_order]], new[new_rows[new_order]]
    positions = old_keys.searchsorted(new_keys)
    is_known = np.zeros(len(new_keys), np.bool_)
    if len(old_keys):
        is_known = old_keys.take(positions, mode="clip") == new_keys
    stays, came = old_order[positions[is_known]], new_order[is_known]
    is_removed, is_added = np.ones(len(old_rows), np.bool_), np.ones(len(new_rows), np.bool_)
    is_removed[stays] = is_added[came] = False
    return KeyChanges(old_rows[is_removed], new_rows[is_added], old_rows[stays], new_rows[came])


class Uncopied:
    """Something that belongs to one place in a program: neither copied nor pickled."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raise TypeError, for copy and pickle."""
        raise TypeError(f"a {type(self).__name__} can't be copied or pickled: make another one")


class EntityChanges:
    """Entities that came and died between two reads; its arrays are the caller's own."""

    __slots__ = ("added", "removed")

    def __init__(self, added: EntityArray, removed: EntityArray) -> None:
        self.added = added
        """Entities that are alive and were not, ascending by index."""
        self.removed = removed
        """Entities that were alive and are not, ascending by index."""

    def __bool__(self) -> bool:
        return len(self.added) + len(self.removed) > 0

    def __repr__(self) -> str:
        return f"<Changes: {len(self.added)} added, {len(self.removed)} removed>"


class EntityChangeReader(Uncopied):
    """A reader of which entities came and died, which no entity manager knows of."""

    __slots__ = ("_entities", "_state")

    _state: tuple[Any, EntityArray]
    """Version of the living entities when last read, and they themselves, 0 at free indices."""

    def __init__(self, entities: EntityPool) -> None:
        self._entities = entities
        self._state = entities.alive_version, entities.alive_cells()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {type(self._entities).__name__}>"

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._state[1].nbytes

    def read(self) -> EntityChanges:
        """Return how the living entities differ from those of the last read; O(1) if they don't,
        else O(indices ever used)."""
        entities, (version, before) = self._entities, self._state
        if entities.alive_version == version:
            return EntityChanges(np.empty(0, np.uint64), np.empty(0, np.uint64))
        now = entities.alive_cells()
        removed, added, *_ = compare_keys(before, now)
        changes = EntityChanges(now[added], before[removed])
        self._state = entities.alive_version, now
        return changes
