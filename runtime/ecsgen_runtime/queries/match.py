"""What a join of a query found: the entities, and their rows by member."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..handles import EntityArray, RowArray
from .members import RowsOrSlice
from .rows import QueryRows


class QueryMatch:
    """The entities that fulfil the conditions, and their rows by member."""

    __slots__ = ("_numbers", "count", "entities", "members", "rows", "tuples", "walked")

    def __init__(
        self,
        count: int,
        walked: int,
        members: list[QueryRows],
        entities: EntityArray | None,
    ) -> None:
        self.count = count
        self.walked = walked
        """The required member whose rows ascend."""
        self.members = members
        self.rows: list[RowsOrSlice] = [member.rows for member in members]
        self.entities = entities
        """Only where no component is required: otherwise they are the owners of rows."""
        self.tuples: list[Any] | None = None
        """What a loop over few entities goes through, once there was one."""
        self._numbers: dict[int, RowArray] = {}

    def numbers(self, place: int) -> RowArray:
        """Return a member's rows; the first alone where they follow each other; O(1).

        Always read-only, so that compiled code has them in one type.
        """
        found = self._numbers.get(place)
        if found is None:
            rows = self.rows[place]
            first = np.array([rows.start], np.intp) if isinstance(rows, slice) else rows
            found = self._numbers[place] = np.ascontiguousarray(first).view()
            found.flags.writeable = False
        return found
