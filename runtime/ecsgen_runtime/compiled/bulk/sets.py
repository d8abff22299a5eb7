"""Sets of rows as bits."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..kernel import kernel

_SPREAD: Final = np.uint64(0x03F7_9D71_B4CB_0A89)
"""A de Bruijn sequence: shifted by 0 to 63 bits, it begins with six other bits each time."""
_PLACES: Final = np.argsort(
    (_SPREAD << np.arange(64, dtype=np.uint64)) >> np.uint64(58)
)
"""By how many bits it was, by these six."""


@kernel()
def distinct_rows(rows: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return the rows below n, each once, in order; O(n)."""
    words = np.zeros((n >> 6) + 1, np.uint64)
    for k in range(len(rows)):
        words[rows[k] >> 6] |= np.uint64(1) << np.uint64(rows[k] & 63)
    found = np.empty(len(rows), np.intp)
    count = 0
    for number in range(len(words)):
        word = words[number]
        while word:
            lowest = word & (~word + np.uint64(1))
            found[count] = (number << 6) + _PLACES[lowest * _SPREAD >> np.uint64(58)]
            count += 1
            word ^= lowest
    return found[:count]
