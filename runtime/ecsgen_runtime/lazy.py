"""Packages whose names are loaded when somebody asks for them, by PEP 562."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, places: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package.

    `places`: the names that it has for users, by module (`.point_mass`). The modules themselves
    are attributes as well. What is found stays in the package, so that only the first use of a
    name costs more than any attribute.
    """
    module_of = {name: module for module, names in places.items() for name in names}
    modules = {module.split(".")[1] for module in places}
    own = vars(sys.modules[package])

    def getattr(name: str) -> Any:
        if name in module_of:
            found = vars(import_module(module_of[name], package))[name]
            own[name] = found
            return found
        if name in modules:
            return import_module(f".{name}", package)
        message = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[package])

    def dir() -> list[str]:
        return sorted({*own, *module_of, *modules})

    return getattr, dir
