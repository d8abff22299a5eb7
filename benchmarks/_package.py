"""Generated packages to measure, built into a temporary folder."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from _missing_contenders import MissingError

from ecsgen import schema
from ecsgen.config import Backend, Options, Runtime
from ecsgen.diagnostics import Diagnostics
from ecsgen.render import texts
from ecsgen.source.schema_roots import SchemaRoot

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = Path(__file__).resolve().parent / "schemas"

# The generated Python is what is measured; accelerator.py has the same methods in C.
os.environ.setdefault("ECSGEN_PURE", "1")


@cache
def built(folder: Path, backend: Backend, *schemas: Path, runtime: Runtime = "installed") -> Any:
    """Build schema files to a package in a folder, and import it; the same ones only once.

    Written as the templates make it, without black and generated tests. With `runtime="vendored"`
    it has its methods in C or not whatever others have. Raises `MissingError` without the backend's
    library.
    """
    if backend == "numba" and importlib.util.find_spec("numba") is None:
        raise MissingError("numba is not installed (pip install numba)")
    home = Path(tempfile.mkdtemp(dir=folder))
    package = home / f"{backend}_{home.name}"
    source = home / "schemas"
    source.mkdir()
    package.mkdir()
    for file in schemas:
        shutil.copy(file, source)
    for path, text in _files(source, package, backend, runtime).items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(home))
    return importlib.import_module(package.name)


def packages(folder: Path, backends: Iterable[Backend], *schemas: Path) -> dict[str, Any]:
    """Build schema files for each backend that is there, and say which ones are not."""
    by_backend: dict[str, Any] = {}
    for backend in backends:
        try:
            by_backend[backend] = built(folder, backend, *schemas)
        except MissingError as missing:
            print(f"{backend} is left out: {missing}")
    return by_backend


def _files(source: Path, package: Path, backend: Backend, runtime: Runtime) -> dict[str, str]:
    diagnostics = Diagnostics()
    project = schema.load(source, diagnostics)
    options = Options(
        (SchemaRoot(source),),
        package,
        backend,
        tests=None,
        jobs=1,
        line_length=88,
        runtime=runtime,
    )
    texts_by_path = {} if project is None else texts(project, options)
    if project is None or diagnostics.errors:
        raise ValueError(f"{source} has {diagnostics.errors} errors")
    return texts_by_path
