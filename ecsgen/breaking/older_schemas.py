"""Older schemas: from a folder, a revision of git or a snapshot."""

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
from ecsgen.model import History, Project
from ecsgen.schema import SchemaFile, find, load, load_files
from ecsgen.source.regular_files import MAX_BYTES
from ecsgen.source.schema_roots import SUFFIXES, SchemaRoot

GIT = "git:"
LAST_COMMIT = f"{GIT}HEAD"


def default_source(options: Options) -> str:
    """Return the default source to compare with: the last commit. Raises UsageError if the folders
    of the schemas are in no git repository."""
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
    """Return the older version; None if its schemas have errors, which are reported. `source`: a
    folder, `git:REV` for the schema folders at that revision, or a snapshot's path. Raises
    UsageError for a source that does not exist, and a file that is not a snapshot."""
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
    """Load folders as of a revision, and installed packages as they are now."""
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
    from ecsgen_runtime.snapshots.documents import without_settings
    from ecsgen_runtime.snapshots.reading import read_snapshot
    from ecsgen_runtime.snapshots.snapshot_format import SnapshotFormat

    try:
        saved = checked_documents(read_snapshot(path, map_pages=True), SnapshotFormat())
    except SnapshotError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"can't read {shown(path.absolute())}: {error.strerror}") from None
    return SchemaVersion(without_settings(saved.schema), History(), None)


_REGULAR_MODES: Final = ("100644", "100755")
"""Git modes of regular files; links are not followed."""
_HOOK_VARIABLES: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""Variables that git sets for hooks; they name the repository that the hook runs in."""
READS_ALONE: Final = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
}
"""Keep git from fetching: the remote of an untrusted repository can name programs to run. Older
versions of git know only the first variable."""


@contextmanager
def files_of(root: SchemaRoot, revision: str) -> Iterator[list[SchemaFile]]:
    """Yield the schema files below a folder as of a revision, sorted by path.

    Nothing is fetched: objects that a partial clone lacks count as missing. Files that are too
    large for schemas are not read. Raises UsageError if git is not installed, if the revision is
    unknown or lacks the folder, or a file cannot be read.
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
    sizes = _ask(top, "--batch-check", blobs, revision)
    small = {path: name for path, name in blobs.items() if sizes[path][0] <= MAX_BYTES}
    contents = _ask(top, "--batch", small, revision)
    with TemporaryDirectory(prefix="ecsgen-") as scratch:
        yield [
            SchemaFile(
                _written(Path(scratch, f"{number}.yaml"), *contents.get(path, sizes[path])),
                f"git:{revision}:{path}",
                root.source(os.path.relpath(path, inside).replace(os.sep, "/")),
            )
            for number, path in enumerate(blobs)
        ]


def top_of(root: SchemaRoot) -> Path:
    """Return the top folder of the repository that contains, or contained, a folder. Raises
    UsageError if there is none, or git is not installed."""
    # the folder may have been removed since
    nearest = next(folder for folder in (root.path, *root.path.parents) if folder.is_dir())
    top = _git(nearest, "rev-parse", "--show-toplevel")
    return Path(os.fsdecode(top.rstrip(b"\n")))


def _written(file: Path, size: int, content: bytes) -> Path:
    """Write a file and return it; one without its content is too large: reading it reports E202."""
    file.write_bytes(content)
    os.truncate(file, min(size, MAX_BYTES + 1))
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
        raise UsageError(f"git can't list {inside} at {revision}: {_git_message(listed)}")
    objects = {}
    for entry in filter(None, listed.stdout.split(b"\0")):
        details, path = entry.decode("utf-8", "replace").split("\t", 1)
        mode, _, name = details.split()
        if mode in _REGULAR_MODES and path.endswith(SUFFIXES):
            objects[path] = name
    return dict(sorted(objects.items()))


def _ask(
    top: Path, how: Literal["--batch-check", "--batch"], blobs: Mapping[str, str], revision: str
) -> dict[str, tuple[int, bytes]]:
    """Return the size of each file and, with `--batch`, its bytes, all by one process."""
    object_names = "".join(f"{name}\n" for name in blobs.values()).encode("ascii")
    done = _run(top, "cat-file", how, stdin=object_names)
    answer = BytesIO(done.stdout)
    files = {}
    for path in blobs:
        head = answer.readline().split()  # one that is missing has no size
        size = int(head[2]) if len(head) == 3 else -1
        content = answer.read(size + 1)[:-1] if how == "--batch" else b""
        if size < 0 or (how == "--batch" and len(content) < size):
            look = shlex.join(["git", "show", f"{revision}:{path}"])
            hint = f"`{look}` fetches it, if it is to be had"
            raise UsageError(f"git can't read {path} at {revision}: {_git_message(done)}; {hint}")
        files[path] = size, content
    return files


def _git(folder: Path, *arguments: str) -> bytes:
    done = _run(folder, *arguments)
    if done.returncode:
        raise UsageError(f"git: {_git_message(done)}")
    return done.stdout


def _run(folder: Path, *arguments: str, stdin: bytes = b"") -> CompletedProcess[bytes]:
    command = ["git", "-C", str(folder), *arguments]
    environment = {name: text for name, text in os.environ.items() if name not in _HOOK_VARIABLES}
    environment |= READS_ALONE
    try:
        return subprocess.run(
            command, input=stdin, capture_output=True, check=False, env=environment
        )
    except OSError as error:
        raise UsageError(f"can't run git: {error.strerror}") from None


def _git_message(done: CompletedProcess[bytes]) -> str:
    message = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
    return " ".join(message.split()) or "it is missing"
