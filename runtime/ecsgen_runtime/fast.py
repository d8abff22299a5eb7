"""One-row methods in C, if the installed ecsgen-runtime has some; ECSGEN_PURE=1 leaves them out.

A copy of this module in a vendored package looks there, too, and takes those of its version only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Final, TypeAlias

from . import __version__

LIBRARY: Final = "ecsgen_runtime"

_Installer: TypeAlias = Callable[[type], object]


def methods_in_c() -> tuple[_Installer | None, str]:
    """Return what puts functions in C before the methods of a class, or why there is nothing."""
    if os.environ.get("ECSGEN_PURE", "0") not in ("", "0"):
        return None, "left out by ECSGEN_PURE"
    try:
        installed = import_module(LIBRARY).__version__
        if installed != __version__:
            return None, f"this is {__version__}, and ecsgen-runtime {installed}"
        install: _Installer = import_module(f"{LIBRARY}.accelerator").install
    except ImportError as error:
        is_there = (
            getattr(error, "name", "") != f"{LIBRARY}.accelerator._fast" or error.path
        )
        return None, str(error) if is_there else "not compiled"
    return install, ""


_INSTALL: Final = methods_in_c()[0]


def speed_up(kind: type) -> None:
    """Let a class have its one-row methods in C, if there are such."""
    if _INSTALL is not None:
        _INSTALL(kind)
