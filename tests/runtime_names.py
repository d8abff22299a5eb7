"""Gives names of a generated package's runtime other values."""

from __future__ import annotations

import sys
from typing import Any

import pytest


def patch_runtime(patch: pytest.MonkeyPatch, package: str, **values: Any) -> None:
    """Set names in every module of a package's runtime that has them; each must be in one."""
    modules = [m for name, m in sys.modules.items() if name.startswith(f"{package}._runtime.")]
    for name, value in values.items():
        having = [module for module in modules if name in vars(module)]
        assert having, f"{package} has no {name}"
        for module in having:
            patch.setattr(module, name, value)
