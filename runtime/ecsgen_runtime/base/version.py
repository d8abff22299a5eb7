"""The library's version, and which generated packages it serves."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
INTERFACES: Final = (4, 5, 6, 7)
"""Which generated packages this library serves, by the number that they ask for. Another one when
what they use of it changes, which a test notices."""
