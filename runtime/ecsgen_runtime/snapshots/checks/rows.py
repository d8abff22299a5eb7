"""The rows of one component in a snapshot, and entities: cells, free indices, who may own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from ...handles import EntityArray
from ..documents import Document, Saved

# --- The rows of one component in a snapshot, as checks see them; and how cells are
# looked through.


_CELLS: Final = 16_384
"""Looked at together: what is worked out of them stays in the cache."""

Wrong = Callable[[slice], NDArray[np.bool_]]
"""Tells which cells of a block are wrong."""


@dataclass(frozen=True)
class CheckedRows:
    """A component's tensors and numbers."""

    saved: Saved
    component: Document
    """What the schema says of it."""
    module: str
    """What its tensors' names begin with."""
    numbers: Document
    """What the state says of it."""

    @property
    def n(self) -> int:
        """How many rows there are; with `lookup: direct`, holes among them."""
        count: int = self.numbers["n"]
        return count

    def column(self, name: str) -> NDArray[Any]:
        """Return a tensor of the component."""
        return self.saved.arrays[f"{self.module}.{name}"]

    def refuse(self, why: str, column: str, cell: int | None = None) -> NoReturn:
        """Raise SnapshotError that names a cell."""
        self.saved.refuse(why, f"{self.module}.{column}", cell)

    def refuse_wrong(
        self, column: str, count: int, wrong: Wrong, why: Callable[[int], str]
    ) -> None:
        """Refuse the first of `count` cells that is wrong; `why` says what is wrong with it."""
        refuse_wrong(self.saved, f"{self.module}.{column}", count, wrong, why)


def cell_blocks(count: int) -> Iterator[slice]:
    """Yield slices that make up `count` cells."""
    for start in range(0, count, _CELLS):
        yield slice(start, min(start + _CELLS, count))


def refuse_wrong(
    saved: Saved, tensor: str, count: int, wrong: Wrong, why: Callable[[int], str]
) -> None:
    """Refuse the first of `count` cells of a tensor that is wrong; O(count)."""
    for block in cell_blocks(count):
        mask = wrong(block)
        if mask.any():
            cell = block.start + int(mask.argmax())
            saved.refuse(why(cell), tensor, cell)


# --- Entities in a snapshot: a cell per index, the queue of free ones, and who may own
# rows.


_HANDLES: Final = "entities.handles"
_FREE: Final = "entities.free"


class KnownEntities:
    """Who was created, and who lives, by what a snapshot says; all of that is checked first.

    O(indices), in blocks that stay in the cache.
    """

    def __init__(self, saved: Saved) -> None:
        bits = saved.schema["entity"]
        self._saved = saved
        self._bits = np.uint64(bits["index_bits"])
        self._mask = np.uint64((1 << bits["index_bits"]) - 1)
        self._last = np.uint64((1 << bits["generation_bits"]) - 1)
        self._handles: EntityArray = saved.arrays[_HANDLES]
        if len(self._handles) > 1 << bits["index_bits"]:
            saved.refuse("more cells than there are indices", _HANDLES)
        self._check_free(self._waiting())

    def __len__(self) -> int:
        """Return how many indices were ever given out."""
        return len(self._handles)

    def indices(self, owners: EntityArray) -> NDArray[np.intp]:
        """Return the index of each entity."""
        indices: NDArray[np.intp] = (owners & self._mask).view(np.intp)
        return indices

    def check_owners(self, tensor: str, owners: EntityArray, living: bool) -> None:
        """Refuse owners that were never created, or with `living` those that are dead; O(n)."""

        def wrong(block: slice) -> NDArray[np.bool_]:
            es = owners[block]
            if not len(self._handles):
                return np.ones(len(es), np.bool_)
            cells = self._handles.take(self.indices(es), mode="clip")
            mask: NDArray[np.bool_] = cells != es
            if not living and mask.any():
                mask &= ~self._were_created(es, cells)
            return mask

        def why(row: int) -> str:
            what = "is not alive" if living else "was never created"
            return f"entity {int(owners[row]):#x} {what}"

        refuse_wrong(self._saved, tensor, len(owners), wrong, why)

    def _were_created(self, es: EntityArray, cells: EntityArray) -> NDArray[np.bool_]:
        """Return which entities that do not live did once, by the cells of their indices.

        A cell has the generation of who lives, or who will next; of who was the last, none.
        """
        generations, next_ones = es >> self._bits, cells >> self._bits
        created = (generations > 0) & (generations <= self._last)
        created &= (next_ones == 0) | (generations < next_ones)
        known: NDArray[np.bool_] = created & (self.indices(es) < len(self._handles))
        return known

    def _waiting(self) -> NDArray[np.bool_]:
        """Return which indices must be in the queue, when all cells are right."""
        waiting = np.zeros(len(self._handles), np.bool_)
        n_retired = 0
        for block in cell_blocks(len(self._handles)):
            cells = self._handles[block]
            generations = cells >> self._bits
            # 0 where the index's own handle lives, 1 where it waits for its next one
            state = cells & self._mask
            state ^= np.arange(block.start, block.stop, dtype=np.uint64)
            lowest, highest = generations.min(), generations.max()
            if state.max() > 1 or highest > self._last:
                self._refuse_cell(block, (state > 1) | (generations > self._last))
            if not state.any() and lowest:
                continue
            is_retired = generations == 0
            if (is_retired & (state == 0)).any():
                self._refuse_cell(block, is_retired & (state == 0))
            n_retired += int(np.count_nonzero(is_retired))
            waiting[block] = (state == 1) & ~is_retired
        said = self._saved.state["entities"]["n_retired"]
        if n_retired != said:
            self._saved.refuse(
                f"{n_retired} are retired, the state says {said}", _HANDLES
            )
        return waiting

    def _refuse_cell(self, block: slice, wrong: NDArray[np.bool_]) -> None:
        index = block.start + int(wrong.argmax())
        cell = int(self._handles[index])
        self._saved.refuse(f"{cell:#x} is no handle of this index", _HANDLES, index)

    def _check_free(self, waiting: NDArray[np.bool_]) -> None:
        """Refuse a queue that is not, in some order, that of the indices that wait."""
        free = self._saved.arrays[_FREE]
        count = len(self._handles)

        def not_waiting(block: slice) -> NDArray[np.bool_]:
            if not count:
                return np.ones(block.stop - block.start, np.bool_)
            indices = free[block]
            mask: NDArray[np.bool_] = ~waiting.take(indices, mode="clip")
            return mask | (indices >= count)

        def why(place: int) -> str:
            return f"index {int(free[place])} is not free"

        refuse_wrong(self._saved, _FREE, len(free), not_waiting, why)
        queued = np.zeros(count, np.bool_)
        queued[free] = True
        if int(np.count_nonzero(queued)) != len(free):
            self._saved.refuse("an index waits twice", _FREE)
        if int(np.count_nonzero(waiting)) != len(free):
            index = int((waiting & ~queued).argmax())
            self._saved.refuse("its index waits nowhere", _HANDLES, index)
