"""The library that a generated package uses, and other values for its names."""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest


def library_of(package: str) -> str:
    """Return what the library of an imported package is called: its own copies, or what they are
    copies of."""
    own = f"{package}._runtime"
    return own if own in sys.modules else "ecsgen_runtime"


def patch_runtime(patch: pytest.MonkeyPatch, package: str, **values: Any) -> None:
    """Set names in every module of a package's library that has them; each must be in one."""
    library = import_module(library_of(package))
    found = walk_packages(library.__path__, f"{library.__name__}.")
    tests = f"{library.__name__}.testing"
    # They come when they are first used.
    modules = [import_module(m.name) for m in found if not m.name.startswith(tests)]
    for name, value in values.items():
        having = [module for module in modules if name in vars(module)]
        assert having, f"{package} has no {name}"
        for module in having:
            patch.setattr(module, name, value)
