"""Library that generated packages import: whatever does not depend on a schema, tested by itself.

The modules import numpy, the standard library and each other, relatively; no public name is
defined twice. What is abstract is so for type checkers, which ask for no `ABC`: that looks for it
anew in each class that is made, a twentieth of a package's import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base.extensions import extension
from .base.version import INTERFACES as INTERFACES
from .base.version import __version__ as __version__

if TYPE_CHECKING:  # absolute, for a vendored copy has them from the installed library
    from ecsgen_runtime.sweeps.sweep import (  # type: ignore[import-not-found, unused-ignore]
        Sweep as Sweep,
    )
    from ecsgen_runtime.sweeps.sweep import sweep as sweep


def __getattr__(name: str) -> Any:
    """Return what users of the library itself have, which is loaded by its first use."""
    if name in ("Sweep", "sweep"):
        return vars(extension("sweeps.sweep"))[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
