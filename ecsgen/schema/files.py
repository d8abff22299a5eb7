"""Finding schema files, and what they are called in diagnostics."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Mark

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """One file: where it is, its name in diagnostics, its name relative to the schema folder."""

    path: Path
    shown: str
    source: str


def find(root: Path, diagnostics: Diagnostics) -> list[SchemaFile]:
    """The schema files below `root`, sorted by path; reports E201 when there are none."""
    shown = _shown(root)
    whole = Mark(shown, 0, 0, 0)
    if not root.is_dir():
        problem = "is not a folder" if root.exists() else "there is no such folder"
        diagnostics.add("E201", problem, whole)
        return []
    prefix = "" if shown == "." else f"{shown.rstrip('/')}/"
    sources = sorted(_walk(root, diagnostics, whole))
    if not sources and not diagnostics:
        diagnostics.add("E201", "there are no schema files (*.yaml, *.yml) in the folder", whole)
    return [
        SchemaFile(root / source, prefix + _readable(source), _readable(source))
        for source in sources
    ]


def _walk(root: Path, diagnostics: Diagnostics, whole: Mark) -> Iterator[str]:
    def failed(error: OSError) -> None:
        diagnostics.add("E201", f"cannot be read: {error.strerror or error}", whole)

    for folder, _, names in os.walk(root, onerror=failed):
        below = os.path.relpath(folder, root).replace(os.sep, "/")
        for name in names:
            if name.endswith(SUFFIXES):
                yield name if below == "." else f"{below}/{name}"


def _shown(root: Path) -> str:
    """Relative to the working directory where it lies below it."""
    try:
        relative = root.absolute().relative_to(Path.cwd())
    except ValueError:
        return _readable(root.as_posix())
    return _readable(relative.as_posix())


def _readable(name: str) -> str:
    """A file name that is not UTF-8 must not stop the diagnostics from being printed."""
    return name.encode("utf-8", "replace").decode("utf-8")
