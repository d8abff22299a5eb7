"""From schema files to the checked model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ecsgen.config import shown
from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Mark, Project
from ecsgen.schema.declarations import Declarations
from ecsgen.schema.document_specs import json_schema
from ecsgen.schema.passes import assemble
from ecsgen.schema.policy_keys import apply_defaults
from ecsgen.source.schema_roots import SchemaRoot
from ecsgen.source.yaml_nodes import read

__all__ = ["SchemaFile", "find", "json_schema", "load", "load_files"]


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """One file: where it is, its name in diagnostics, its name in what is generated."""

    path: Path
    shown: str
    source: str


def load(
    roots: Path | Sequence[SchemaRoot],
    diagnostics: Diagnostics,
    defaults: Mapping[str, str | bool] = MappingProxyType({}),
) -> Project | None:
    """Read and check every `*.yaml` and `*.yml` of a folder or of some roots, in order of path.

    `defaults`: policies of components whose schemas say nothing of them.

    Reports all errors of all files; None when there are any. O(size of the files).
    """
    given = [SchemaRoot(roots)] if isinstance(roots, Path) else roots
    files = [file for root in given for file in find(root, diagnostics)]
    return load_files(files, diagnostics, defaults)


def load_files(
    files: Iterable[SchemaFile], diagnostics: Diagnostics, defaults: Mapping[str, str | bool]
) -> Project | None:
    """The same of files that somebody has found."""
    drafts = Declarations()
    for file in files:
        before = len(diagnostics)
        documents = read(file.path, file.shown, diagnostics)
        if not documents and len(diagnostics) == before:
            diagnostics.add("H201", "the file holds no schema", Mark(file.shown, 0, 0, 0))
        for document in documents:
            drafts.add(document, file.source, diagnostics)
    apply_defaults(drafts, defaults)
    return assemble(drafts, diagnostics)


def find(root: SchemaRoot, diagnostics: Diagnostics) -> list[SchemaFile]:
    """The schema files of a root, sorted by path; reports E201 when there are none."""
    place = shown(root.path.absolute()).replace(os.sep, "/")
    name = root.label if root.is_package else _readable(place)
    whole = Mark(name, 0, 0, 0)
    if not root.path.is_dir():
        is_there = root.path.exists()
        problem = "is not a folder" if is_there else "there is no such folder"
        diagnostics.add("E201", problem, whole, hint="" if is_there else "`ecsgen init` makes one")
        return []

    def failed(error: OSError) -> None:
        diagnostics.add("E201", f"cannot be read: {error.strerror or error}", whole)

    found = sorted(root.files(failed))
    if not found and not diagnostics:
        diagnostics.add("E201", "there are no schema files (*.yaml, *.yml) in the folder", whole)
    prefix = "" if name == "." else f"{name.rstrip('/')}/"
    return [
        SchemaFile(path, prefix + _readable(below), _readable(root.source(below)))
        for below, path in found
    ]


def _readable(name: str) -> str:
    """A file name that is not UTF-8 must not stop the diagnostics from being printed."""
    return name.encode("utf-8", "replace").decode("utf-8")
