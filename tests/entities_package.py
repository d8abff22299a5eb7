"""Builds the entities module of one handle layout, over the runtime as it is in the checkout."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType

import jinja2

ROOT = Path(__file__).parent.parent


def environment() -> jinja2.Environment:
    """Return an environment that reads the templates as the generator does."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROOT / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def entities_source(index_bits: int, generation_bits: int, min_free: int) -> str:
    """Return the text of `entities.py`."""
    return (
        environment()
        .get_template("entities.py.j2")
        .render(index_bits=index_bits, generation_bits=generation_bits, min_free=min_free)
    )


@cache
def entities_module(
    index_bits: int = 32, generation_bits: int = 32, min_free: int = 1024
) -> ModuleType:
    """Import the entities module with these bits, in a package of its own."""
    name = f"entities_{index_bits}_{generation_bits}_{min_free}"
    folder = Path(mkdtemp())
    package = folder / name
    package.mkdir()
    (package / "__init__.py").touch()
    source = entities_source(index_bits, generation_bits, min_free)
    source = source.replace("from ._runtime.", "from ecsgen.runtime.")
    (package / "entities.py").write_text(source, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"{name}.entities")
    finally:
        sys.path.remove(str(folder))
