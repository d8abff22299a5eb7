"""Changes that are planned before anything is written: what can fail lies behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..handles import RowArray

Moves: TypeAlias = tuple[RowArray, RowArray]
"""(src, dst): rows src[k] go to dst[k]."""

Write: TypeAlias = tuple[NDArray[Any], RowArray | slice, NDArray[Any] | int]
"""A column, rows of it, and what they are to hold."""

Planned: TypeAlias = tuple[Callable[[], None], ...]
"""What is to be done once rows have moved; it allocates nothing of size."""

NO_ROWS: Final = np.empty(0, np.intp)
NO_ROWS.flags.writeable = False


def put(writes: Iterable[Write]) -> None:
    """Make writes, one after the other."""
    for column, rows, values in writes:
        column[rows] = values
