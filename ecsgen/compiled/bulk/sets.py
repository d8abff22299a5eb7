"""Sets of rows as masks."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, error_model="numpy")
def distinct_rows(rows: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the rows below n, each once, in order; O(n)."""
    given = np.zeros(n, np.uint8)
    for k in range(len(rows)):
        given[rows[k]] = 1
    found = np.empty(len(rows) + 1, np.intp)
    count = 0
    for row in range(n):  # without a branch, which the machine could not foresee
        found[count] = row
        count += given[row]
    return found[:count]
