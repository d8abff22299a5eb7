"""Kernels whose rows take turns: each acts on what those before it have left."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..entities.living import LivingEntities
from ..handles import RowArray
from .chance import draw_stems, draw_words


class MappedManager(Protocol):
    """A manager whose rows are found by a hash of their owners."""

    @property
    def _entities(self) -> LivingEntities: ...

    @property
    def data(self) -> Any: ...

    def _first_rows(self) -> RowArray: ...


def turn_order(who: NDArray[np.uint64], key: np.uint64) -> RowArray:
    """Return rows in the order of their first random words, equal ones in row order; `who`
    tells them apart, shape (n,). O(n log n)."""
    stem, word, bits = (np.empty(len(who), np.uint64) for _ in range(3))
    draw_stems(who, key, stem, bits)
    draw_words(stem, 0, word, bits, bits)
    return word.argsort(kind="stable")


def rows_of_living(manager: MappedManager) -> dict[int, int]:
    """Return the first row that each living entity has; O(n)."""
    rows = manager._first_rows()
    owners = manager.data._entity_column[rows]
    alive = manager._entities._are_held(owners)
    return dict(zip(owners[alive].tolist(), rows[alive].tolist(), strict=True))
