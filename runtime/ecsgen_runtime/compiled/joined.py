"""Rows of one entity in several managers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .kernel import kernel


@kernel()
def row_at(rows: NDArray[np.intp], place: int) -> int:
    """Return one of some rows, of which only the first is there if they follow each other."""
    return int(rows[place] if len(rows) > 1 else rows[0] + place)


@kernel()
def rows_of_block(rows: NDArray[np.intp], start: int, end: int) -> NDArray[np.intp]:
    """Return some of the rows, in the same form."""
    if len(rows) > 1:
        return rows[start:end]
    first = np.empty(1, np.intp)
    first[0] = rows[0] + start
    return first
