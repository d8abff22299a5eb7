"""Gives names of a generated package's runtime other values."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest


def patch_runtime(patch: pytest.MonkeyPatch, package: str, **values: Any) -> None:
    """Set names in every module of a package's runtime that has them; each must be in one."""
    runtime = import_module(f"{package}._runtime")
    found = walk_packages(runtime.__path__, f"{runtime.__name__}.")
    modules = [import_module(module.name) for module in found]  # they come when they are first used
    for name, value in values.items():
        having = [module for module in modules if name in vars(module)]
        assert having, f"{package} has no {name}"
        for module in having:
            patch.setattr(module, name, value)
