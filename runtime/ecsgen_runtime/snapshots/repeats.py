"""Values that are there twice, of a field that is unique."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def repeated_value(cells: NDArray[Any]) -> tuple[int, int] | None:
    """Return the first row whose value an earlier one has, and that; O(n log n).

    Text is bytes in rows, shape (n, size); NaN equals nothing.
    """
    if cells.ndim > 1:
        cells = np.ascontiguousarray(cells).view(f"S{cells.shape[1]}")[:, 0]
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(again) == 0:
        return None
    place = again[np.argmin(order[again + 1])]
    return int(order[place + 1]), int(order[place])
