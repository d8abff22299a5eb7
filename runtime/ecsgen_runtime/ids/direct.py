"""ids with lookup: direct: rows never move, so an id is the row and its generation."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..entities.arrays import as_entities
from ..handles import (
    NIL,
    Columns,
    EntityArray,
    Id,
    IdArray,
    Instance,
    RowArray,
)
from ..per_class import per_class
from ..placement.direct import Direct, DirectRows
from ..state import NO_SLOTS
from .ids import IdCalls
from .slots import (
    SLOT_BITS,
    SLOT_MASK,
    WORN_OUT,
    first_worn_out,
    ids_of,
    resolve_ids,
)


class DirectIdRows(DirectRows):
    """Rows with a generation each, which goes on forever. `_peak` rows ever had an instance."""

    __slots__ = NO_SLOTS
    _NUMBERS: ClassVar[tuple[str, ...]] = ("_peak",)
    _TABLES: ClassVar[Mapping[str, str]] = {"id_generation": "_peak"}
    _peak: int
    _id_generation_column: NDArray[np.uint32]
    _id_generation_cells: memoryview[int]

    def _start(self) -> None:
        super()._start()
        self._peak = 0

    def _held_rows(self) -> int:
        return self._peak


class DirectIds(IdCalls, Direct):
    """A manager whose instances have stable ids that name their rows."""

    __slots__ = NO_SLOTS
    data: DirectIdRows

    @per_class
    def id_of(self, row: int, /) -> Id:
        """Return the stable id of a row: `generation << 32 | row`; O(1)."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._row(row)
        return Id(data._id_generation_cells[row] << SLOT_BITS | row)

    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the stable ids of k rows, or of a mask's; O(k)."""
        return ids_of(self._rows_given(rows), self.data._id_generation_column)

    @per_class
    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if its instance is gone; O(1)."""
        if type(id) is not int:
            id = Id(index(id))
        data = self.data
        row = id & SLOT_MASK
        if row < data._n and data._id_generation_cells[row] == id >> SLOT_BITS:
            return Instance(row) if data._entity_cells[row] else NIL
        return NIL

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k ids, NIL for those whose instance is gone; O(k)."""
        given = as_entities(ids, "ids")
        data = self.data
        n = data._n
        rows = np.where(data.present, np.arange(n), NIL)
        return resolve_ids(given, rows, data._id_generation_column[:n])

    def _are_few_new(self, entities: list[int]) -> bool:
        data, mask = self.data, self._entities._LAYOUT.INDEX_MASK
        for entity in entities:
            row = entity & mask
            # a row without another generation is for many at once, where it is refused in time
            if row < data._allocated and data._id_generation_cells[row] == WORN_OUT:
                return False
        return super()._are_few_new(entities)

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        first_worn_out(  # no name for the column: it would count as a view when rows move
            type(self).__name__,
            self._entities._indices(entities),
            self.data._id_generation_column,
        )
        super()._make_room(entities, columns, borrowed)
