"""Longer arrays, and handles of who will come, for compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.jit import jit
from .loops import warn_of_cut_off as warn_of_cut_off

_SLOT_BITS = np.uint64(32)


@jit()
def grown(array: Any, elements: int = 1) -> Any:
    """Return an array twice as long and more; `elements`: how many belong to a row."""
    larger = np.empty(2 * len(array) + 8 * elements, array.dtype)
    larger[: len(array)] = array
    return larger


@jit()
def take_entity(
    numbers: NDArray[np.int64], free: NDArray[np.uint32], cells: NDArray[np.uint64]
) -> np.uint64:
    """Return the handle of the next entity; 0 without an index left."""
    number = numbers[0]
    numbers[0] = number + 1
    early, new = numbers[1], numbers[2]
    if early <= number < early + new:
        return np.uint64(numbers[3] + number - early)
    if number >= early:
        number -= new
    if number >= numbers[5]:
        return np.uint64(0)
    index = free[(numbers[4] + number) & np.int64(len(free) - 1)]
    return np.uint64(cells[index] ^ np.uint64(1))


@jit()
def take_id(
    numbers: NDArray[np.int64], free: NDArray[np.uint32], cells: NDArray[np.uint32]
) -> np.uint64:
    """Return the id of the next row."""
    number = numbers[0]
    numbers[0] = number + 1
    slot = np.uint64(numbers[3] + number - numbers[2])
    generation = np.uint64(numbers[4])
    if number < numbers[2]:
        slot = np.uint64(free[numbers[1] + number])
        generation = np.uint64(cells[slot])
    return generation << _SLOT_BITS | slot
