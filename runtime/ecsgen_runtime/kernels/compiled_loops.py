"""Longer arrays for compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.jit import jit
from .loops import warn_of_cut_off as warn_of_cut_off


@jit()
def grown(array: Any, elements: int = 1) -> Any:
    """Return an array twice as long and more; `elements`: how many belong to a row."""
    larger = np.empty(2 * len(array) + 8 * elements, array.dtype)
    larger[: len(array)] = array
    return larger
