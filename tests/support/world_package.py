"""Builds a package from schema text, and imports it."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import cache, lru_cache
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from types import ModuleType
from typing import Any

import pytest

from ecsgen import fingerprint, schema
from ecsgen.config import Backend, Options, Runtime
from ecsgen.diagnostics import Diagnostics, format_text
from ecsgen.files.transaction import lock_output
from ecsgen.model import Project
from ecsgen.render import texts
from ecsgen.source.schema_roots import SchemaRoot
from tests.support.bytecode_cache import keep_no_machine_code, uncompiled
from tests.support.soak import COMPILED


def checked(text: str, is_parallel: bool = False) -> tuple[Project | None, Diagnostics]:
    """Return the model of one schema file, if it has no errors, and what there is to say of it;
    `is_parallel`: kernels use all cores by default."""
    folder = Path(mkdtemp())
    (folder / "schema.yaml").write_text(text, encoding="utf-8")
    diagnostics = Diagnostics()
    return schema.load(folder, diagnostics, is_parallel=is_parallel), diagnostics


@lru_cache(maxsize=512)
def load(text: str, is_parallel: bool = False) -> Project:
    """Return the model of one schema file, which has no errors; that of a text is read once for
    both backends, and by whoever compares them."""
    project, diagnostics = checked(text, is_parallel)
    assert project is not None, format_text(diagnostics)
    return project


def sources(
    project: Project,
    backend: Backend = "numpy",
    runtime: Runtime = "installed",
    has_tests: bool = False,
) -> dict[str, str]:
    """Return the text of each file of the package, unformatted; those of its tests if wanted."""
    here = Path.cwd()
    options = Options(
        schemas=(SchemaRoot(here),),
        output=here,
        backend=backend,
        tests=here / "tests" if has_tests else None,
        jobs=1,
        line_length=88,
        runtime=runtime,
    )
    return texts(project, options)


@cache
def _generator() -> str:
    return fingerprint.generator()


def _rendered(text: str, *options: Any) -> dict[str, str]:
    """Return the text of each file of a schema's package, from the first process that wants it of
    those that share the temporary folder."""
    key = fingerprint.digest(repr((text, options, _generator())).encode())
    file = Path(gettempdir()) / "rendered" / key / "texts.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    with lock_output(file, lambda: None):
        if not file.exists():
            file.write_text(json.dumps(sources(load(text), *options)), encoding="utf-8")
        texts: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return texts


_IMPORTED: dict[str, tuple[Any, ...]] = {}


def world_package(
    text: str,
    name: str,
    backend: Backend = "numpy",
    runtime: Runtime = "installed",
    compiled: bool = COMPILED,
    has_tests: bool = False,
) -> ModuleType:
    """Import the package generated from a schema text once, its loops left to Python unless they
    are to be `compiled`; leave a test out that lacks the backend.

    `has_tests`: its tests are within.

    A name belongs to one package, as long as the process runs: its modules import each other late.
    """
    pytest.importorskip(backend)
    wanted = text, backend, runtime, compiled, has_tests
    assert _IMPORTED.setdefault(name, wanted) == wanted, f"another schema has the package {name}"
    if name in sys.modules:
        return sys.modules[name]
    if backend == "numba":
        keep_no_machine_code()
    folder = Path(mkdtemp())
    for path, source in _rendered(text, backend, runtime, has_tests).items():
        file = folder / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        with uncompiled() if backend == "numba" and not compiled else nullcontext():
            importlib.import_module(f"{name}.world")
        return sys.modules[name]
    finally:
        sys.path.remove(str(folder))


def column_bytes(world: Any, columns: Mapping[str, Iterable[str]]) -> dict[str, bytes]:
    """Return columns of a world, by the names of their managers, as bytes."""
    return {
        f"{manager}.{name}": getattr(getattr(world, manager).data, name).tobytes()
        for manager, names in columns.items()
        for name in names
    }
