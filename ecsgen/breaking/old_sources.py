"""Where older schemas come from: a folder, a revision of git, a snapshot."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from ecsgen.breaking.comparison import Side
from ecsgen.breaking.git import files_of, top_of
from ecsgen.config import Options, UsageError, shown
from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Project
from ecsgen.model.history import History
from ecsgen.schema import load, load_files
from ecsgen.schema.files import SchemaFile, find

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


def older_side(source: str, options: Options, diagnostics: Diagnostics) -> Side | None:
    """Return the older version; None if its schemas have errors, which are reported.

    `source`: a folder, `git:REV` for the schema folders as they were then, or a snapshot's
    path.

    Raises:
        UsageError: there is no such thing, or it is no snapshot.
    """
    if source.startswith(GIT):
        return _side(_at_revision(source.removeprefix(GIT), options, diagnostics))
    if not source:  # a variable of a script that is not set, say
        raise UsageError("--against names nothing")
    path = Path(source)
    if path.is_dir():
        return _side(load(path, diagnostics, options.defaults))
    return _in_snapshot(path)


def _side(project: Project | None) -> Side | None:
    return None if project is None else Side.of(project)


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


def _in_snapshot(path: Path) -> Side:
    from ecsgen_runtime.errors import SnapshotError  # numpy comes with it
    from ecsgen_runtime.snapshots.check import checked_documents
    from ecsgen_runtime.snapshots.reading import read_snapshot
    from ecsgen_runtime.snapshots.strategy import Saving

    try:
        saved = checked_documents(read_snapshot(path, map_pages=True), Saving())
    except SnapshotError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"can't read {shown(path.absolute())}: {error.strerror}") from None
    return Side(saved.schema, History(), None)
