"""Slots that are found once and known to all managers: to find them takes a third of a move."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Final

import numpy as np

from ..handles import EntityArray, RowArray

if TYPE_CHECKING:
    from .entities import ShardedEntities

_SAMPLE: Final = 8
"""So many rows tell most managers whose rows are others."""
_NONE = np.zeros(0, np.uint64), np.zeros(0, np.intp)


class KnownSlots:
    """The slots of some entities, while a `with` block runs in which nobody gets another one.

    Managers ask one after the other, often for the rows of the same entities: the last answer is
    kept. Nobody may write to what is known.
    """

    __slots__ = (
        "_entities",
        "_found",
        "_gone",
        "are_new",
        "es",
        "is_going",
        "rows",
        "slots",
    )

    def __init__(
        self, entities: ShardedEntities, es: EntityArray, slots: RowArray
    ) -> None:
        self._entities = entities
        self._found = _NONE
        self._gone = 0, _NONE[1], _NONE[1]
        self.es = es
        self.slots = slots
        self.rows: RowArray | None = None
        """Their rows in the last manager where each has one."""
        self.are_new = False
        """Whether nobody has rows of those who had these slots before."""
        self.is_going = False
        """Whether they are the owners of all rows that a manager loses, one each."""

    def __enter__(self) -> KnownSlots:
        self._entities._known = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._entities._known = None

    def of(self, es: EntityArray) -> RowArray:
        """Return the slots of entities, alive or dead, that have or had rows here; O(k)."""
        if es is self.es:
            return self.slots
        before, slots = self._found
        if len(es) == len(before) and (es == before).all():
            return slots
        slots = self._entities._find_slots(es)
        if es.base is None:  # no view of cells that are going to change
            self._found = es, slots
        return slots

    def rows_among(self, owners: EntityArray) -> RowArray | None:
        """Return the rows that they have in the last manager, if they have the same ones among
        those of these owners: rows that were created together often stay so."""
        rows, es = self.rows, self.es
        if rows is None or len(rows) == 0 or int(rows.max()) >= len(owners):
            return None
        if (owners.take(rows[:_SAMPLE]) != es[:_SAMPLE]).any():
            return None
        return rows if (owners.take(rows) == es).all() else None

    def ascending(self, rows: RowArray, n: int) -> RowArray:
        """Return distinct rows below n in ascending order."""
        count, before, gone = self._gone
        if count != n or rows is not before:
            gone = self._entities._BULK.ascending(rows, n)
            self._gone = n, rows, gone
        return gone
