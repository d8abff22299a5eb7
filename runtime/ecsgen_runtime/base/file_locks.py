"""Locks of files and folders that one process writes at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EWOULDBLOCK
from io import FileIO
from typing import Final
from weakref import WeakSet

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_IS_POSIX: Final = os.name == "posix"
_LOCKED_BYTE: Final = 2**30
"""Offset of the locked byte, far behind the text: Windows keeps other processes from reading it."""
_HELD: Final[WeakSet[FileIO]] = WeakSet()


@contextmanager
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
                raise BlockingIOError(EWOULDBLOCK, problem, target)
            _HELD.add(file)
            try:
                with suppress(OSError):  # on a full disk the process number is missing
                    file.truncate(0)
                    file.write(str(os.getpid()).encode())
                yield file
            finally:
                is_lost = file.closed
                if not _IS_POSIX:
                    file.close()  # open files cannot be removed there
                with suppress(OSError):
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
