"""Helpers of loops in kernels: longer arrays, and warnings about loops that were cut off."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def grown(array: Any, elements: int = 1) -> Any:
    """Return an array, or a memoryview, more than twice as long, with the same first elements.

    `elements`: how many belong to a row.
    """
    larger = np.empty(2 * len(array) + 8 * elements, np.asarray(array).dtype)
    larger[: len(array)] = array
    return larger.data if isinstance(array, memoryview) else larger


def warn_of_cut_off(
    kernel: str, at_most: int, loops: Sequence[str], counts: NDArray[np.int64]
) -> None:
    """Give a RuntimeWarning for each `while` that `at_most` has cut off.

    `loops`: their lines as the schema has them; `counts`: how often, shape (loops,).
    """
    for line, count in zip(loops, counts.tolist(), strict=True):
        if count:
            times = "once" if count == 1 else f"{count} times"
            message = f"{kernel}: {line!r} went on after {at_most} passes and was cut off {times}"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
