"""The bits of a handle where worlds are several: generation, shard and index, from the top.

Ids have 20, 12 and 32 bits, whatever handles have.
"""

from __future__ import annotations

from operator import index
from typing import Final, SupportsIndex

from ..entities.layout import HandleLayout

ID_SHARD_BITS: Final = 12
ID_VISITOR: Final = (1 << ID_SHARD_BITS) - 1
"""Stands in a slot's generation for the shard, where the id in it is another's: no shard has this
number."""
ID_LAST: Final = (1 << 20) - 1
"""The last generation of an id."""


class ShardLayout(HandleLayout):
    """How many bits of a handle are what, with those of the shard where its entity was made."""

    def __init__(
        self, index_bits: int, generation_bits: int, min_free: int, shard_bits: int
    ) -> None:
        super().__init__(index_bits, generation_bits, min_free, shard_bits)
        self.SHARD_BITS: Final = shard_bits
        self.SHARD_COUNT: Final = 1 << shard_bits

    def checked_shard(self, shard: SupportsIndex) -> int:
        """Return the number of a shard, or raise ValueError."""
        number = index(shard)
        if not 0 <= number < self.SHARD_COUNT:
            raise ValueError(f"shard {number}, wanted 0 to {self.SHARD_COUNT - 1}")
        return number

    def shard(self, entity: SupportsIndex) -> int:
        """Return the shard where an entity was made."""
        return index(entity) >> self.INDEX_BITS & self.SHARD_COUNT - 1

    def name(self, entity: SupportsIndex) -> str:
        """Return an entity as `5v1`, and as `5v1@3` if it was not made in shard 0."""
        name, shard = super().name(entity), self.shard(entity)
        return f"{name}@{shard}" if shard else name
