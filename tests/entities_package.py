"""The entity manager for any layout of handles, over the runtime as it is in the checkout."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType

from ecsgen.model import World
from ecsgen.render.package import layout_module
from ecsgen.render.runtime import sources

OWN = ("living", "manager", "shown")
"""What is imported anew for each layout, for it has its numbers as globals."""


@cache
def entities_module(
    index_bits: int = 32, generation_bits: int = 32, min_free: int = 1024
) -> ModuleType:
    """Import the manager's module with these bits, in a package of its own."""
    name = f"entities_{index_bits}_{generation_bits}_{min_free}"
    folder = Path(mkdtemp())
    package = folder / name
    package.mkdir()
    (package / "__init__.py").touch()
    world = World(index_bits=index_bits, generation_bits=generation_bits, min_free=min_free)
    (package / "layout.py").write_text(layout_module(world), encoding="utf-8")
    for module in OWN:
        text = sources()[f"_runtime/entities/{module}.py"]
        text = text.replace("from ..", "from ecsgen_runtime.")
        text = re.sub(
            r"^from \.(?!layout|living|shown)", "from ecsgen_runtime.entities.", text, flags=re.M
        )
        (package / f"{module}.py").write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"{name}.manager")
    finally:
        sys.path.remove(str(folder))
