"""From schema files to the checked model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ecsgen.diagnostics import Diagnostics
from ecsgen.files.roots import SchemaRoot
from ecsgen.model import Mark, Project
from ecsgen.schema.drafts import Drafts
from ecsgen.schema.files import SchemaFile, find
from ecsgen.schema.language import json_schema
from ecsgen.schema.policy_keys import preset
from ecsgen.schema.project import assemble
from ecsgen.source import read

__all__ = ["json_schema", "load", "load_files"]


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
    drafts = Drafts()
    for file in files:
        before = len(diagnostics)
        documents = read(file.path, file.shown, diagnostics)
        if not documents and len(diagnostics) == before:
            diagnostics.add("H201", "the file holds no schema", Mark(file.shown, 0, 0, 0))
        for document in documents:
            drafts.add(document, file.source, diagnostics)
    preset(drafts, defaults)
    return assemble(drafts, diagnostics)
