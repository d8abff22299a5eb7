"""Sort keys: arrays with one value per row, and the order that they ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrow.nulls import plain_array
from ..handles import RowArray


def key_values(key: ArrayLike, manager: str) -> NDArray[Any]:
    """Return a key as an array; objects as their ranks, TypeError if they have no order."""
    array = plain_array(key, f"{manager}: key")
    if array.dtype.kind == "O" and array.ndim == 1:
        return _ranks(array.tolist(), manager)
    return array


def sort_key(key: NDArray[Any], n: int, manager: str) -> NDArray[Any]:
    """Return a key that has one value per row, or raise ValueError."""
    if key.shape != (n,):
        raise ValueError(f"{manager}: a key of shape {key.shape} for {n} rows")
    return key


def sort_order(key: NDArray[Any]) -> RowArray:
    """Return the stable ascending order of a key with one value per row, NaN last."""
    return key.argsort(kind="stable")


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
