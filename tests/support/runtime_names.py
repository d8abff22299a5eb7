"""The library that a generated package uses, and other values for its names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import pytest


def library_of(package: str) -> str:
    """Return what the library of an imported package is called: its own copies, or what they are
    copies of."""
    vendored = f"{package}._runtime"
    return vendored if vendored in sys.modules else "ecsgen_runtime"


def patch_runtime(patch: pytest.MonkeyPatch, package: str, **values: Any) -> None:
    """Set names in every module of a package's library that has them; each must be in one."""
    library = import_module(library_of(package))
    modules = [import_module(name) for name in _modules(library)]  # they come when first used
    for name, value in values.items():
        having = [module for module in modules if name in vars(module)]
        assert having, f"{package} has no {name}"
        for module in having:
            patch.setattr(module, name, value)


def _modules(library: ModuleType) -> Iterator[str]:
    """Yield the names of a library's modules but those for tests: these register a profile."""
    for module in iter_modules(library.__path__, f"{library.__name__}."):
        if not module.name.endswith(".testing"):
            yield module.name
            if module.ispkg:
                yield from _modules(import_module(module.name))
