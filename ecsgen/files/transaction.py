"""Changes to the disk, all or nothing, one build at a time.

Everything is first staged in a folder inside the output folder, beginning with the new manifest,
then moved into place file by file, the manifest last. A failure before the moves leaves no trace.
A process that dies between them leaves its staged manifest behind as a journal, which lists its
files for the next build.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ecsgen.config import UsageError, shown
from ecsgen.files.output_paths import MANIFEST, OutputPaths

STAGING = ".ecsgen.new"

if sys.platform != "win32":
    import fcntl


@contextlib.contextmanager
def lock_output(output: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Lock the parent of an output folder; `on_wait` is called if another build holds the lock.

    The system releases it when the process ends, and no file is left behind. Where folders can't
    be locked (Windows, some network drives), two builds may run at once.
    """
    folder = output.parent
    while not folder.is_dir():
        folder = folder.parent
    with contextlib.ExitStack() as held:
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                handle = os.open(folder, os.O_RDONLY)
                held.callback(os.close, handle)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    on_wait()
                    fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True, slots=True)
class Changes:
    """Files that a build writes and deletes, by their paths."""

    places: OutputPaths
    writes: Mapping[str, bytes]
    deletes: Sequence[str]
    manifest: bytes


def apply(changes: Changes) -> None:
    """Apply changes. Raises `UsageError` for errors of the system, such as a full disk."""
    undo = contextlib.ExitStack()
    try:
        with undo:
            staged = _stage(changes, undo)
            undo.pop_all()
    except OSError as error:
        raise UsageError(f"{_reason(error)}; nothing was changed") from error
    try:
        _move_into_place(changes, staged)
        for root in (changes.places.output, changes.places.tests):
            if (root / STAGING).exists():
                shutil.rmtree(root / STAGING)
    except OSError as error:
        raise UsageError(f"{_reason(error)}; build again to finish") from error


def keep_cache(file: Path, content: bytes) -> None:
    """Write a cache into a folder that git ignores; errors of the system are ignored."""
    folder = file.parent
    with contextlib.suppress(OSError):
        if folder.is_symlink():
            return
        folder.mkdir(exist_ok=True)
        for path, text in ((folder / ".gitignore", b"*\n"), (file, content)):
            new = folder / f"{path.name}.{os.getpid()}.new"
            new.unlink(missing_ok=True)  # it may be a link
            new.write_bytes(text)
            os.replace(new, path)


def journals(output: Path) -> list[Path]:
    """Return the journals of builds that died before they finished, oldest first."""
    return sorted((output / STAGING).glob("*.json"))


def _stage(changes: Changes, undo: contextlib.ExitStack) -> list[tuple[Path, Path]]:
    """Write all files below the staging folders; return pairs (staged file, final path)."""
    places, output = changes.places, changes.places.output
    for root in dict.fromkeys([output, *map(places.root, changes.writes)]):
        make_folder(root / STAGING, undo)
    # Earlier journals stay until the end: files of their builds may still be there.
    journal = output / STAGING / f"{len(journals(output)):06}.json"
    staged = [(journal, output / MANIFEST)]
    _write(journal, changes.manifest, undo)
    for number, (path, content) in enumerate(changes.writes.items()):
        file = places.root(path) / STAGING / f"{number}.tmp"
        _write(file, content, undo)
        staged.append((file, places.file(path)))
    return staged


def make_folder(folder: Path, undo: contextlib.ExitStack) -> None:
    """Create a folder and its parents."""
    if not folder.exists():
        make_folder(folder.parent, undo)
        folder.mkdir()
        undo.callback(folder.rmdir)


def _write(file: Path, content: bytes, undo: contextlib.ExitStack) -> None:
    undo.callback(file.unlink, missing_ok=True)
    file.write_bytes(content)


def _move_into_place(changes: Changes, staged: list[tuple[Path, Path]]) -> None:
    manifest, *files = staged
    for file, target in files:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, target)
    for path in changes.deletes:
        gone = changes.places.file(path)
        gone.unlink()
        _prune(gone.parent, changes.places.root(path))
    os.replace(*manifest)


def _prune(folder: Path, root: Path) -> None:
    """Remove a folder if only bytecode is left in it, then its parents up to `root`."""
    while folder != root:
        cache = folder / "__pycache__"
        names = os.listdir(folder)
        if names == [cache.name] and all(name.endswith(".pyc") for name in os.listdir(cache)):
            shutil.rmtree(cache)
        elif names:
            return
        folder.rmdir()
        folder = folder.parent


def _reason(error: OSError) -> str:
    path = error.filename if isinstance(error.filename, str) else None
    return f"can't write {shown(Path(path)) if path else 'the output'}: {error.strerror or error}"
