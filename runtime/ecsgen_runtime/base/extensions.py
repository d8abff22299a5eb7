"""The door to what stands above: modules that lower ones use if they are asked for it.

Vendored packages have no copies of what their schemas don't ask for. There it comes from the
installed ecsgen-runtime, if that has the version of the copies.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Final

from .version import __version__

LIBRARY: Final = "ecsgen_runtime"
_HERE: Final = __name__.rpartition(".base.")[0]


def arrow() -> ModuleType:
    """Return the functions that read and write Arrow, imported by their first use."""
    return extension("arrow")


@cache
def extension(name: str) -> ModuleType:
    """Return a module of the library, imported by its first use.

    Raises:
        ImportError: the package has no copy, and no library of the same version is installed.
    """
    try:
        return import_module(f"{_HERE}.{name}")
    except ModuleNotFoundError as error:
        if _HERE == LIBRARY or not f"{_HERE}.{name}".startswith(str(error.name)):
            raise
    if problem := unusable_library():
        raise ImportError(
            f"{_HERE} has no copy of {name}, which ecsgen-runtime has: "
            f"pip install ecsgen-runtime=={__version__} ({problem})"
        )
    return import_module(f"{LIBRARY}.{name}")


def unusable_library() -> str:
    """Return why the installed library can do nothing for this copy; empty if it can."""
    try:
        installed = import_module(LIBRARY).__version__
    except ImportError as error:
        return str(error)
    return (
        "" if installed == __version__ else f"this is {__version__}, and ecsgen-runtime {installed}"
    )
