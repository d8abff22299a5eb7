"""Longer arrays, and handles of who will come, for compiled loops."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..base.jit import jit
from . import loops
from .loops import warn_of_cut_off as warn_of_cut_off

_next_entity: Final = jit()(loops.take_entity)
_next_id: Final = jit()(loops.take_id)


@jit()
def grown(array: Any, elements: int = 1) -> Any:
    """Return an array twice as long and more; `elements`: how many belong to a row."""
    larger = np.empty(2 * len(array) + 8 * elements, array.dtype)
    larger[: len(array)] = array
    return larger


@jit()
def take_entity(numbers: Any, free: Any, cells: Any) -> np.uint64:
    """Return the handle of the next entity; 0 without an index left."""
    return np.uint64(_next_entity(numbers, free, cells))


@jit()
def take_id(numbers: Any, free: Any, cells: Any) -> np.uint64:
    """Return the id of the next row."""
    return np.uint64(_next_id(numbers, free, cells))
