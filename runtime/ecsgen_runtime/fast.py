"""One-row methods in C, if they are there: sources compiled beside this package, or ecsgen-fast.

ECSGEN_FAST=0 in the environment leaves them alone; with 1, it is an error if there are none.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Final, TypeAlias

INTERFACE: Final = 2
"""Which classes ask for methods in C, and what their attributes mean. It is counted up here and in
`ecsgen_fast` when another class asks, or an attribute means something else."""

_Installer: TypeAlias = Callable[[type, int], object]
_BESIDE: Final = f"{__name__.removesuffix('_runtime.fast')}_fast"
_PLACES: Final = (_BESIDE, "ecsgen_fast")


def _found() -> _Installer | None:
    """Return what puts functions in C before the methods of a class."""
    wish = os.environ.get("ECSGEN_FAST", "")
    if wish == "0":
        return None
    reason = f"there is neither a compiled {_BESIDE} nor ecsgen_fast"
    for place in _PLACES:
        try:
            module = import_module(place)
        except ImportError:
            continue
        if getattr(module, "__file__", None) is None:
            continue  # a folder without sources: what was compiled from former ones
        if INTERFACE in getattr(module, "INTERFACES", ()):
            install: _Installer = module.install
            return install
        reason = f"{place} does not know what this version of ecsgen generates"
        warnings.warn(f"{reason}: it is left out", RuntimeWarning, stacklevel=2)
    if wish == "1":
        raise ImportError(f"ECSGEN_FAST is 1, but {reason}")
    return None


_INSTALL: Final = _found()


def speed_up(kind: type) -> None:
    """Let a class have its one-row methods in C, if there are such."""
    if _INSTALL is not None:
        _INSTALL(kind, INTERFACE)
