"""Rows of one entity in several managers."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, error_model="numpy")
def row_at(rows: NDArray[np.intp], place: int) -> int:
    """Return one of some rows, of which only the first is there if they follow each other."""
    return int(rows[place] if len(rows) > 1 else rows[0] + place)
