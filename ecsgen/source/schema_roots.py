"""Roots of schemas: folders, and installed packages with schemas."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SUFFIXES: Final = (".yaml", ".yml")
PACKAGE: Final = "package:"


@dataclass(frozen=True, slots=True)
class SchemaRoot:
    """A folder of schemas. `label`: the prefix of its files' names, or empty."""

    path: Path
    label: str = ""
    is_package: bool = False  # only the files in the folder itself are schemas, not below

    def source(self, below: str) -> str:
        """Return the name of a file by its path below the folder, with forward slashes."""
        return f"{self.label}/{below}" if self.label else below

    def files(self, failed: Callable[[OSError], None] | None = None) -> Iterator[tuple[str, Path]]:
        """Yield the path below the folder, and the whole path, of each schema file; in no order."""
        for folder, folders, names in os.walk(self.path, onerror=failed):
            if self.is_package:
                folders.clear()
            below = os.path.relpath(folder, self.path).replace(os.sep, "/")
            for name in names:
                if name.endswith(SUFFIXES):
                    yield name if below == "." else f"{below}/{name}", Path(folder, name)


def folders(paths: Sequence[Path], base: Path) -> list[SchemaRoot]:
    """Return folders as roots: one alone has no label, several have their paths."""
    if len(paths) == 1:
        return [SchemaRoot(paths[0])]
    return [SchemaRoot(path, Path(os.path.relpath(path, base)).as_posix()) for path in paths]


def package(name: str) -> SchemaRoot:
    """Return the folder of an installed package, `a.b` for a folder in it; nothing is imported.

    Raises:
        LookupError: there is none.
    """
    first, *others = name.split(".")
    try:
        spec = importlib.util.find_spec(first) if first else None
    except (ImportError, ValueError):
        spec = None
    for location in (spec and spec.submodule_search_locations) or ():
        folder = Path(location, *others)
        if all(others) and folder.is_dir():
            return SchemaRoot(folder, name.replace(".", "/"), is_package=True)
    raise LookupError(f"no package {name!r} is installed")
