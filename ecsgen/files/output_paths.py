"""What is on the disk now: schema files, and what stands in the places of outputs."""

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
from ecsgen.source.schema_roots import SchemaRoot

MAX_BYTES: Final = 4 << 20
"""The most that a schema file may have."""

MAX_OUTPUT_BYTES: Final = 1 << 30
"""More than any generated file has; what is larger need not be read to know that it is none."""

# Opening a named pipe would wait until somebody writes to it; Windows reads text otherwise.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotRegularFileError(OSError):
    """A folder, a pipe, a socket or a device."""


class TooLargeError(OSError):
    """More bytes than are allowed."""


def read_regular_file(path: str | Path, limit: int) -> bytes:
    """Return a file's bytes, of which `limit` are allowed; no more than one beyond that is read.

    Raises `NotPlainError`, `TooLargeError`, or another `OSError` if the system refuses.
    """
    there = os.stat(path)
    if not stat.S_ISREG(there.st_mode):
        raise NotRegularFileError("it is not a plain file")
    size = there.st_size
    if size > limit:
        raise TooLargeError(f"it has more than {limit} bytes")
    with open(os.open(path, _FLAGS), "rb") as file:
        content = file.read(size + 1)
        # A file may grow meanwhile, and some of the system's say that they are empty.
        if len(content) > size:
            content += file.read(limit - size)
    if len(content) > limit:
        raise TooLargeError(f"it has more than {limit} bytes")
    return content


MANIFEST = ".ecsgen.json"
CACHE = "__pycache__/ecsgen.json"  # where others too keep what can be made anew
TESTS = "tests/"


class Kind(Enum):
    """What stands in a place, in words that finish "is …"."""

    NOTHING = "missing"
    FILE = "a file"
    LINK = "a link"
    FOLDER = "a folder"
    OTHER = "not a plain file"
    BLOCKED = "below a link or a file"


@dataclass(frozen=True, slots=True)
class DiskEntry:
    """What stands in an output's place; the digest of plain files only."""

    kind: Kind
    digest: str = ""


@dataclass(frozen=True, slots=True)
class OutputPaths:
    """Where the paths of outputs are on the disk.

    Paths are relative to the output folder, with forward slashes, and `is_safe`. Those below
    `tests/` can be moved elsewhere as a whole, so no path ever needs `..`.
    """

    output: Path
    tests: Path

    @classmethod
    def of(cls, options: Options) -> OutputPaths:
        return cls(options.output, options.tests or options.output / "tests")

    def root(self, path: str) -> Path:
        """The folder that a path never leads out of, and that stays when it is empty."""
        moved = self.tests != self.output / "tests"
        return self.tests if moved and path.startswith(TESTS) else self.output

    def file(self, path: str) -> Path:
        if path.startswith(TESTS):
            return self.tests / path.removeprefix(TESTS)
        return self.output / path

    def survey(self, paths: Iterable[str]) -> dict[str, DiskEntry]:
        """What stands in each place. Links below the roots are not followed."""
        output, tests = str(self.output), str(self.tests)
        # An unmoved tests folder is an ordinary folder of the output and may not be a link.
        top = str(self.root(TESTS))

        @cache
        def is_blocked(folder: str) -> bool:
            if folder in (output, top):
                return False
            return is_blocked(os.path.dirname(folder)) or not _may_be_folder(folder)

        found = {}
        for path in paths:
            file = os.path.join(tests, path[len(TESTS) :]) if path.startswith(TESTS) else ""
            file = file or os.path.join(output, path)
            found[path] = (
                DiskEntry(Kind.BLOCKED) if is_blocked(os.path.dirname(file)) else _look(file)
            )
        return found


def is_safe(path: str) -> bool:
    """Whether a path names a file below the output folder on every system, and not our own."""
    return (
        path.isprintable()
        and not any(part in ("", ".", "..") for part in path.split("/"))
        and not any(character in path for character in '\\:<>|"?*')
        and not path.casefold().startswith(".ecsgen")
    )


def schema_digests(roots: Iterable[SchemaRoot]) -> dict[str, str]:
    """The digest of every schema file by its name, sorted."""
    found = {
        root.source(below): _digest_or_none(file) for root in roots for below, file in root.files()
    }
    return dict(sorted(found.items()))


def _digest_or_none(path: Path) -> str:
    """Empty for a file that can't be read: loading it will say why."""
    try:
        return digest(read_regular_file(path, MAX_BYTES))
    except OSError:
        return ""


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
