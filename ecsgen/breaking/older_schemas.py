"""Where older schemas come from: a folder, a revision of git, a snapshot."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory
from typing import Final, Literal

from ecsgen.breaking.comparison import SchemaVersion
from ecsgen.config import Options, UsageError, shown
from ecsgen.diagnostics import Diagnostics
from ecsgen.files.output_paths import MAX_BYTES
from ecsgen.model import History, Project
from ecsgen.schema import SchemaFile, find, load, load_files
from ecsgen.source.schema_roots import SUFFIXES, SchemaRoot

GIT = "git:"
LAST_COMMIT = f"{GIT}HEAD"


def default_source(options: Options) -> str:
    """Return the source to compare with unless told otherwise: what was committed last.

    Raises:
        UsageError: the schemas' folders are in no repository of git.
    """
    wanted = "--against DIR, git:REV or SNAPSHOT says what to compare with"
    folders = [root for root in options.schemas if not root.is_package]
    if not folders:
        raise UsageError(f"{wanted}, since all schemas are those of installed packages")
    try:
        for root in folders:
            top_of(root)
    except UsageError as error:
        raise UsageError(f"{wanted}, since {error}") from None
    return LAST_COMMIT


def older_side(source: str, options: Options, diagnostics: Diagnostics) -> SchemaVersion | None:
    """Return the older version; None if its schemas have errors, which are reported.

    `source`: a folder, `git:REV` for the schema folders as they were then, or a snapshot's
    path.

    Raises:
        UsageError: there is no such thing, or it is no snapshot.
    """
    if source.startswith(GIT):
        project = _at_revision(source.removeprefix(GIT), options, diagnostics)
    elif not source:  # a variable of a script that is not set, say
        raise UsageError("--against names nothing")
    elif (path := Path(source)).is_dir():
        project = load(path, diagnostics, options.defaults)
    else:
        return _in_snapshot(path)
    return None if project is None else SchemaVersion.of(project)


def _at_revision(revision: str, options: Options, diagnostics: Diagnostics) -> Project | None:
    """Folders as they were then; installed packages are as they are now."""
    with ExitStack() as scratch:
        files: list[SchemaFile] = []
        for root in options.schemas:
            if root.is_package:
                files += find(root, diagnostics)
            else:
                files += scratch.enter_context(files_of(root, revision))
        return load_files(files, diagnostics, options.defaults)


def _in_snapshot(path: Path) -> SchemaVersion:
    from ecsgen_runtime.base.errors import SnapshotError  # numpy comes with it
    from ecsgen_runtime.snapshots.content_checks import checked_documents
    from ecsgen_runtime.snapshots.reading import read_snapshot
    from ecsgen_runtime.snapshots.saving import SnapshotFormat

    try:
        saved = checked_documents(read_snapshot(path, map_pages=True), SnapshotFormat())
    except SnapshotError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"can't read {shown(path.absolute())}: {error.strerror}") from None
    return SchemaVersion(saved.schema, History(), None)


_PLAIN: Final = ("100644", "100755")
"""Modes of files; links are not followed."""
_OF_HOOKS: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""What git tells its hooks, of the folder that it was called in."""
READS_ALONE: Final = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
}
"""A repository may be anybody's, and what it fetches from runs programs of its choice. Older gits
know only the first of the two that forbid to fetch what is missing."""


@contextmanager
def files_of(root: SchemaRoot, revision: str) -> Iterator[list[SchemaFile]]:
    """Give the schema files below a folder as a revision has them, sorted by path.

    Nothing is fetched: what a partial clone lacks counts as missing. Of files that are too large
    for schemas only the sizes are looked at.

    Raises:
        UsageError: git is not there, knows no such revision, had no such folder in it, or can't
            read a file of it.
    """
    if not revision or revision.startswith("-"):
        raise UsageError(f"{revision!r} is no revision of git")
    top = top_of(root)
    try:
        tree = _git(top, "rev-parse", "--verify", f"{revision}^{{tree}}").decode("ascii").strip()
    except UsageError:
        raise UsageError(f"git knows no revision {revision!r}") from None
    inside = _inside(root.path, top)
    blobs = _blobs(top, tree, inside, revision)
    if not blobs:
        raise UsageError(f"there are no schemas in {inside} at {revision}")
    contents = _contents(top, blobs, revision)
    with TemporaryDirectory(prefix="ecsgen-") as scratch:
        yield [
            SchemaFile(
                _written(Path(scratch, f"{number}.yaml"), content),
                f"git:{revision}:{path}",
                root.source(os.path.relpath(path, inside).replace(os.sep, "/")),
            )
            for number, (path, content) in enumerate(contents.items())
        ]


def top_of(root: SchemaRoot) -> Path:
    """Return the top folder of the repository that a folder is in, or was.

    Raises:
        UsageError: it is in none, or git is not there.
    """
    # a folder that is gone by now may still have been there
    nearest = next(folder for folder in (root.path, *root.path.parents) if folder.is_dir())
    top = _git(nearest, "rev-parse", "--show-toplevel")
    return Path(os.fsdecode(top.rstrip(b"\n")))


def _written(file: Path, content: bytes | None) -> Path:
    """The file; None stands for more than is allowed, which whoever reads it refuses."""
    with file.open("wb") as stream:
        stream.write(content or b"")
        if content is None:
            stream.truncate(MAX_BYTES + 1)
    return file


def _inside(schemas: Path, top: Path) -> str:
    real = Path(os.path.realpath(schemas))
    root = Path(os.path.realpath(top))
    if not real.is_relative_to(root):
        raise UsageError(f"{shown(schemas)} is not inside the repository {top}")
    return real.relative_to(root).as_posix()


def _blobs(top: Path, tree: str, inside: str, revision: str) -> dict[str, str]:
    """Return the object of each schema file by its path in the repository, sorted by path."""
    listed = _run(top, "ls-tree", "-r", "-z", "--full-tree", tree, "--", inside)
    if listed.returncode:
        raise UsageError(f"git can't list {inside} at {revision}: {_complaint(listed)}")
    found = {}
    for entry in filter(None, listed.stdout.split(b"\0")):
        said, path = entry.decode("utf-8", "replace").split("\t", 1)
        mode, _, name = said.split()
        if mode in _PLAIN and path.endswith(SUFFIXES):
            found[path] = name
    return dict(sorted(found.items()))


def _contents(top: Path, blobs: Mapping[str, str], revision: str) -> dict[str, bytes | None]:
    sizes = _ask(top, "--batch-check", blobs, revision)
    small = {path: blobs[path] for path, (size, _) in sizes.items() if size <= MAX_BYTES}
    contents = _ask(top, "--batch", small, revision)
    return {path: contents[path][1] if path in small else None for path in blobs}


def _ask(
    top: Path, how: Literal["--batch-check", "--batch"], blobs: Mapping[str, str], revision: str
) -> dict[str, tuple[int, bytes]]:
    """Return the size of each file and, with `--batch`, its bytes, all by one process."""
    given = "".join(f"{name}\n" for name in blobs.values()).encode("ascii")
    done = _run(top, "cat-file", how, given=given)
    answer = BytesIO(done.stdout)
    found = {}
    for path in blobs:
        head = answer.readline().split()  # one that is missing has no size
        size = int(head[2]) if len(head) == 3 else -1
        content = answer.read(size + 1)[:-1] if how == "--batch" else b""
        if size < 0 or (how == "--batch" and len(content) < size):
            look = shlex.join(["git", "show", f"{revision}:{path}"])
            hint = f"`{look}` fetches it, if it is to be had"
            raise UsageError(f"git can't read {path} at {revision}: {_complaint(done)}; {hint}")
        found[path] = size, content
    return found


def _git(folder: Path, *arguments: str) -> bytes:
    done = _run(folder, *arguments)
    if done.returncode:
        raise UsageError(f"git: {_complaint(done)}")
    return done.stdout


def _run(folder: Path, *arguments: str, given: bytes = b"") -> CompletedProcess[bytes]:
    command = ["git", "-C", str(folder), *arguments]
    around = {name: text for name, text in os.environ.items() if name not in _OF_HOOKS}
    around |= READS_ALONE
    try:
        return subprocess.run(command, input=given, capture_output=True, check=False, env=around)
    except OSError as error:
        raise UsageError(f"can't run git: {error.strerror}") from None


def _complaint(done: CompletedProcess[bytes]) -> str:
    said = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
    return " ".join(said.split()) or "it is missing"
