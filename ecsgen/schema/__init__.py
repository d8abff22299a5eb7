"""From schema files to the checked model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ecsgen.config import shown
from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Mark, Project
from ecsgen.schema.assembly import assemble
from ecsgen.schema.declarations import Declarations
from ecsgen.schema.document_specs import json_schema
from ecsgen.schema.policy_keys import apply_defaults, use_all_cores
from ecsgen.source.schema_roots import SchemaRoot
from ecsgen.source.yaml_nodes import Node, read

__all__ = ["SchemaFile", "find", "json_schema", "load", "load_files", "read_declarations"]


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """One file: its path, its name in diagnostics, its name in generated code."""

    path: Path
    shown: str
    source: str


def load(
    roots: Path | Sequence[SchemaRoot],
    diagnostics: Diagnostics,
    defaults: Mapping[str, str | bool] = MappingProxyType({}),
    is_parallel: bool = False,
) -> Project | None:
    """Read and check every `*.yaml` and `*.yml` of a folder or of roots, in order of path.

    `defaults`: policies of components whose schemas leave them out; `is_parallel`: the same for
    `parallel` of kernels.

    Reports all errors of all files; returns None if there are any. O(size of the files).
    """
    schema_roots = [SchemaRoot(roots)] if isinstance(roots, Path) else roots
    files = [file for root in schema_roots for file in find(root, diagnostics)]
    return load_files(files, diagnostics, defaults, is_parallel)


def load_files(
    files: Iterable[SchemaFile],
    diagnostics: Diagnostics,
    defaults: Mapping[str, str | bool],
    is_parallel: bool = False,
) -> Project | None:
    """Read and check files; otherwise as `load`."""
    drafts = read_declarations(files, diagnostics)
    apply_defaults(drafts, defaults)
    if is_parallel:
        use_all_cores(drafts)
    return assemble(drafts, diagnostics)


def read_declarations(
    files: Iterable[SchemaFile],
    diagnostics: Diagnostics,
    change: Callable[[Node], object] = lambda document: None,
) -> Declarations:
    """Read files; `change`: is called with each document before it is looked at."""
    drafts = Declarations()
    for file in files:
        before = len(diagnostics)
        documents = read(file.path, file.shown, diagnostics)
        if not documents and len(diagnostics) == before:
            diagnostics.add("H201", "the file holds no schema", Mark(file.shown, 0, 0, 0))
        for document in documents:
            change(document)
            drafts.add(document, file.source, diagnostics)
    return drafts


def find(root: SchemaRoot, diagnostics: Diagnostics) -> list[SchemaFile]:
    """Return the schema files of a root, sorted by path; reports E201 if there are none."""
    shown_path = shown(root.path.absolute()).replace(os.sep, "/")
    name = root.label if root.is_package else _readable(shown_path)
    mark = Mark(name, 0, 0, 0)
    if not root.path.is_dir():
        problem, hint = "there is no such folder", "`ecsgen init` makes one"
        if root.path.exists():
            problem = "is not a folder"
            hint = "write the folder that it is in, which has the schemas of one package"
        diagnostics.add("E201", problem, mark, hint=hint)
        return []

    def failed(error: OSError) -> None:
        diagnostics.add("E201", f"cannot be read: {error.strerror or error}", mark)

    files = sorted(root.files(failed))
    if not files and not diagnostics:
        diagnostics.add("E201", "there are no schema files (*.yaml, *.yml) in the folder", mark)
    prefix = "" if name == "." else f"{name.rstrip('/')}/"
    return [
        SchemaFile(path, prefix + _readable(below), _readable(root.source(below)))
        for below, path in files
    ]


def _readable(name: str) -> str:
    """Return a file name that can be printed in UTF-8."""
    return name.encode("utf-8", "replace").decode("utf-8")
