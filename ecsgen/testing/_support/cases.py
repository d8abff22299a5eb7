"""The direct cases of every manager."""

from __future__ import annotations

from . import memory, reflection, structure, values


class Cases(memory.Cases, reflection.Cases, structure.Cases, values.Cases):
    """Memory, what components say of themselves, structure and values."""
