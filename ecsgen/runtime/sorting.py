"""Sort keys: arrays with one value per row, and the order that they ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .handles import RowArray
from .rows import Rows


def sort_key(key: ArrayLike, data: Rows, manager: str) -> NDArray[Any]:
    """Return a key array with one value per row; objects as their ranks.

    Raises:
        ValueError: not one value per row.
        TypeError: the key's objects have no order.
    """
    array = np.asarray(key)
    if array.dtype.kind == "O" and array.ndim == 1:
        array = _ranks(array.tolist(), manager)
    if array.shape != (data._n,):
        raise ValueError(f"{manager}: a key of shape {array.shape} for {data._n} rows")
    return array


def sort_order(key: NDArray[Any]) -> RowArray:
    """Return the stable ascending order of a key with one value per row, NaN last."""
    return np.argsort(key, kind="stable")


def _ranks(values: list[Any], manager: str) -> RowArray:
    """Return the place of each value in their stable ascending order; NaN, which is not equal to
    itself, comes last."""
    try:
        numbers = [k for k, value in enumerate(values) if value == value]
        order = sorted(numbers, key=values.__getitem__)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{manager}: a key's values need an order: {error}") from error
    nans = set(range(len(values))).difference(numbers)
    ranks = np.empty(len(values), np.intp)
    ranks[[*order, *sorted(nans)]] = np.arange(len(values))
    return ranks
