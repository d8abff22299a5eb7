"""The direct cases of every manager."""

from __future__ import annotations

from . import memory, structure, values


class Cases(memory.Cases, structure.Cases, values.Cases):
    """Memory, structure and values."""
