"""stub"""

from typing import Final

INDEX_MASK: Final = 0xFFFF_FFFF
