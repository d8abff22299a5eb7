"""Schema files as they were at a revision, by the `git` command."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ecsgen.config import UsageError, shown
from ecsgen.files.roots import SUFFIXES, SchemaRoot
from ecsgen.schema.files import SchemaFile

_ENDINGS: Final = tuple(suffix.encode() for suffix in SUFFIXES)
_PLAIN: Final = (b"100644", b"100755")
"""Modes of files; links are not followed."""
_OF_HOOKS: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""What git tells its hooks, of the folder that it was called in."""


@contextmanager
def files_of(root: SchemaRoot, revision: str) -> Iterator[list[SchemaFile]]:
    """Give the schema files below a folder as a revision has them, sorted by path.

    Raises:
        UsageError: git is not there, knows no such revision, or had no such folder in it.
    """
    if not revision or revision.startswith("-"):
        raise UsageError(f"{revision!r} is no revision of git")
    folder = _nearest_folder(root.path)
    top = Path(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel").rstrip(b"\n")))
    inside = _inside(root.path, top)
    tree = _tree(top, revision)
    blobs = _blobs(top, tree, inside)
    if not blobs:
        raise UsageError(f"there are no schemas in {inside} at {revision}")
    contents = _contents(top, list(blobs.values()))
    with TemporaryDirectory(prefix="ecsgen-") as scratch:
        yield [
            SchemaFile(
                _written(Path(scratch, f"{number}.yaml"), content),
                f"git:{revision}:{path}",
                root.source(os.path.relpath(path, inside).replace(os.sep, "/")),
            )
            for number, (path, content) in enumerate(zip(blobs, contents, strict=True))
        ]


def _written(file: Path, content: bytes) -> Path:
    file.write_bytes(content)
    return file


def _tree(top: Path, revision: str) -> str:
    try:
        return _git(top, "rev-parse", "--verify", f"{revision}^{{tree}}").decode("ascii").strip()
    except UsageError:
        raise UsageError(f"git knows no revision {revision!r}") from None


def _nearest_folder(path: Path) -> Path:
    """A folder that is gone by now may still have been there."""
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def _inside(schemas: Path, top: Path) -> str:
    real = Path(os.path.realpath(schemas))
    root = Path(os.path.realpath(top))
    if not real.is_relative_to(root):
        raise UsageError(f"{shown(schemas)} is not inside the repository {top}")
    return real.relative_to(root).as_posix()


def _blobs(top: Path, tree: str, inside: str) -> dict[str, str]:
    """Return the object of each schema file by its path in the repository, sorted by path."""
    listed = _git(top, "ls-tree", "-r", "-z", "--full-tree", tree, "--", inside)
    found = {}
    for entry in filter(None, listed.split(b"\0")):
        said, path = entry.split(b"\t", 1)
        mode, _, name = said.split()
        if mode in _PLAIN and path.endswith(_ENDINGS):
            found[path.decode("utf-8", "replace")] = name.decode("ascii")
    return dict(sorted(found.items()))


def _contents(top: Path, names: Sequence[str]) -> list[bytes]:
    """Return the bytes of objects, all by one process."""
    given = "".join(f"{name}\n" for name in names).encode("ascii")
    answer = _git(top, "cat-file", "--batch", given=given)
    contents = []
    at = 0
    for _ in names:
        end = answer.index(b"\n", at)
        size = int(answer[at:end].split()[-1])
        contents.append(answer[end + 1 : end + 1 + size])
        at = end + 1 + size + 1
    return contents


def _git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    command = ["git", "-C", str(folder), *arguments]
    around = {name: text for name, text in os.environ.items() if name not in _OF_HOOKS}
    try:
        done = subprocess.run(command, input=given, capture_output=True, check=False, env=around)
    except OSError as error:
        raise UsageError(f"can't run git: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise UsageError(f"git: {' '.join(said.split()) or 'it failed'}")
    return done.stdout
