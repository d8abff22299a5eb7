"""How often Python looks for garbage while tests run.

Syntax trees, models and compiled kernels are many objects that stay: to look through them all as
often as Python does by itself takes a fifth of the time. So does `gc.collect()` in a test, with
what all tests before it have left.
"""

from __future__ import annotations

import gc

THRESHOLDS = (200_000, 20, 100)


def collect_rarely() -> None:
    gc.set_threshold(*THRESHOLDS)


def set_aside() -> None:
    """Free what is garbage, and never look at what is there now again."""
    gc.collect()
    gc.freeze()
