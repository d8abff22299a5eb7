"""Rows in order, and whether numbers are all different, in the place of the runtime's."""

from __future__ import annotations

import numpy as np

from ...handles import RowArray
from ..kernel import kernel
from .sets import distinct_rows


@kernel()
def are_distinct_below(n: int, values: RowArray) -> bool:
    """Return whether no number below n is there twice; O(n)."""
    seen = np.zeros(n, np.uint8)
    for k in range(len(values)):
        if seen[values[k]]:
            return False
        seen[values[k]] = 1
    return True


def ascending(rows: RowArray, n: int) -> RowArray:
    """Return distinct rows below n in ascending order; O(n)."""
    found: RowArray = distinct_rows(rows, n)
    return found
