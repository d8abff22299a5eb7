"""The bits of a handle that are its index and its generation, and what follows.

In a generated package, the first three numbers are those of its schemas.
"""

from __future__ import annotations

from typing import Final

INDEX_BITS: Final = 32
GENERATION_BITS: Final = 32
MIN_FREE: Final = 1024

INDEX_COUNT: Final = 1 << INDEX_BITS
INDEX_MASK: Final = INDEX_COUNT - 1
ONE_GENERATION: Final = 1 << INDEX_BITS
LAST_GENERATION: Final = ((1 << GENERATION_BITS) - 1) << INDEX_BITS
