"""From schema files to the checked model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Mark, Project
from ecsgen.schema.drafts import Drafts
from ecsgen.schema.files import SchemaFile, find
from ecsgen.schema.language import json_schema
from ecsgen.schema.project import assemble
from ecsgen.source import read

__all__ = ["json_schema", "load", "load_files"]


def load(root: Path, diagnostics: Diagnostics) -> Project | None:
    """Read and check every `*.yaml` and `*.yml` below `root`, in order of path.

    Reports all errors of all files; None when there are any. O(size of the files).
    """
    return load_files(find(root, diagnostics), root, diagnostics)


def load_files(files: Iterable[SchemaFile], root: Path, diagnostics: Diagnostics) -> Project | None:
    """The same of files that somebody has found, as those of the folder `root`."""
    drafts = Drafts()
    for file in files:
        before = len(diagnostics)
        documents = read(file.path, file.shown, diagnostics)
        if not documents and len(diagnostics) == before:
            diagnostics.add("H201", "the file holds no schema", Mark(file.shown, 0, 0, 0))
        for document in documents:
            drafts.add(document, file.source, diagnostics)
    return assemble(drafts, root, diagnostics)
