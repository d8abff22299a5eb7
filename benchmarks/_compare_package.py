"""Two generated packages in one process, and what both of them have."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

# The generated Python is what is measured; fast.py has the same methods in C.
os.environ.setdefault("ECSGEN_PURE", "1")


def imported(folder: Path, name: str) -> Any:
    """Import a package's folder under a name of its own; ValueError if it is no package."""
    file = folder / "__init__.py"
    if not file.is_file():
        raise ValueError(f"{folder} is not a package")
    spec = importlib.util.spec_from_file_location(
        name, file, submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    return package


def managers(package: Any) -> list[str]:
    """Return the names of the component managers' classes."""
    names = (name for name in dir(package) if name.endswith("Manager"))
    return sorted(name for name in names if name != "EntityManager")


def methods(cls: type) -> list[str]:
    """Return the names of a class's public methods."""
    names = (name for name in dir(cls) if not name.startswith("_"))
    return [name for name in names if callable(getattr(cls, name))]


def snake(name: str) -> str:
    """Return the attribute's name for a class: point_mass for PointMass."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
