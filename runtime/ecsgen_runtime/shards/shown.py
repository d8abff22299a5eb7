"""How messages show entities of several shards: `5v1`, and `5v1@3` of those not made in shard 0."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from ..convert.arrays import shown
from ..entities.layout import INDEX_BITS, INDEX_MASK
from .layout import GENERATION_SHIFT, LAST_GENERATION, ONE_GENERATION, SHARD_COUNT


def entity_name(entity: SupportsIndex) -> str:
    """Return an entity as `5v1`, or `5v1@3`."""
    handle = index(entity)
    shard = handle >> INDEX_BITS & SHARD_COUNT - 1
    name = f"{handle & INDEX_MASK}v{handle >> GENERATION_SHIFT}"
    return f"{name}@{shard}" if shard else name


def shown_entity(entity: SupportsIndex) -> str:
    """Return an entity as `5v1 (17592186044421)`; what can't be one is the bare number."""
    handle = index(entity)
    if 0 <= handle <= LAST_GENERATION | ONE_GENERATION - 1:
        return f"{entity_name(handle)} ({handle})"
    return shown(handle)
