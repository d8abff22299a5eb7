"""What is the same for every schema: real Python, tested by itself, that generated packages import.

The modules import numpy, the standard library and each other, relatively; no public name is
defined twice. What is abstract is so for type checkers, which ask for no `ABC`: that looks for it
anew in each class that is made, a twentieth of a package's import.
"""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"
INTERFACES: Final = (2,)
"""Which generated packages this library serves, by the number that they ask for. Another one when
what they use of it changes, which a test notices."""
