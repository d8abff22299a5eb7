"""Finding schema files, and what they are called in diagnostics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ecsgen.diagnostics import Diagnostics
from ecsgen.files.roots import SchemaRoot
from ecsgen.model import Mark


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """One file: where it is, its name in diagnostics, its name in what is generated."""

    path: Path
    shown: str
    source: str


def find(root: SchemaRoot, diagnostics: Diagnostics) -> list[SchemaFile]:
    """The schema files of a root, sorted by path; reports E201 when there are none."""
    shown = root.label if root.is_package else _shown(root.path)
    whole = Mark(shown, 0, 0, 0)
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
    prefix = "" if shown == "." else f"{shown.rstrip('/')}/"
    return [
        SchemaFile(path, prefix + _readable(below), _readable(root.source(below)))
        for below, path in found
    ]


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
