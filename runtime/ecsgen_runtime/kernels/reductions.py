"""Reductions: what the blocks gave, put together."""

from __future__ import annotations

from math import nan, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..columns.buffers import nested


def added(parts: list[NDArray[Any]], dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return the sum of the blocks' sums as Python numbers, 0 for none; integers wrap."""
    total = np.zeros(shape, dtype)
    for part in parts:
        total = total + part
    return as_cell(total, shape)


def averaged(parts: list[NDArray[Any]], rows: int, shape: tuple[int, ...]) -> Any:
    """Return the sum of the blocks' sums, divided by the number of rows; NaN for none."""
    if rows == 0:
        return nothing(shape)
    return as_cell(np.add.reduce(np.array(parts)) / rows, shape)


def smallest(parts: list[NDArray[Any]], shape: tuple[int, ...]) -> Any:
    """Return the smallest of the blocks' smallest; NaN if one is NaN, and for none."""
    return (
        as_cell(np.minimum.reduce(np.array(parts)), shape) if parts else nothing(shape)
    )


def largest(parts: list[NDArray[Any]], shape: tuple[int, ...]) -> Any:
    """Return the largest of the blocks' largest; NaN if one is NaN, and for none."""
    return (
        as_cell(np.maximum.reduce(np.array(parts)), shape) if parts else nothing(shape)
    )


def nothing(shape: tuple[int, ...]) -> Any:
    """Return NaN as a cell of a shape."""
    return nested([nan] * prod(shape), shape) if shape else nan


def as_cell(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a cell as a Python number, or (nested) tuples of them."""
    return nested(np.ravel(array).tolist(), shape) if shape else array.item()
