"""The door to what stands above: modules that lower ones use if they are asked for it."""

from __future__ import annotations

from functools import cache
from types import ModuleType


@cache
def arrow() -> ModuleType:
    """Return the functions that read and write Arrow, imported by their first use."""
    from .. import arrow

    return arrow
