"""Files that one process writes at a time: locks of them, and how one is replaced as a whole.

Whenever the process that replaces a file is killed, the old one is there or the new one: that is
written beside the old one, brought to the disk, and renamed over it. Its writer holds a lock on it,
so that others can tell what a kill has left behind from what is being written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from io import FileIO
from operator import call
from typing import Final
from weakref import WeakSet

from .errors import SnapshotError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_IS_POSIX: Final = os.name == "posix"
_LOCKED_BYTE: Final = 2**30
"""Offset of the locked byte, far behind the text: Windows keeps other processes from reading it."""
_HELD: Final[WeakSet[FileIO]] = WeakSet()


@contextlib.contextmanager
def file_lock(target: str, path: str) -> Iterator[FileIO]:
    """Hold the right to write `target`: the system's lock on the small file `path`, which is there
    meanwhile and says which process holds it.

    However that process ends, the lock ends with it, and the next one takes the file over. Gives
    the file, which is closed in a forked process: the lock stays with its parent.
    BlockingIOError, if another process has it, names that process and the target.
    """
    while True:
        with FileIO(path, "a+") as file:
            is_free = try_lock(file.fileno())
            if not is_still(path, file.fileno()):  # the last holder removed the file
                continue
            if not is_free:
                file.seek(0)
                holder = file.read(20).decode("ascii", "replace") or "unknown"
                problem = f"process {holder} writes this, one does at a time"
                raise BlockingIOError(errno.EWOULDBLOCK, problem, target)
            _HELD.add(file)
            try:
                with contextlib.suppress(OSError):  # on a full disk the process number is missing
                    file.truncate(0)
                    file.write(str(os.getpid()).encode())
                yield file
            finally:
                is_lost = file.closed
                if not _IS_POSIX:
                    file.close()  # open files cannot be removed there
                with contextlib.suppress(OSError):
                    if not is_lost:
                        os.unlink(path)  # elsewhere while no other process can have it
        return


def is_still(path: str, handle: int) -> bool:
    """Return whether an open file still has this path."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


if sys.platform == "win32":

    def try_lock(handle: int) -> bool:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def try_lock(handle: int) -> bool:
        """Lock a file until it is closed; return whether that succeeded. Some network drives
        have no locks: there, it always does."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def _leave_to_parent() -> None:
        for file in [*_HELD]:
            file.close()

    # A lock would last as long as any forked process: workers outlive a parent that is killed.
    os.register_at_fork(after_in_child=_leave_to_parent)


_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_OLD: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW_MODE: Final = 0o666
"""Of which the umask takes its part."""
_PRIVATE: Final = 0o600


@contextlib.contextmanager
def replace_file(
    path: str | os.PathLike[str], *, sync: bool = True, then: tuple[Callable[[], object], ...] = ()
) -> Iterator[FileIO]:
    """Give a new file, empty and unbuffered, that takes the place of a path's at the end.

    Whatever raises leaves the old file, and no other. A symbolic link stays, and what it leads to
    is replaced; the mode of a replaced file stays. Without `sync` the new file may be lost, or
    empty, if the machine goes down (not if the process does). Files that were left behind by
    writers of this path that were killed are removed first. `then`: functions in C, called when the
    file is there; no interrupt comes between.

    Raises:
        SnapshotError: the path is that of something else than a file or a folder.
        OSError: as for every file.
    """
    target = os.path.realpath(os.fsdecode(path))
    mode = _mode_of(target)
    folder, name = os.path.split(target)
    _remove_left_over(folder, name)
    new, file = _created(folder, name, mode)
    try:
        # One call in C, in which Python does not look for interrupts.
        steps: list[Callable[[], object]] = [partial(os.replace, new, target), *then]
        put: Callable[[], object] = partial(deque, map(call, steps), 0)
        with file:
            yield file
            if sync:
                os.fsync(file.fileno())
            if _IS_POSIX:
                put()  # while the lock is held
        if not _IS_POSIX:
            put()
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
    if sync:
        _sync_folder(folder)


def _mode_of(path: str) -> int | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise SnapshotError(f"{os.path.basename(path)}: is no regular file")
    return stat.S_IMODE(status.st_mode)


def _created(folder: str, name: str, mode: int | None) -> tuple[str, FileIO]:
    """Return a new file's path and the file, which is locked."""
    while True:
        path = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.new")
        try:
            handle = os.open(path, _NEW, _NEW_MODE if mode is None else _PRIVATE)
        except FileExistsError:
            continue
        except OSError as error:
            error.filename = os.path.join(folder, name)  # the name that the caller knows
            raise
        file = FileIO(handle, "w")
        try:
            is_ours = not _IS_POSIX or try_lock(handle)
            if is_ours and is_still(path, handle):
                if mode is not None:
                    os.chmod(handle if os.chmod in os.supports_fd else path, mode)
                return path, file
        except BaseException:
            file.close()
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        file.close()


def _remove_left_over(folder: str, name: str) -> None:
    """Remove what writers of a path have left behind that live no more."""
    ours = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{8}}\.new")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_unless_held(entry.path)


if sys.platform == "win32":

    def _remove_unless_held(path: str) -> None:
        os.unlink(path)

else:

    def _remove_unless_held(path: str) -> None:
        """Remove a file that no process has locked; OSError if one has."""
        handle = os.open(path, _OLD)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
        finally:
            os.close(handle)


def _sync_folder(folder: str) -> None:
    """Bring the new name to the disk. Where folders cannot be synced, the system does so in its own
    time; and as the file is replaced already, it is no error that could leave the old one.
    """
    if not _IS_POSIX:
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
