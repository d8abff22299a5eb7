"""instances: one: the map holds the entity's only row."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..handles import NIL, EntityArray, Instance, RowArray
from ..maps.mapped import Mapped
from ..owners.owned import Owned
from ..placement.rows import first_present, first_repeated
from ..state import NO_SLOTS


class One(Owned):
    """A manager with at most one instance per entity."""

    __slots__ = NO_SLOTS

    def _single_rows(self, entities: list[int]) -> list[int] | None:
        lookup = self.lookup
        rows = {lookup(entity) for entity in entities}  # type: ignore[arg-type]
        rows.discard(NIL)
        return [*rows]

    def _rows_with(self, row: Instance) -> RowArray:
        return np.array([row])

    def _rows_of_many(self, entities: EntityArray) -> RowArray:
        rows = self.lookup_many(entities)
        rows = rows[rows != NIL]
        rows.sort()
        again = rows[1:] == rows[:-1]
        return np.unique(rows) if np.logical_or.reduce(again) else rows

    def _admit_many(self, entities: EntityArray) -> None:
        name, layout = type(self).__name__, self._entities._LAYOUT
        first_repeated(name, entities, layout)
        if len(entities) and not self._are_new(entities):
            first_present(name, entities, self.lookup_many(entities), layout)


class MappedOne(Mapped, One):
    """The same where a map knows the row."""

    __slots__ = NO_SLOTS

    _FORGETTING: ClassVar[tuple[str, ...]] = ("_forget_rows",)
    _FOLLOWING: ClassVar[tuple[str, ...]] = ("_enter_moved",)
