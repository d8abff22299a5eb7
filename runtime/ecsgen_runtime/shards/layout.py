"""The bits of a handle where worlds are several: generation, shard and index, from the top.

In a generated package, the number of bits is that of its schemas. Ids have 20, 12 and 32 bits,
whatever handles have.
"""

from __future__ import annotations

from typing import Final

from ..entities.layout import GENERATION_BITS, INDEX_BITS

SHARD_BITS: Final = 12

SHARD_COUNT: Final = 1 << SHARD_BITS
GENERATION_SHIFT: Final = INDEX_BITS + SHARD_BITS
ONE_GENERATION: Final = 1 << GENERATION_SHIFT
LAST_GENERATION: Final = ((1 << GENERATION_BITS) - 1) << GENERATION_SHIFT

ID_SHARD_BITS: Final = 12
ID_VISITOR: Final = (1 << ID_SHARD_BITS) - 1
"""Stands in a slot's generation for the shard, where the id in it is another's: no shard has this
number."""
ID_LAST: Final = (1 << 20) - 1
"""The last generation of an id."""
