"""Helpers of loops in kernels: longer arrays, handles of who will come, and warnings about loops
that were cut off."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..package import outside_level

_SLOT_BITS: Final = 32
"""Bits of an id that are its slot; above them is the generation."""


def grown(array: Any, elements: int = 1) -> Any:
    """Return an array, or a memoryview, more than twice as long, with the same first elements.
    `elements`: how many belong to a row."""
    larger = np.empty(2 * len(array) + 8 * elements, np.asarray(array).dtype)
    larger[: len(array)] = array
    return larger.data if isinstance(array, memoryview) else larger


def warn_of_cut_off(
    kernel: str, at_most: int, loops: Sequence[str], counts: NDArray[np.int64]
) -> None:
    """Give a RuntimeWarning for each `while` that `at_most` has cut off. `loops`: their lines as
    the schema has them; `counts`: how often, shape (loops,)."""
    for line, count in zip(loops, counts.tolist(), strict=True):
        if count:
            times = "once" if count == 1 else f"{count} times"
            message = f"{kernel}: {line!r} went on after {at_most} passes and was cut off {times}"
            warnings.warn(message, RuntimeWarning, stacklevel=outside_level())


def take_entity(numbers: Any, free: Any, cells: Any) -> Any:
    """Return the handle of the next entity; 0 without an index left.

    `numbers`: how many were given out; freed indices that come first, and new ones; the first new
    handle; the place of the freed indices, and their number.
    """
    number = numbers[0]
    numbers[0] = number + 1
    early, new = numbers[1], numbers[2]
    if early <= number < early + new:
        return numbers[3] + number - early
    if number >= early:
        number -= new
    if number >= numbers[5]:
        return 0
    return cells[free[(numbers[4] + number) & (len(free) - 1)]] ^ 1


def take_id(numbers: Any, free: Any, cells: Any) -> Any:
    """Return the id of the next row. `numbers`: how many were given out; the place of the free
    slots, and their number; the first new slot, and its generation."""
    number = numbers[0]
    numbers[0] = number + 1
    if number < numbers[2]:
        slot = free[numbers[1] + number]
        return int(cells[slot]) << _SLOT_BITS | int(slot)
    return numbers[4] << _SLOT_BITS | numbers[3] + number - numbers[2]
