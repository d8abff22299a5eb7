"""Entities: handles of an index and a generation, and their manager."""

from __future__ import annotations

from typing import Final

from ecsgen_runtime.base.handles import HandleLayout
from ecsgen_runtime.entities.entity_manager import EntityManagerBase

LAYOUT: Final = HandleLayout(index_bits=32, generation_bits=32, min_free=1024)
INDEX_BITS: Final = LAYOUT.INDEX_BITS
GENERATION_BITS: Final = LAYOUT.GENERATION_BITS
MIN_FREE: Final = LAYOUT.MIN_FREE
INDEX_COUNT: Final = LAYOUT.INDEX_COUNT
INDEX_MASK: Final = LAYOUT.INDEX_MASK
ONE_GENERATION: Final = LAYOUT.ONE_GENERATION
LAST_GENERATION: Final = LAYOUT.LAST_GENERATION


class EntityManager(EntityManagerBase):
    """Manager that creates entities with these bits, and checks that they are alive."""

    __slots__ = ()
    HANDLE_LAYOUT = LAYOUT
