"""Builds an importable package, world included, from schema text."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType

from ecsgen import schema
from ecsgen.config import Backend, Options, Runtime
from ecsgen.diagnostics import Diagnostics
from ecsgen.files.roots import SchemaRoot
from ecsgen.model import Project
from ecsgen.render import texts


def load(text: str) -> Project:
    """Return the checked model of one schema file."""
    folder = Path(mkdtemp())
    (folder / "schema.yaml").write_text(text, encoding="utf-8")
    diagnostics = Diagnostics()
    project = schema.load(folder, diagnostics)
    assert project is not None, diagnostics.errors
    return project


def sources(
    project: Project, backend: Backend = "numpy", runtime: Runtime = "installed"
) -> dict[str, str]:
    """Return the text of each file of the package, unformatted, without the tests."""
    here = Path.cwd()
    options = Options(
        schemas=(SchemaRoot(here),),
        output=here,
        backend=backend,
        tests=None,
        jobs=1,
        line_length=88,
        runtime=runtime,
    )
    return texts(project, options)


@cache
def world_package(
    text: str, name: str, backend: Backend = "numpy", runtime: Runtime = "installed"
) -> ModuleType:
    """Import the world of the package generated from a schema text."""
    folder = Path(mkdtemp())
    for path, source in sources(load(text), backend, runtime).items():
        file = folder / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"{name}.world")
    finally:
        sys.path.remove(str(folder))
