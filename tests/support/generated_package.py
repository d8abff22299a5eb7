"""Writes generated packages for tests that run them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from click.testing import CliRunner

from ecsgen import schema
from ecsgen.cli import ecsgen
from ecsgen.config import Backend, Options, Runtime
from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Project
from ecsgen.render.package_files import texts
from ecsgen.render.text.black_style import Style
from ecsgen.source.schema_roots import SchemaRoot
from tests.support.bytecode_cache import uncompiled
from tests.support.soak import COMPILED

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas"


@cache
def shipped() -> Project:
    """Return the model of the schemas of this repository."""
    project = schema.load(SCHEMAS, Diagnostics())
    assert project is not None
    return project


def build(
    schemas: Path,
    folder: Path,
    tests: Path | None = None,
    backend: Backend = "numpy",
    runtime: Runtime = "installed",
) -> Project:
    """Write the package of some schemas as the templates make it, without black.

    The tests go to a folder of their own if one is given.
    """
    diagnostics = Diagnostics()
    project = schema.load(schemas, diagnostics)
    tests = tests or folder / "tests"
    options = Options((SchemaRoot(schemas),), folder, backend, tests, 1, 88, runtime)
    files = {} if project is None else texts(project, options)
    if project is None or diagnostics.errors:
        raise ValueError(f"{schemas} has {diagnostics.errors} errors")
    for name, text in files.items():
        is_test = name.startswith("tests/")
        path = tests / name.removeprefix("tests/") if is_test else folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return project


@contextmanager
def imported_package(
    folder: Path, name: str, file: str, text: str, backend: Backend = "numpy"
) -> Iterator[Any]:
    """Build `folder/NAME` as users do, from the schema `folder/schemas/FILE`, but without black;
    yield the package."""
    (folder / "schemas").mkdir()
    (folder / "schemas" / file).write_text(text, encoding="utf-8")
    places = [str(folder / "schemas"), "--output", str(folder / name)]
    with patch.object(Style, "is_formatted", return_value=True):
        result = CliRunner().invoke(ecsgen, ["build", *places, "--backend", backend])
    assert result.exit_code == 0, result.output
    sys.path.insert(0, str(folder))
    try:
        with uncompiled() if backend == "numba" and not COMPILED else nullcontext():
            importlib.import_module(f"{name}.world")
        yield sys.modules[name]
    finally:
        sys.path.remove(str(folder))
