"""Handles of entities: who is alive, and what handles are with other bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...handles import EntityArray, RowArray
from ..documents import Document, Saved


class Bits(NamedTuple):
    """How many bits of a handle are its index, and how many its generation."""

    of_index: int
    of_generation: int


class Handles:
    """The entities of an old snapshot, and their handles in a world of other bits."""

    def __init__(self, saved: Saved, schema: Document) -> None:
        self._saved = saved
        self.old = _bits(saved.schema)
        self.new = _bits(schema)
        self.cells: EntityArray = saved.arrays["entities.handles"]
        self._mask = np.uint64((1 << self.old.of_index) - 1)
        self.stay = self.old == self.new
        """Whether every handle is what it was."""

    @property
    def way_back(self) -> str:
        """What to write in the schemas for handles that do not fit."""
        bits = self.old
        keys = f"index_bits: {bits.of_index}, generation_bits: {bits.of_generation}"
        return f"'entity: {{{keys}}}' keeps it"

    def indices(self, handles: EntityArray) -> RowArray:
        """Return the index of each old handle."""
        return (handles & self._mask).view(np.intp)

    def alive(self, handles: EntityArray) -> NDArray[np.bool_]:
        """Return which entities are alive."""
        count = len(self.cells)
        if count == 0:
            return np.zeros(handles.shape, np.bool_)
        index = self.indices(handles)
        alive: NDArray[np.bool_] = self.cells.take(index, mode="clip") == handles
        alive &= index < count
        return alive

    def created(self, handles: EntityArray) -> NDArray[np.bool_]:
        """Return which were ever given out."""
        count = len(self.cells)
        index = self.indices(handles)
        if count == 0:
            return np.zeros(handles.shape, np.bool_)
        now = self.cells.take(index, mode="clip") >> np.uint64(self.old.of_index)
        given = handles >> np.uint64(self.old.of_index)
        known: NDArray[np.bool_] = (given != 0) & (index < count)
        known &= (now == 0) | (given < now) | self.alive(handles)
        return known

    def fit(self, handles: EntityArray) -> NDArray[np.bool_]:
        """Return which handles have a place among the new bits."""
        generations = handles >> np.uint64(self.old.of_index)
        fit: NDArray[np.bool_] = (handles & self._mask) < np.uint64(
            1 << self.new.of_index
        )
        return fit & (generations < np.uint64(1 << self.new.of_generation))

    def rewritten(self, handles: EntityArray) -> EntityArray:
        """Return handles in the new bits; 0 for those of the dead that do not fit."""
        if self.stay:
            return handles
        generations = handles >> np.uint64(self.old.of_index)
        found = generations << np.uint64(self.new.of_index) | (handles & self._mask)
        return np.where(self.fit(handles), found, np.uint64(0))

    def tensors(self) -> tuple[dict[str, NDArray[np.generic]], Document]:
        """Return the tensors of all entities, and their numbers."""
        arrays = self._saved.arrays
        free = arrays["entities.free"]
        noted = arrays.get("entities.noted", np.empty(0, np.uint64))
        retired: int = self._saved.state["entities"]["n_retired"]
        cells = self.cells
        if not self.stay:
            cells, worn_out = self._new_cells()
            left = ~worn_out.take(free, mode="clip") if len(free) else free != free
            free = free[left & (free < len(cells))]
            noted = self.rewritten(noted)
            noted = noted[noted != 0]
            retired = int(np.count_nonzero(cells >> np.uint64(self.new.of_index) == 0))
        found = {"entities.handles": cells, "entities.free": free}
        numbers = {"n_retired": retired}
        return (found | {"entities.noted": noted} if len(noted) else found), numbers

    def _new_cells(self) -> tuple[EntityArray, NDArray[np.bool_]]:
        """Return a cell per index, and which indices are worn out."""
        index = np.arange(len(self.cells), dtype=np.uint64)
        is_live = (self.cells & self._mask) == index
        handles = np.where(is_live, self.cells, self.cells ^ np.uint64(1))
        fit = self.fit(handles)
        lost = is_live & ~fit
        if lost.any():
            row = int(lost.argmax())
            entity = int(self.cells[row])
            place = f"index {row}, generation {entity >> self.old.of_index}"
            bits = f"{self.new.of_index} and {self.new.of_generation} bits"
            why = f"the live entity {entity:#x} ({place}) does not fit {bits}"
            self._saved.refuse(f"{why}; {self.way_back}", "entities.handles", row)
        kept = slice(0, min(len(self.cells), 1 << self.new.of_index))
        worn_out = ~fit
        rewritten = np.where(worn_out, index, self.rewritten(handles))
        cells = np.where(is_live, rewritten, rewritten ^ np.uint64(1))
        return cells[kept], worn_out


def _bits(schema: Document) -> Bits:
    entity = schema["entity"]
    return Bits(entity["index_bits"], entity["generation_bits"])
