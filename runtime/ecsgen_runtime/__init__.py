"""Library that generated packages import: whatever does not depend on a schema, tested by itself.

The modules import numpy, the standard library and each other, relatively; no public name is
defined twice. What is abstract is so for type checkers, which ask for no `ABC`: that looks for it
anew in each class that is made, a twentieth of a package's import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base.version import INTERFACES as INTERFACES
from .base.version import __version__ as __version__

if TYPE_CHECKING:
    from .sweeps.sweep import Sweep as Sweep
    from .sweeps.sweep import sweep as sweep


def __getattr__(name: str) -> Any:
    """Return what users of the library itself have, which is loaded by its first use."""
    if name in ("Sweep", "sweep"):
        return vars(import_module(".sweeps.sweep", __name__))[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
