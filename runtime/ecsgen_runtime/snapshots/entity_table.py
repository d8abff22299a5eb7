"""Entities in a snapshot: which are alive, consistency checks, and handles of other bits."""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ..base.handles import EntityArray, RowArray
from ..values.array_coercion import all_distinct_below, find_first_duplicate
from .documents import Document, SnapshotContent, handle_layout

_HANDLES: Final = "entities.handles"
_FREE: Final = "entities.free"


class EntityTable:
    """Entities of a snapshot: created ones, and which of them are alive."""

    UNKNOWN: ClassVar[str] = "was never created"
    """Errors' text for entities that the snapshot never had."""

    def __init__(self, saved: SnapshotContent) -> None:
        self.saved = saved
        self.cells: EntityArray = saved.arrays[_HANDLES]
        bits = handle_layout(saved.schema)
        self._mask = np.uint64(bits.INDEX_MASK)
        self._shift = np.uint64(bits.GENERATION_SHIFT)
        self._last = np.uint64(bits.LAST_GENERATION >> bits.GENERATION_SHIFT)

    def __len__(self) -> int:
        """Return the number of indices that were ever used."""
        return len(self.cells)

    def indices(self, es: EntityArray) -> RowArray:
        """Return the index of each entity."""
        return (es & self._mask).view(np.intp)

    def alive(self, es: EntityArray) -> NDArray[np.bool_]:
        """Return which entities are alive."""
        if not len(self.cells):
            return np.zeros(es.shape, np.bool_)
        indices = self.indices(es)
        alive: NDArray[np.bool_] = self.cells.take(indices, mode="clip") == es
        alive &= indices < len(self.cells)
        return alive

    def created(self, es: EntityArray) -> NDArray[np.bool_]:
        """Return which entities were ever given out.

        A cell has the generation of its live entity, or of its next one; 0 if it is retired.
        """
        if not len(self.cells):
            return np.zeros(es.shape, np.bool_)
        indices = (es & self._mask).view(np.intp)
        cells = self.cells.take(indices, mode="clip")
        generations, next_ones = es >> self._shift, cells >> self._shift
        created: NDArray[np.bool_] = (generations > 0) & (generations <= self._last)
        created &= (next_ones == 0) | (generations < next_ones) | (cells == es)
        created &= indices < len(self.cells)
        return created

    def check_owners(self, tensor: str, living: bool, may_be_holes: bool) -> None:
        """Refuse owners that were never created, or with `living` dead ones; O(n)."""
        owners = self.saved.arrays[tensor]
        wrong = ~self.alive(owners)
        if not living and wrong.any():
            wrong &= ~self.created(owners)
        if may_be_holes:
            wrong &= owners != 0
        why = "is not alive" if living else self.UNKNOWN
        self.saved.refuse_first(wrong, f"entity {{entity}} {why}", tensor)

    def check_once(self, tensor: str, owners: EntityArray, rows: RowArray | None = None) -> None:
        """Refuse owners of which one is there twice; `rows`: where they are, if not in order."""
        if all_distinct_below(self.indices(owners), len(self)):
            return
        at = find_first_duplicate(owners)
        if at < len(owners):  # else they share indices alone, as the dead may
            row = at if rows is None else int(rows[at])
            entity = self.saved.shown(owners[at])
            self.saved.refuse(f"entity {entity} is there twice", tensor, row)

    def check(self) -> None:
        """Refuse cells, or a queue of free indices, that cannot be; O(indices)."""
        if len(self.cells) > 1 << self.saved.schema["entity"]["index_bits"]:
            self.saved.refuse("more cells than there are indices", _HANDLES)
        self._check_free(self._waiting())

    def _waiting(self) -> NDArray[np.bool_]:
        """Return which indices must be in the queue, when all cells are right."""
        generations = self.cells >> self._shift
        # 0 where the index's own handle lives, 1 where it waits for its next one
        state = (self.cells & self._mask) ^ np.arange(len(self.cells), dtype=np.uint64)
        is_retired = generations == 0
        wrong = (state > 1) | (generations > self._last) | (is_retired & (state == 0))
        self.saved.refuse_first(wrong, "{cell:#x} is no handle of this index", _HANDLES)
        n_retired = int(np.count_nonzero(is_retired))
        expected = self.saved.state["entities"]["n_retired"]
        if n_retired != expected:
            why = f"{n_retired} are retired, the state says {expected}"
            self.saved.refuse(why, _HANDLES)
        waiting: NDArray[np.bool_] = (state == 1) & ~is_retired
        return waiting

    def _check_free(self, waiting: NDArray[np.bool_]) -> None:
        """Refuse a queue that is not, in some order, that of the indices that wait."""
        free = self.saved.arrays[_FREE]
        count = len(self.cells)
        wrong = free >= count
        wrong[~wrong] = ~waiting[free[~wrong]]
        self.saved.refuse_first(wrong, "index {cell} is not free", _FREE)
        queued = np.zeros(count, np.bool_)
        queued[free] = True
        if int(np.count_nonzero(queued)) != len(free):
            self.saved.refuse("an index waits twice", _FREE)
        lost = waiting & ~queued
        self.saved.refuse_first(lost, "its index waits nowhere", _HANDLES)


class HandleRewriter:
    """The handles of an old snapshot's entities in a world of other bits."""

    def __init__(self, entities: EntityTable, schema: Document) -> None:
        self.entities = entities
        self.old, self.new = map(handle_layout, (entities.saved.schema, schema))
        self._mask = np.uint64(self.old.INDEX_MASK)
        self.stay: bool = entities.saved.schema["entity"] == schema["entity"]
        """True if every handle is unchanged."""

    @property
    def way_back(self) -> str:
        """The change of the schemas by which handles fit again."""
        bits = self.old
        keys = f"index_bits: {bits.INDEX_BITS}, generation_bits: {bits.GENERATION_BITS}"
        return f"'entity: {{{keys}}}' keeps it"

    def fit(self, handles: EntityArray) -> NDArray[np.bool_]:
        """Return which handles have a place among the new bits."""
        fit: NDArray[np.bool_] = handles & self._mask < np.uint64(self.new.INDEX_COUNT)
        generations = handles >> np.uint64(self.old.INDEX_BITS)
        return fit & (generations < np.uint64(1 << self.new.GENERATION_BITS))

    def rewritten(self, handles: EntityArray) -> EntityArray:
        """Return handles in the new bits; 0 for dead entities whose handles do not fit."""
        if self.stay:
            return handles
        generations = handles >> np.uint64(self.old.INDEX_BITS)
        handles_now = generations << np.uint64(self.new.INDEX_BITS) | (handles & self._mask)
        return np.where(self.fit(handles), handles_now, np.uint64(0))

    def tensors(self) -> tuple[dict[str, NDArray[np.generic]], Document]:
        """Return the tensors of all entities, and their numbers."""
        arrays = self.entities.saved.arrays
        free = arrays["entities.free"]
        noted = arrays.get("entities.noted", np.empty(0, np.uint64))
        retired: int = self.entities.saved.state["entities"]["n_retired"]
        cells = self.entities.cells
        if not self.stay:
            cells, are_exhausted = self._new_cells()
            stays = ~are_exhausted.take(free, mode="clip") if len(free) else free != free
            free = free[stays & (free < len(cells))]
            noted = self.rewritten(noted)
            noted = noted[noted != 0]
            retired = int(np.count_nonzero(cells >> np.uint64(self.new.INDEX_BITS) == 0))
        tensors = {"entities.handles": cells, "entities.free": free}
        numbers = {"n_retired": retired}
        return (tensors | {"entities.noted": noted} if len(noted) else tensors), numbers

    def _new_cells(self) -> tuple[EntityArray, NDArray[np.bool_]]:
        """Return a cell per index, and a mask of exhausted indices."""
        old = self.entities.cells
        index = np.arange(len(old), dtype=np.uint64)
        is_live = (old & self._mask) == index
        handles = np.where(is_live, old, old ^ np.uint64(1))
        is_lost = ~self.fit(handles)
        lost = is_live & is_lost
        if lost.any():
            row = int(lost.argmax())
            entity = self.entities.saved.shown(old[row])
            bits = f"{self.new.INDEX_BITS} and {self.new.GENERATION_BITS} bits"
            why = f"the live entity {entity} does not fit {bits}"
            self.entities.saved.refuse(f"{why}; {self.way_back}", _HANDLES, row)
        rewritten = np.where(is_lost, index, self.rewritten(handles))
        cells = np.where(is_live, rewritten, rewritten ^ np.uint64(1))
        return cells[: self.new.INDEX_COUNT], is_lost
