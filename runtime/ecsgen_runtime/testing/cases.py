"""The direct cases of every manager."""

from __future__ import annotations

from . import memory, proxies, reflection, structure, values


class Cases(
    memory.Cases, proxies.Cases, reflection.Cases, structure.Cases, values.Cases
):
    """Memory, proxies, what components say of themselves, structure and values."""
