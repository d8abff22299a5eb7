"""Files on the disk: digests of schemas, and what lies at the paths of outputs."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final

from ecsgen.config import Options, UsageError, shown
from ecsgen.fingerprint import digest
from ecsgen.source.regular_files import MAX_BYTES, read_regular_file
from ecsgen.source.schema_roots import SchemaRoot

MAX_OUTPUT_BYTES: Final = 1 << 30
"""More than any generated file has: larger files are not ecsgen's, and are not read."""

MANIFEST = ".ecsgen.json"
CACHE = "__pycache__/ecsgen.json"  # Python's folder for files that can be made anew
TESTS = "tests/"


class Kind(Enum):
    """Kind of a directory entry, in words that finish "is …"."""

    NOTHING = "missing"
    FILE = "a file"
    LINK = "a link"
    FOLDER = "a folder"
    OTHER = "not a plain file"
    BLOCKED = "below a link or a file"


@dataclass(frozen=True, slots=True)
class DiskEntry:
    """The entry at an output's path; a digest only of regular files."""

    kind: Kind
    digest: str = ""


@dataclass(frozen=True, slots=True)
class OutputPaths:
    """Maps paths of outputs to files on the disk.

    Paths are relative to the output folder, with forward slashes, and `is_safe`. Those below
    `tests/` can be moved elsewhere as a whole, so no path ever needs `..`.
    """

    output: Path
    tests: Path

    @classmethod
    def of(cls, options: Options) -> OutputPaths:
        return cls(options.output, options.tests or options.output / "tests")

    def root(self, path: str) -> Path:
        """Return the root folder of a path, which stays when it is empty."""
        moved = self.tests != self.output / "tests"
        return self.tests if moved and path.startswith(TESTS) else self.output

    def file(self, path: str) -> Path:
        if path.startswith(TESTS):
            return self.tests / path.removeprefix(TESTS)
        return self.output / path

    def survey(self, paths: Iterable[str]) -> dict[str, DiskEntry]:
        """Return the entry at each path. Links below the roots are not followed."""
        # An unmoved tests folder is an ordinary folder of the output and may not be a link.
        output, top = str(self.output), str(self.root(TESTS))

        @cache
        def is_blocked(folder: str) -> bool:
            if folder in (output, top):
                return False
            return is_blocked(os.path.dirname(folder)) or not _may_be_folder(folder)

        files = {path: str(self.file(path)) for path in paths}
        blocked = DiskEntry(Kind.BLOCKED)
        return {
            path: blocked if is_blocked(os.path.dirname(file)) else _look(file)
            for path, file in files.items()
        }


def is_safe(path: str) -> bool:
    """Return whether a path is valid in the output folder on every system, and not reserved."""
    return (
        path.isprintable()
        and not any(part in ("", ".", "..") for part in path.split("/"))
        and not any(character in path for character in '\\:<>|"?*')
        and not path.casefold().startswith(".ecsgen")
    )


def schema_digests(roots: Iterable[SchemaRoot]) -> dict[str, str]:
    """Return the digest of every schema file by its name, sorted."""
    digests = dict[str, str]()
    for root in roots:
        for below, file in root.files():
            try:  # line ends count as one: git may check a schema out with others
                content = read_regular_file(file, MAX_BYTES).replace(b"\r\n", b"\n")
                digests[root.source(below)] = digest(content)
            except OSError:  # loading it reports why
                digests[root.source(below)] = ""
    return dict(sorted(digests.items()))


def _may_be_folder(folder: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _look(file: str) -> DiskEntry:
    try:
        mode = os.lstat(file).st_mode
        if stat.S_ISREG(mode):
            return DiskEntry(Kind.FILE, digest(read_regular_file(file, MAX_OUTPUT_BYTES)))
    except FileNotFoundError:
        return DiskEntry(Kind.NOTHING)
    except OSError as error:
        raise UsageError(f"can't read {shown(Path(file))}: {error.strerror or error}") from error
    if stat.S_ISLNK(mode):
        return DiskEntry(Kind.LINK)
    return DiskEntry(Kind.FOLDER if stat.S_ISDIR(mode) else Kind.OTHER)
