"""How messages show entities: `5v1`, the index v the generation, with the number behind."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from ..convert.arrays import shown
from .layout import INDEX_BITS, INDEX_MASK, LAST_GENERATION


def entity_name(entity: SupportsIndex) -> str:
    """Return an entity as `5v1`."""
    handle = index(entity)
    return f"{handle & INDEX_MASK}v{handle >> INDEX_BITS}"


def shown_entity(entity: SupportsIndex) -> str:
    """Return an entity as `5v1 (4294967301)`; what can't be one is the bare number."""
    handle = index(entity)
    if 0 <= handle <= LAST_GENERATION | INDEX_MASK:
        return f"{entity_name(handle)} ({handle})"
    return shown(handle)
