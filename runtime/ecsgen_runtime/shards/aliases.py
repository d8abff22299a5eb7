"""Ids that were given elsewhere: their rows have slots here, whose own ids nobody sees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..handles import IdArray, RowArray
from .bulk import ShardedBulk
from .handle_map import HandleMap
from .layout import ID_VISITOR


class Aliases:
    """Which id is in which slot.

    Entries of slots that have another id by now, or one of this shard, stay until the slot is
    wanted again; whether one still holds, the slot's generation tells, which has ID_VISITOR. Where
    there is none any more, slots were given back.
    """

    __slots__ = ("_map", "ids")

    def __init__(self, bulk: type[ShardedBulk]) -> None:
        self._map = HandleMap(bulk)
        self.ids: IdArray = np.zeros(0, np.uint64)
        """By slot."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._map.nbytes + self.ids.nbytes

    def slot(self, id: int, generations: NDArray[np.uint32]) -> int:
        """Return the slot that has an id, or -1; O(1)."""
        slot = self._map.get(id)
        if not 0 <= slot < len(generations) or self.ids.item(slot) != id:
            return -1
        return slot if generations.item(slot) & ID_VISITOR == ID_VISITOR else -1

    def slots(self, ids: IdArray, generations: NDArray[np.uint32]) -> RowArray:
        """Return the slot that has each id, or -1; O(k)."""
        if not self._map.count or len(generations) == 0:
            return np.full(len(ids), -1)
        slots = self._map.find(ids)
        holds = (slots >= 0) & (slots < len(generations))
        holds &= self.ids.take(slots, mode="clip") == ids
        holds &= generations.take(slots, mode="clip") & ID_VISITOR == ID_VISITOR
        return np.where(holds, slots, -1)

    def reserve(self, count: int, slots: int) -> None:
        """Make room for `count` more ids in slots below `slots`."""
        self._map.reserve(2 * count)
        if slots > len(self.ids):
            ids = np.zeros(1 << (slots - 1).bit_length(), np.uint64)
            ids[: len(self.ids)] = self.ids
            self.ids = ids

    def enter(self, ids: IdArray, slots: RowArray) -> None:
        """Let distinct slots have distinct ids; O(k)."""
        if len(ids) == 0:
            return
        self.reserve(len(ids), int(slots.max()) + 1)
        # an id that was in one of the slots once may have come back into another
        before = self.ids[slots]
        replaced = before[self._map.find(before) == slots]
        again = ids[self._map.find(ids) >= 0]
        self._map.remove(np.unique(np.concatenate((replaced, again))))
        self._map.add(ids, slots)
        self.ids[slots] = ids

    def holding(self, generations: NDArray[np.uint32]) -> tuple[IdArray, RowArray]:
        """Return the ids that are in slots, and these, ascending; O(entries)."""
        ids, slots = self._map.items()
        holds = self.slots(ids, generations) >= 0 if len(ids) else np.zeros(0, np.bool_)
        return ids[holds], slots[holds]
