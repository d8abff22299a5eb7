"""Rows at the border of a kernel's condition: it just holds, or it just does not.

Random rows are far from where a condition turns, and a kernel that asks for something a little
different would treat them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

PAIRS = 3
HALVINGS = 60


def approach(
    columns: Mapping[str, NDArray[Any]],
    rows: Sequence[int],
    matches: Callable[[int], bool],
    rng: np.random.Generator,
) -> None:
    """Change numbers in some of the rows of columns until the condition turns between two of them.

    `matches` says whether it holds for a row, as the columns are then.
    """
    columns = {
        n: column for n, column in columns.items() if column.dtype.kind in "biuf"
    }
    for row in rows[::3]:  # of whole numbers, for which more conditions hold
        for column in columns.values():
            low = 0 if column.dtype.kind in "bu" else -1
            column[row] = rng.integers(low, 2, column.shape[1:]).astype(column.dtype)
    inside = [row for row in rows if matches(row)]
    outside = [row for row in rows if row not in inside]
    for pair in list(zip(inside, outside, strict=False))[:PAIRS]:
        _halve(columns, *pair, matches)


def _halve(
    columns: Mapping[str, NDArray[Any]],
    inside: int,
    outside: int,
    matches: Callable[[int], bool],
) -> None:
    """Put two rows as close together as halving their distance brings them."""
    for _ in range(HALVINGS):
        before = {name: column[inside].copy() for name, column in columns.items()}
        for column in columns.values():
            column[inside] = _between(column[inside], column[outside])
        if matches(inside):
            continue
        for name, column in columns.items():
            column[outside], column[inside] = column[inside], before[name]


def _between(one: Any, other: Any) -> Any:
    """Return the middle of two cells; what is not finite gives way, and a bool stays."""
    if one.dtype.kind == "b":
        return one
    if one.dtype.kind == "f":
        middle = one / 2 + other / 2
        return np.where(np.isfinite(middle), middle, other)
    return one // 2 + other // 2 + (one & other & 1)
