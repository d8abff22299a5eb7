"""The rows of one component in a snapshot, as checks see them; and how cells are looked through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..saved import Document, Saved

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
